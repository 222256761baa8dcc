"""Whoever draws or judges while a generator is tuned is asked through the ledger, and before and after are compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fullbench.analysis.estimate_cells import mean
from fullbench.core.ballot import Ballot, Choice
from fullbench.core.call import Usage
from fullbench.core.case import Case
from fullbench.core.case import cases as cases_of
from fullbench.core.column_labels import headings
from fullbench.core.item import Item
from fullbench.core.judge import Judge, kind_of
from fullbench.core.model import Model, Prompt, Reply
from fullbench.core.note import Note
from fullbench.core.number_ballot import Number
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.studies import best_of_n, judge_and_model_specs
from fullbench.studies.engines import HERE, Budget, Engine, Stop, Tally
from fullbench.studies.run.answer_items import answer
from fullbench.studies.run.judge_cases import hear
from fullbench.studies.run.progress_display import watching


@dataclass(frozen=True)
class Tuning:
    """What is tuned by whom on what. `held_out` are the prompts on which before and after are compared."""

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
class Done:
    """What came of it: sentences, tables, tallies, and the tuned generator's spec (empty where it was stopped)."""

    said: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)
    spec: str = ""
    before: str = ""
    after: str = ""
    """The names of both contestants in the ledger, where both have drawn."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """Pictures that were drawn while learning, as a contestant, so that they enter the ledger like all others."""

    name: str
    pictures: Mapping[tuple[str, int], bytes]
    """By prompt and sample."""
    settings: Mapping[str, Any]
    draws: bool = True
    price: tuple[float, float] | None = (0.0, 0.0)

    def answer(self, prompts: Iterable[Prompt]) -> Iterator[Reply]:
        for prompt in prompts:
            picture = Picture.of(self.pictures[prompt.turns[-1].text, prompt.seed or 0])
            yield Reply(prompt, usage=Usage(calls=1), stop="stop", pictures=(picture,))


@dataclass
class Asker:
    """Whoever is asked is asked through the ledger, so that nothing is drawn or paid for twice."""

    ledger: Ledger
    engine: Engine
    budget: Budget | None
    stop: Stop
    quiet: bool
    done: Done
    faults: dict[str, Counter[str]] = field(default_factory=dict)

    def draw(self, models: Sequence[tuple[Model, str]], items: Sequence[Item], samples: int) -> list[Response]:
        """Their pictures; what was refused or came to nothing is counted and left out."""
        engine = HERE if any(isinstance(model, Drawn) for model, _ in models) else self.engine
        contestants = [model for model, _ in models]
        names = {model.name: spec for model, spec in models}
        with watching("pictures", list(names), len(items) * samples, quiet=self.quiet) as watch:
            self.done.tallies += answer(
                contestants, items, self.ledger, engine=engine, samples=samples, specs=names, budget=self.budget,
                stop=self.stop, watch=watch,
            )  # fmt: skip
        keys = [item.key for item in items]
        responses = [
            response for response in self.ledger.responses(list(names), item_keys=keys) if response.sample < samples
        ]
        usable = [response for response in responses if len(response.pictures) == 1 and response.stop != "black"]
        if len(usable) < len(responses):
            ends = Counter(response.stop or "no picture" for response in responses if response not in usable)
            why = ", ".join(f"{count:,} {end}" for end, count in ends.most_common())
            self.done.said.append(
                f"{len(responses) - len(usable):,} of {len(responses):,} pictures are left out: {why}."
            )
        return usable

    def _hear(self, judge: Judge, spec: str, cases: Sequence[Case]) -> list[Verdict]:
        with watching("verdicts", [judge.name], len(cases), quiet=self.quiet) as watch:
            self.done.tallies += hear(
                [judge], lambda _: cases, self.ledger, engine=self.engine, specs={judge.name: spec}, budget=self.budget,
                stop=self.stop, watch=watch,
            )  # fmt: skip
        verdicts = list(self.ledger.verdicts([judge.name], cases={case.key for case in cases}))
        self.faults[judge.name] = Counter(verdict.fault for verdict in verdicts if verdict.fault)
        return verdicts

    def why(self, judge: Judge) -> str:
        faults = self.faults.get(judge.name, Counter())
        return ", ".join(f"{count:,} {fault}" for fault, count in faults.most_common()) or "all its marks are equal"

    def choose(
        self, judge: Judge, job: Tuning, items: Sequence[Item], responses: Sequence[Response]
    ) -> list[best_of_n.Ranked]:
        """Every prompt's pictures, best first, by the judge."""
        cases = [
            replace(case, criterion=job.criterion) for case in best_of_n.cases(items, responses, ballot_for(judge))
        ]
        return best_of_n.rank(items, responses, cases, self._hear(judge, job.judge, cases))

    def compared(self, job: Tuning, responses: Sequence[Response], before: str, after: str) -> Table:
        """How often each held-out judge prefers the tuned generator's picture, not knowing whose it is; and people,
        where the ledger holds votes of theirs."""
        rows: list[list[Cell]] = []
        for spec in job.compare:
            judge = judge_and_model_specs.judge(spec)
            form = ballot_for(judge)
            size = 2 if isinstance(form, Choice) else 1
            cases = list(cases_of(job.held_out, responses, form, size=size, orders="both", criterion=job.criterion))
            rows.append(_row(judge.name, self._hear(judge, spec, cases), before, after))
        if votes := self._votes(job, before, after):
            rows.append(_row(PEOPLE, votes, before, after))
        note = Note(
            "tune.compared",
            "Won: how often the tuned generator's picture is preferred to that of the one it began as, for the same "
            "prompt and seed; a tie is half. The prompts are held out, and judges see no names.",
        )
        title = Note("tune.title", "After tuning by {judge}", judge=job.judge)
        return Table("tuned", title, headings("judge", "won", "faults", "n"), rows, (note,))

    def _votes(self, job: Tuning, before: str, after: str) -> list[Verdict]:
        """What people said of both on the held-out prompts, each person's latest word on each pair."""
        asked = {item.id for item in job.held_out}
        latest: dict[tuple[str, str], Verdict] = {}
        for verdict in self.ledger.verdicts([PEOPLE]):
            both = set(verdict.contestants) == {before, after} and verdict.criterion == job.criterion
            if both and verdict.item in asked:
                place = (verdict.case, verdict.rater)
                if place not in latest or verdict.revision >= latest[place].revision:
                    latest[place] = verdict
        return list(latest.values())


