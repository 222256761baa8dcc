"""Ledger calls of generators and judges while a generator is tuned, and the comparison of before and after."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fullbench.analysis.item_clustered_means_and_shares import mean_estimate
from fullbench.core.ballot import Ballot, Choice, Number
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case
from fullbench.core.case import cases as cases_of
from fullbench.core.item import Item
from fullbench.core.judge import Judge, kind_of
from fullbench.core.model import Model, Prompt, Reply
from fullbench.core.model_call import Usage
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.studies import best_of_n_ranking, judge_contestant_and_benchmark_specs
from fullbench.studies.engines import HERE, JobCounts
from fullbench.studies.run.call_context import CallContext


@dataclass(frozen=True)
class TuningJob:
    """Generator, judges and prompts of a tuning run. Before and after are compared on the prompts in `held_out`."""

    generator: str
    judge: str
    prompts: Sequence[Item]
    held_out: Sequence[Item]
    out: Path
    compare: tuple[str, ...] = ()
    samples: int = 4
    compared_samples: int = 2
    lora: int = 0
    criterion: str = "overall"
    people: bool = False
    """Whether people compare before and after too, so that both must draw though no judge is named to compare."""


@dataclass
class TuningResult:
    """Result of tuning: sentences, tables, counts, and the spec of the tuned generator (empty if stopped)."""

    messages: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    job_counts: list[JobCounts] = field(default_factory=list)
    spec: str = ""
    before: str = ""
    after: str = ""
    """The names of both contestants in the ledger, where both have drawn."""


@dataclass(frozen=True, eq=False)
class PictureContestant:
    """Pictures that were drawn while learning, as a contestant, so that they enter the ledger like all others."""

    name: str
    pictures: Mapping[tuple[str, int], bytes]
    """By prompt and sample."""
    settings: Mapping[str, Any]
    draws: bool = True
    price: tuple[float, float] | None = (0.0, 0.0)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        for prompt in prompts:
            picture = Picture.from_bytes(self.pictures[prompt.turns[-1].text, prompt.seed or 0])
            yield Reply(prompt, usage=Usage(calls=1), stop="stop", pictures=(picture,))


@dataclass
class LedgerCaller:
    """Calls through the ledger, so that nothing is drawn or paid for twice."""

    context: CallContext
    tuning_result: TuningResult
    faults: dict[str, Counter[str]] = field(default_factory=dict)

    def draw(self, models: Sequence[tuple[Model, str]], items: Sequence[Item], samples: int) -> list[Response]:
        """Their pictures; what was refused or came to nothing is counted and left out."""
        engine = HERE if any(isinstance(model, PictureContestant) for model, _ in models) else self.context.engine
        contestants = [model for model, _ in models]
        names = {model.name: spec for model, spec in models}
        context = replace(self.context, engine=engine, specs=names)
        self.tuning_result.job_counts += context.collect_answers(contestants, items, samples=samples, what="pictures")
        keys = [item.key for item in items]
        responses = [
            response
            for response in self.context.ledger.responses(list(names), item_keys=keys)
            if response.sample < samples
        ]
        usable = [response for response in responses if len(response.pictures) == 1 and response.stop != "black"]
        if len(usable) < len(responses):
            stop_counts = Counter(response.stop or "no picture" for response in responses if response not in usable)
            reasons_text = ", ".join(f"{count:,} {stop_reason}" for stop_reason, count in stop_counts.most_common())
            self.tuning_result.messages.append(
                f"{len(responses) - len(usable):,} of {len(responses):,} pictures are left out: {reasons_text}."
            )
        return usable

    def _judge_cases(self, judge: Judge, spec: str, cases: Sequence[Case]) -> list[Verdict]:
        context = replace(self.context, specs={judge.name: spec})
        self.tuning_result.job_counts += context.judge_cases([judge], cases)
        verdicts = list(self.context.ledger.verdicts([judge.name], cases={case.key for case in cases}))
        self.faults[judge.name] = Counter(verdict.fault for verdict in verdicts if verdict.fault)
        return verdicts

    def faults_text(self, judge: Judge) -> str:
        faults = self.faults.get(judge.name, Counter())
        return ", ".join(f"{count:,} {fault}" for fault, count in faults.most_common()) or "all its marks are equal"

    def rank_pictures(
        self, judge: Judge, job: TuningJob, items: Sequence[Item], responses: Sequence[Response]
    ) -> list[best_of_n_ranking.RankedResponse]:
        """Every prompt's pictures, best first, by the judge."""
        cases = [
            replace(case, criterion=job.criterion)
            for case in best_of_n_ranking.ranking_cases(items, responses, ballot_for(judge))
        ]
        return best_of_n_ranking.rank_responses(items, responses, cases, self._judge_cases(judge, job.judge, cases))

    def comparison_table(self, job: TuningJob, responses: Sequence[Response], before: str, after: str) -> Table:
        """Return how often judges, blind, prefer the tuned generator's picture; and people, if they voted."""
        rows: list[list[Cell]] = []
        for spec in job.compare:
            judge = judge_contestant_and_benchmark_specs.judge_from_spec(spec)
            ballot = ballot_for(judge)
            size = 2 if isinstance(ballot, Choice) else 1
            cases = list(cases_of(job.held_out, responses, ballot, size=size, orders="both", criterion=job.criterion))
            rows.append(_comparison_row(judge.name, self._judge_cases(judge, spec, cases), before, after))
        if votes := self._people_votes(job, before, after):
            rows.append(_comparison_row(PEOPLE, votes, before, after))
        note = Note("tune.compared")
        title = Note("tune.title", judge=job.judge)
        return Table("tuned", title, table_columns("judge", "won", "unusable", "n"), rows, (note,))

    def _people_votes(self, job: TuningJob, before: str, after: str) -> list[Verdict]:
        """Return people's votes on the held-out prompts, the latest of each person on each pair."""
        held_out_ids = {item.id for item in job.held_out}
        latest: dict[tuple[str, str], Verdict] = {}
        for verdict in self.context.ledger.verdicts([PEOPLE]):
            is_comparison = set(verdict.contestants) == {before, after} and verdict.criterion == job.criterion
            if is_comparison and verdict.item in held_out_ids:
                vote_key = (verdict.case, verdict.rater)
                if vote_key not in latest or verdict.revision >= latest[vote_key].revision:
                    latest[vote_key] = verdict
        return list(latest.values())


