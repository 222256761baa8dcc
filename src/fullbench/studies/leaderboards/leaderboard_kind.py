"""A leaderboard that grows, as a kind of study: one newcomer against those that are there."""

from __future__ import annotations

from typing import Unpack

from fullbench.analysis.boards.leaderboard import Settings
from fullbench.core.table import Table
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.studies import judge_and_model_specs
from fullbench.studies.engines import Budget
from fullbench.studies.leaderboards import leaderboard_display, leaderboard_from_options
from fullbench.studies.leaderboards.growing_leaderboard import Board, Newcomer, Schedule, uniform
from fullbench.studies.run import study_plan
from fullbench.studies.run.missing_pictures import counted
from fullbench.studies.run.progress_display import watching
from fullbench.studies.run.run_options import RunTerms, RunTermsByName
from fullbench.studies.run.study_run import Conducted
from fullbench.studies.study_file import Study
from fullbench.studies.table_sources import looked_at


class Growing:
    """A benchmark's items, a judge and a newcomer; nothing was asked yet."""

    def __init__(self, study: Study) -> None:
        options = study.options
        self.study = study
        self.settings: Settings = leaderboard_display.settings(
            options.get("rule", "both-agree"), options.get("ties", "half"), study.seed
        )
        self.schedule: Schedule = leaderboard_from_options.schedule(options.get("schedule", "uniform"))
        own = () if study.responses is None else (study.responses,)
        answers = (*own, *options.get("responses", ()))
        model = study.contestants[0] if study.contestants else str(options["newcomer"])
        self.asked = leaderboard_from_options.Asked(
            study.benchmark or "", study.data, answers, model, options.get("predictions"), study.judges[0],
            options.get("manner", ""), options.get("reader"), study.without_pictures, study.pictures_from,
            study.limit, bool(options.get("withheld", False)),
        )  # fmt: skip

    def plan(self, ledger: Ledger) -> Table:
        """What uniform sampling would ask, and what it would cost."""
        ready = leaderboard_from_options.prepare(self.asked, ledger, RunTerms(), answer=False)
        return ready.forecast(ledger, self._newcomer(ready))

    def ready(self, budget: float | None = None, *, spent: float = 0.0) -> Budget | None:
        """Refuse a missing key, or a budget without prices."""
        spec = judge_and_model_specs.in_words_of(
            self.asked.benchmark, self.asked.judge, manner=self.asked.manner, reader=self.asked.reader or ""
        )
        return study_plan.ready(study_plan.models_asked([judge_and_model_specs.judge(spec)]), budget, spent=spent)

    def _newcomer(self, ready: leaderboard_from_options.Ready) -> Newcomer:
        options = self.study.options
        return ready.newcomer(options.get("opponents", 1), options.get("reference_matches", 150), self.study.seed)

    def conduct(self, ledger: Ledger, **named: Unpack[RunTermsByName]) -> Conducted:
        """Let the newcomer answer and play what is due, and rate everybody anew."""
        terms, options = RunTerms(**named), self.study.options
        ready = leaderboard_from_options.prepare(self.asked, ledger, terms, answer=True)
        newcomer = self._newcomer(ready)
        board = ready.board(ledger, self.settings, terms.engine, terms.insist)
        with watching("verdicts", [ready.judge.name], ready.total(newcomer), quiet=terms.quiet) as watch:
            added = board.add(
                newcomer, schedule=self.schedule, width=float(options.get("width", 25.0)), most=options.get("most"),
                budget=ready.purse, stop=terms.stop, watch=watch,
            )  # fmt: skip
        done = self._look(ready, board)
        done.said += ready.said
        done.tallies += [*ready.tallies, *added.tallies]
        done.run_tables = counted([added.table(newcomer.name)], ready.pool.items)
        return done

    def replay(self, ledger: Ledger) -> Conducted:
        """The leaderboard by what the ledger holds."""
        ready = leaderboard_from_options.prepare(self.asked, ledger, RunTerms(), answer=False)
        done = self._look(ready, ready.board(ledger, self.settings))
        if not len(done.record):
            raise InputError(f"{ledger.place} holds no verdict of this study; `fullbench run` asks for them")
        if self.schedule == "uniform":
            due = {(case.key, case.trial) for case in uniform(ready.pool, self._newcomer(ready))}
            done.missing = len(due) - len(ledger.heard(ready.judge.name, due))
        return done

    def _look(self, ready: leaderboard_from_options.Ready, board: Board) -> Conducted:
        record = board.record()
        tables = leaderboard_display.tables(record, ready.judge.name, board.settings, self.study.options.get("by"))
        return looked_at(self.study, record, tables, [ready.judge.name])