def _row(judge: str, verdicts: Sequence[Verdict], before: str, after: str) -> list[Cell]:
    shares, items = _won(verdicts, before, after)
    prompts = np.unique(items, return_inverse=True)[1]
    share = mean(np.array(shares), prompts, (0.0, 1.0)) if shares else None
    return [judge, share, sum(verdict.fault is not None for verdict in verdicts), len(shares)]


def ballot_for(judge: Judge) -> Ballot:
    """Score models give numbers of their own; everybody else chooses between two."""
    return Number() if kind_of(judge) == "scorer" else Choice()


def _won(verdicts: Iterable[Verdict], before: str, after: str) -> tuple[list[float], list[str]]:
    """The tuned generator's share of each comparison, and its prompt."""
    marks: dict[tuple[str, int, tuple[str, ...], str], dict[str, float]] = defaultdict(dict)
    for verdict in verdicts:
        if verdict.marks is not None:
            sample = verdict.shown[0][1]
            order = verdict.contestants if len(verdict.contestants) > 1 else ()
            marks[verdict.item, sample, order, verdict.rater] |= zip(verdict.contestants, verdict.marks, strict=True)
    whole = {place: by for place, by in marks.items() if {before, after} <= by.keys()}
    shares = [0.5 + 0.5 * float(np.sign(by[after] - by[before])) for by in whole.values()]
    return shares, [place[0] for place in whole]