def _comparison_row(judge: str, verdicts: Sequence[Verdict], before: str, after: str) -> list[Cell]:
    shares, items = _comparison_shares(verdicts, before, after)
    prompts = np.unique(items, return_inverse=True)[1]
    share = mean_estimate(np.array(shares), prompts, (0.0, 1.0)) if shares else None
    return [judge, share, sum(verdict.fault is not None for verdict in verdicts), len(shares)]


def ballot_for(judge: Judge) -> Ballot:
    """Score models give numbers of their own; everybody else chooses between two."""
    return Number() if kind_of(judge) == "scorer" else Choice()


def _comparison_shares(verdicts: Iterable[Verdict], before: str, after: str) -> tuple[list[float], list[str]]:
    """The tuned generator's share of each comparison, and its prompt."""
    marks: dict[tuple[str, int, tuple[str, ...], str], dict[str, float]] = defaultdict(dict)
    for verdict in verdicts:
        if verdict.marks is not None:
            sample = verdict.shown_responses[0][1]
            order = verdict.contestants if len(verdict.contestants) > 1 else ()
            marks[verdict.item, sample, order, verdict.rater] |= zip(verdict.contestants, verdict.marks, strict=True)
    complete_marks = {
        key: marks_by_contestant
        for key, marks_by_contestant in marks.items()
        if {before, after} <= marks_by_contestant.keys()
    }
    shares = [
        0.5 + 0.5 * float(np.sign(marks_by_contestant[after] - marks_by_contestant[before]))
        for marks_by_contestant in complete_marks.values()
    ]
    return shares, [key[0] for key in complete_marks]
