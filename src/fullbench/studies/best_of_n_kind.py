"""Best of n as a kind of study: the answers to each item in order, by one judge."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from fullbench.core.ballot import ballot
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.errors import InputError
from fullbench.files.item_files import read_items, read_responses
from fullbench.files.picture_access_policy import allowing, without_pictures
from fullbench.files.writers import write_rows
from fullbench.ledger.ledger import Ledger
from fullbench.studies import best_of_n as ranking
from fullbench.studies import judge_and_model_specs
from fullbench.studies.engines import Budget, Tally
from fullbench.studies.run import study_plan
from fullbench.studies.run.judge_cases import hear
from fullbench.studies.run.missing_pictures import refuse_blind
from fullbench.studies.run.progress_display import watching
from fullbench.studies.run.run_options import RunTerms, RunTermsByName
from fullbench.studies.run.study_inputs import left_by_limit
from fullbench.studies.run.study_run import Conducted
from fullbench.studies.study_file import Study
from fullbench.studies.table_sources import looked_at

BALLOT = "real:0-10"
SHOWN = 40
"""So many rows are shown; the file has them all."""


class Reranking:
    """Items, their answers and a judge; nothing was asked yet."""

    def __init__(self, study: Study) -> None:
        if study.items is None or study.responses is None:
            raise InputError("a study of kind 'rerank' has items and responses", path=study.path)
        self.study = study
        self.spec = study.judges[0]
        self.judge = judge_and_model_specs.judge(self.spec)
        with allowing(*study.pictures_from, urls=study.fetch_urls), without_pictures(study.without_pictures):
            every = list(read_items(study.items, question=study.question))
            self.items = every[: study.limit]
            self.said = left_by_limit(len(self.items), len(every))
            taken = {item.id for item in self.items}
            answers = read_responses(study.responses, items={item.id for item in every})
            self.answers = [answer for answer in answers if answer.item in taken]
        form = ballot(study.ballots[0] if study.ballots else BALLOT)
        cases = ranking.cases(self.items, self.answers, form, trials=study.trials)
        self.cases = [replace(case, criterion=study.criteria[0]) for case in cases]
        self.out: Path = study.options["out"]
        self.keep: int | None = study.options.get("keep")
        self.rows: list[dict[str, Any]] = []
        """The answers as the last look put them in order."""

    def plan(self, ledger: Ledger) -> Table:
        """What would be asked, and what it would take."""
        return study_plan.table(
            ledger, contestants=(), items=self.items, judges=[self.judge], cases=lambda _: iter(self.cases)
        )

    def ready(self, budget: float | None = None, *, spent: float = 0.0) -> Budget | None:
        """Refuse a missing key, or a budget without prices."""
        refuse_blind(self.items, (), [self.judge], allowed=self.study.without_pictures)
        return study_plan.ready(study_plan.models_asked([self.judge]), budget, spent=spent)

    def conduct(self, ledger: Ledger, **named: Unpack[RunTermsByName]) -> Conducted:
        """Let the judge rule on what is due, and put the answers in order."""
        terms = RunTerms(**named)
        purse = self.ready(terms.budget, spent=terms.spent)
        with watching("verdicts", [self.judge.name], len(self.cases), quiet=terms.quiet) as watch:
            tallies = hear(
                [self.judge], lambda _: self.cases, ledger, engine=terms.engine, specs={self.judge.name: self.spec},
                budget=purse, stop=terms.stop, watch=watch, insist=terms.insist,
            )  # fmt: skip
        return self._look(ledger, tallies)

    def replay(self, ledger: Ledger) -> Conducted:
        """The order by what the ledger holds."""
        done = self._look(ledger, [])
        if not len(done.record):
            raise InputError(f"{ledger.place} holds no verdict of this study; `fullbench run` asks for them")
        done.missing = len(self.cases) - len(done.record)
        return done

    def _look(self, ledger: Ledger, tallies: list[Tally]) -> Conducted:
        verdicts = tuple(ledger.verdicts([self.judge.name], cases={case.key for case in self.cases}))
        ranked = ranking.rank(self.items, self.answers, self.cases, verdicts)
        shown = {(answer.item, answer.contestant, answer.sample): answer for answer in self.answers}
        record = Record(verdicts, {item.id: item for item in self.items}, shown)
        done = looked_at(self.study, record, [self._table(ranked)], [self.judge.name], tallies)
        self.rows = list(ranking.rows(ranked, self.out, self.keep))
        done.files[self.out] = lambda path, place: write_rows(path, ranking.rows(ranked, place, self.keep))
        done.said += [*self.said, *self._told(ranked, record)]
        return done

    def _table(self, ranked: list[ranking.Ranked]) -> Table:
        listed = (
            ranked
            if self.keep is None
            else [answer for answer in ranked if answer.rank is not None and answer.rank <= self.keep]
        )
        rows: list[list[Cell]] = [
            [
                answer.response.item,
                answer.rank,
                answer.response.contestant,
                answer.response.sample,
                answer.worth,
                answer.marks,
            ]
            for answer in listed[:SHOWN]
        ]
        more = len(listed) - len(rows)
        notes = [Note("rerank.more", "{n:,} more answers are in {out}.", n=more, out=self.out.name)] if more else []
        title = Note("rerank.title", "Answers in order, by {judge}", judge=self.judge.name)
        columns = headings("item", "rank", "contestant", "sample", "worth", "marks given")
        return Table("rerank", title, columns, rows, notes)

    def _told(self, ranked: list[ranking.Ranked], record: Record) -> list[str]:
        """How many answers have no rank, and why."""
        unranked = sum(candidate.worth is None for candidate in ranked)
        if not unranked:
            return []
        fate = "they are left out" if self.keep is not None else "they come last, without a rank"
        why = Counter(verdict.text for verdict in record if verdict.fault == "recused")
        return [
            f"{unranked} responses got no mark: {fate}.",
            *(f"{self.judge.name} recused itself {count} times: {reason}." for reason, count in why.most_common(3)),
        ]
