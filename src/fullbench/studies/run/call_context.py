"""Calls of a run: answers and verdicts with the same ledger, engine, budget and stop flag in every step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.judge import Judge
from fullbench.core.model import Model
from fullbench.core.verdict import Circumstances
from fullbench.ledger.ledger import Ledger
from fullbench.studies.engines import DEFAULT_RETRY_POLICY, HERE, Budget, Engine, JobCounts, RetryPolicy, Stop
from fullbench.studies.ledger_display_names_and_name_lookup import load_display_names
from fullbench.studies.run.answer_items import ItemsForContestant, collect_answers
from fullbench.studies.run.judge_cases import CasesToJudge, judge_cases
from fullbench.studies.run.progress_display import watch_progress
from fullbench.studies.run.run_options import RunOptions


@dataclass(frozen=True)
class CallContext:
    """Ledger, engine, specs by name, budget, stop flag and retry policy of the calls."""

    ledger: Ledger
    engine: Engine = HERE
    specs: Mapping[str, str] | None = None
    budget: Budget | None = None
    stop: Stop = field(default_factory=Stop)
    quiet: bool = False
    retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY

    @classmethod
    def from_options(
        cls, ledger: Ledger, options: RunOptions, budget: Budget | None, specs: Mapping[str, str]
    ) -> CallContext:
        return cls(ledger, options.engine, specs, budget, options.stop, options.quiet, options.retry_policy)

    def collect_answers(
        self,
        contestants: Sequence[Model],
        items: Sequence[Item] | ItemsForContestant,
        *,
        samples: int = 1,
        what: str = "answers",
    ) -> list[JobCounts]:
        """Let every contestant answer its items; `what` names the answers in the progress display."""
        count = max((len(items(model)) for model in contestants), default=0) if callable(items) else len(items)
        names = [model.name for model in contestants]
        shown_names = load_display_names(self.ledger, contestants=contestants).names
        with watch_progress(what, names, count * samples, quiet=self.quiet, shown_names=shown_names) as watch:
            return collect_answers(
                contestants, items, self.ledger, samples=samples, engine=self.engine, specs=self.specs,
                budget=self.budget, stop=self.stop, watch=watch, retry_policy=self.retry_policy,
            )  # fmt: skip

    def judge_cases(
        self,
        judges: Sequence[Judge],
        cases: Sequence[Case] | CasesToJudge,
        total: int | Mapping[str, int] | None = None,
        *,
        what: str = "verdicts",
        circumstances_by_case: Mapping[str, Circumstances] | None = None,
    ) -> list[JobCounts]:
        """Let every judge judge its cases.

        Args:
            judges: The judges.
            cases: The same cases for all judges, or a function that returns those of a judge.
            total: Number of cases per judge for the progress display, if `cases` is a function.
            what: Name of the verdicts in the progress display.
            circumstances_by_case: Deliberate changes to cases, by case key.
        """
        cases_to_judge = cases if callable(cases) else lambda _: cases
        count = total if callable(cases) else len(cases)
        names = [judge.name for judge in judges]
        shown_names = load_display_names(self.ledger, judges=judges).names
        with watch_progress(what, names, count, quiet=self.quiet, shown_names=shown_names) as watch:
            return judge_cases(
                judges, cases_to_judge, self.ledger, engine=self.engine, specs=self.specs, budget=self.budget,
                stop=self.stop, watch=watch, retry_policy=self.retry_policy,
                circumstances_by_case=circumstances_by_case,
            )  # fmt: skip
