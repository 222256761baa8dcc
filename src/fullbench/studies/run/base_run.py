"""Base class of all kinds of study run, and the result of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Unpack

from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.judge import Judge, answers_first, models_of
from fullbench.core.model import Model
from fullbench.core.panel_and_cascade import View, is_view
from fullbench.core.registered_display_and_frame_functions import Printable
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE, Circumstances
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.stored_settings_and_chosen_display_names import load_named_settings
from fullbench.reports.display_names_of_judges_and_contestants import DisplayNames
from fullbench.studies.batches.batch_folders import refuse_open
from fullbench.studies.engines import Budget, JobCounts
from fullbench.studies.ledger_display_names_and_name_lookup import store_study_names, study_display_names
from fullbench.studies.run import call_and_cost_plan
from fullbench.studies.run.call_context import CallContext
from fullbench.studies.run.judge_cases import CasesToJudge
from fullbench.studies.run.missing_pictures import note_missing_pictures, refuse_missing_pictures
from fullbench.studies.run.own_answers_of_judges import answering_model
from fullbench.studies.run.panels_and_cascades import doubtful_cases, dropped_views_note
from fullbench.studies.run.run_options import RunOptions, RunOptionsByName
from fullbench.studies.study_file import Study


@dataclass(repr=False)
class StudyResult(Printable):
    """Result of a study; notebooks show its tables."""

    study: Study
    record: Record
    """The verdicts with texts; without verdicts if only tables were requested (`with_texts=False`)."""
    tables: Sequence[Table]
    source: Mapping[str, Any] = field(default_factory=dict)
    job_counts: list[JobCounts] = field(default_factory=list)
    files: dict[Path, Callable[[Path, Path], object]] = field(default_factory=dict)
    """Further files with their writers, which take a path and the path that pictures are relative to."""
    messages: list[str] = field(default_factory=list)
    """Messages for the user."""
    plain: Sequence[Table] = ()
    """The tables without sources, for commands that are not studies."""
    run_tables: Sequence[Table] = ()
    """Tables about this run only, which a replay cannot build."""
    missing: int = 0
    """Number of missing verdicts; set by a replay."""
    comparing: bool = False
    """Whether a verdict shows several responses."""
    names: DisplayNames = field(default_factory=DisplayNames)
    """Display names of all judges and contestants of the study."""

    def __repr__(self) -> str:
        return f"StudyResult({self.study.name!r}: {self.record!r}, {len(self.tables)} tables)"


class BaseRun(ABC):
    """A study with its files read and its judges and contestants built. No model was called yet.

    Every kind of study is planned, run, resumed and replayed in the same way. `second` has the judges that only get
    cases that a smaller judge leaves in doubt.
    """

    items: Sequence[Item] = ()
    contestants: Sequence[Model] = ()
    judges: Sequence[Judge] = ()
    views: Sequence[View] = ()
    second: Sequence[str] = ()
    dropped_views: Sequence[str] = ()

    def __init__(self, study: Study) -> None:
        self.study = study
        self.specs: dict[str, str] = {}
        self.messages: list[str] = []

    @abstractmethod
    def plan(self, ledger: Ledger) -> Table:
        """Return the planned calls with their cost, without calls."""

    def models(self) -> list[Model]:
        """Return the models that are called."""
        return [*self.contestants, *call_and_cost_plan.models_of_judges(self.judges)]

    def check_ready(self, budget: float | None = None, *, spent_dollars: float = 0.0) -> Budget | None:
        """Refuse missing pictures, a missing key, or a budget without prices before the first call.

        `spent_dollars` is the cost of earlier runs of the study, if the budget covers all of them.
        """
        refuse_missing_pictures(self.items, self.contestants, self.judges, is_allowed=self.study.without_pictures)
        if budget is not None:
            silent_names = [judge.name for judge in self.judges if models_of(judge) is None]
            notes = [f"{name} names no models: the budget counts only the dollars it reports." for name in silent_names]
            self.messages += [note for note in notes if note not in self.messages]
        return call_and_cost_plan.check_keys_and_budget(self.models(), budget, spent_dollars=spent_dollars)

    def execute(self, ledger: Ledger, **keyword_options: Unpack[RunOptionsByName]) -> StudyResult:
        """Collect what the ledger lacks, and build the tables. The same call resumes a run that was stopped.

        The keywords are those of `RunOptions`.
        """
        run_options = RunOptions(**keyword_options)
        budget = self.check_ready(run_options.budget, spent_dollars=run_options.spent_dollars)
        self._store_names(ledger)
        study_result = self._execute(CallContext.from_options(ledger, run_options, budget, self.specs), run_options)
        self._store_names(ledger)  # again, because responses from files are in the ledger only now
        return self._with_names(study_result, ledger)

    @abstractmethod
    def _execute(self, calls: CallContext, run_options: RunOptions) -> StudyResult: ...

    def replay(self, ledger: Ledger) -> StudyResult:
        """Return the tables from the ledger, without calls or keys."""
        study_result = self._replay(ledger)
        if not len(study_result.record):
            raise InputError(f"{ledger.place} has no verdict of this study. `fullbench run` adds them")
        return self._with_names(study_result, ledger)

    def _store_names(self, ledger: Ledger) -> None:
        """Store the names that the study chose, by full name or spec, for all outputs of the ledger."""
        full_names = {*self.specs, *(model.name for model in self.contestants), *(judge.name for judge in self.judges)}
        names_by_spec: dict[str, list[str]] = {}
        for name, spec in self.specs.items():
            names_by_spec.setdefault(spec, []).append(name)
        known_names = full_names.union(*load_named_settings(ledger))
        self.study.names.refuse_taken(known_names, self.study.path)
        store_study_names(ledger, self.study.names, known_names, names_by_spec)

    def _with_names(self, study_result: StudyResult, ledger: Ledger) -> StudyResult:
        """Return a result whose tables and record have display names.

        They depend on this study only: what other studies add to the ledger must not change its files.
        """
        record, source = study_result.record, study_result.source
        own_names = {*self.specs, *record.judges, *record.contestants}
        own_names |= {named.name for group in (self.judges, self.contestants, self.views) for named in group}
        own_names.update(*(source.get(role, ()) for role in ("judges", "contestants")))
        names = study_display_names(ledger, self.study.names, own_names)
        return replace(
            study_result,
            names=names,
            record=replace(study_result.record, names=names.names),
            tables=[names.attach_to(table) for table in study_result.tables],
            plain=[names.attach_to(table) for table in study_result.plain],
            run_tables=[names.attach_to(table) for table in study_result.run_tables],
        )

    @abstractmethod
    def _replay(self, ledger: Ledger) -> StudyResult: ...

    def _plan_table(
        self, ledger: Ledger, cases_to_judge: call_and_cost_plan.CasesToJudge, notes: Sequence[str] = ()
    ) -> Table:
        all_notes = [*notes]
        all_notes += [Note("plan.second", judge=name) for name in self.second]
        all_notes += [dropped_views_note(self.dropped_views)] if self.dropped_views else []
        return call_and_cost_plan.plan_table(
            ledger, contestants=self.contestants, items=self.items, judges=self.judges, cases=cases_to_judge,
            samples=self.study.samples, notes=all_notes,
        )  # fmt: skip

    def _refuse_open_batches(self, ledger: Ledger) -> None:
        """Refuse live calls whose tasks are in an open batch: they would be paid twice."""
        names = [*(model.name for model in self.contestants), *(judge.name for judge in self.judges)]
        names += [answering_model(judge).name for judge in self.judges if answers_first(judge)]
        refuse_open(ledger.path, names)

    def _first_judges(self) -> list[Judge]:
        return [judge for judge in self.judges if judge.name not in self.second]

    def _judge_cases(
        self,
        calls: CallContext,
        cases: Iterable[Case],
        cases_to_judge: CasesToJudge,
        total: int | Mapping[str, int],
        circumstances_by_case: Mapping[str, Circumstances] | None = None,
    ) -> list[JobCounts]:
        """Judge the cases that are due; then the second judges get the cases in doubt, one judge after the other."""
        job_counts = calls.judge_cases(
            self._first_judges(), cases_to_judge, total, circumstances_by_case=circumstances_by_case
        )
        all_cases = list(cases) if self.second else []
        for judge in self.judges:
            if judge.name in self.second and not calls.stop.reason:
                job_counts += calls.judge_cases(
                    [judge], doubtful_cases(judge.name, all_cases, calls.ledger, self.views)
                )
        return job_counts

    def _count_missing(
        self, ledger: Ledger, record: Record, cases: Iterable[Case], cases_to_judge: CasesToJudge
    ) -> int:
        """Return the number of verdicts that the ledger lacks."""
        all_cases = list(cases) if self.second else []
        due_count = sum(1 for judge in self._first_judges() for _ in cases_to_judge(judge))
        due_count += sum(len(doubtful_cases(name, all_cases, ledger, self.views)) for name in self.second)
        return due_count - sum(verdict.judge != PEOPLE and not is_view(verdict.judge) for verdict in record)

    def _build_sourced_result(
        self, record: Record, tables: Sequence[Table], judges: Sequence[str], job_counts: Sequence[JobCounts] = ()
    ) -> StudyResult:
        """Return the result; each table gets its source (judges, seed, digest of verdicts, version)."""
        source: dict[str, Any] = {
            "study": self.study.name,
            "kind": self.study.kind,
            "judges": list(judges),
            "contestants": record.contestants,
            "seed": self.study.seed,
            "verdicts": record.digest(),
            "fullbench": version("fullbench"),
        }
        plain = note_missing_pictures(tables, record.items.values())
        return StudyResult(
            self.study, record, add_source(plain, source), source, list(job_counts), messages=list(self.messages),
            plain=plain,
        )  # fmt: skip


class FixedCasesRun(BaseRun):
    """Base of runs whose cases are known before any call, and the same for all judges."""

    @property
    @abstractmethod
    def cases(self) -> Sequence[Case]:
        """The cases to judge."""

    def plan(self, ledger: Ledger) -> Table:
        return self._plan_table(ledger, lambda _: iter(self.cases))

    def _execute(self, calls: CallContext, run_options: RunOptions) -> StudyResult:
        job_counts = self._judge_cases(
            calls, self.cases, lambda _: self.cases, len(self.cases), self._circumstances_by_case()
        )
        return self._build_result(calls.ledger, job_counts)

    def _circumstances_by_case(self) -> Mapping[str, Circumstances]:
        return {}

    def _replay(self, ledger: Ledger) -> StudyResult:
        study_result = self._build_result(ledger, [])
        study_result.missing = self._count_missing(ledger, study_result.record, self.cases, lambda _: self.cases)
        return study_result

    @abstractmethod
    def _build_result(self, ledger: Ledger, job_counts: list[JobCounts]) -> StudyResult: ...


def add_source(tables: Iterable[Table], source: Mapping[str, Any]) -> list[Table]:
    """Return the tables with the source of the study; a table's own entries have priority."""
    return [replace(table, source={**source, **table.source}) for table in tables]
