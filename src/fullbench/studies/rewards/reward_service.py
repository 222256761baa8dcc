"""Service that judges completions for several callers at once, and keeps every verdict in a ledger.

The service holds the judge's lock in the ledger (decision 0003) for as long as it is open, so no other run calls the
judge. Callers are threads of this process, or other processes through `reward_server`. A case that is on its way for
one caller is not called again for another: the second one waits for the same verdict.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from fullbench.analysis.views.panel_cascade_and_rubric_verdicts import view_verdicts
from fullbench.core.ballot import Ballot, ballot
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.judge import Judge, models_of
from fullbench.core.panel_and_cascade import is_view
from fullbench.core.rubric import RUBRIC, Criterion, Rubric, criteria_of_items, parse_criteria
from fullbench.core.verdict import FAULTS, Verdict
from fullbench.errors import FullbenchError, InputError
from fullbench.judges.scorers.scorer_server import ServerBusyError, metric_lines
from fullbench.ledger.ledger import Ledger
from fullbench.models.net.rate_limits import use_rate_limits
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.engines import JobCounts, Stop
from fullbench.studies.rewards.rate_limits_shared_by_requests import SharedRateLimits
from fullbench.studies.rewards.training_prompts_as_items_and_responses import RewardRow
from fullbench.studies.rubrics.rubrics_in_studies import (
    EACH,
    OPTION_KEYS,
    RubricWithJudge,
    default_calls,
    judge_with_criteria,
    read_rubric,
)
from fullbench.studies.run.call_and_cost_plan import check_keys_and_budget
from fullbench.studies.run.judge_cases import judge_cases
from fullbench.studies.study_file import Study

STUDY = "rewards"
"""Default study of rewards in a ledger."""
CALLERS = 64
"""Most requests that make calls at once; further ones wait for their turn."""
_Key = tuple[str, int]


@dataclass(frozen=True)
class Reward:
    """The reward of one completion: a number, or why there is none.

    `unusable` is `refused`, `unreadable` or `abstained` if the judge gave no marks, `failed` if there is no verdict (a
    failed call, a spent budget, the time limit), and "" for a number. `cases` are the keys of the verdicts.
    """

    value: float | None
    cases: tuple[str, ...]
    unusable: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Measure:
    """Source of rewards: a ballot, or a rubric.

    A rubric is a path, a list of criteria, True for the column of the data set, or a table as in a study file, with
    `file` or `criteria`, `total`, `cap` and `calls`.
    """

    ballot: str | None = None
    rubric: Any = None

    def __post_init__(self) -> None:
        if (self.ballot is None) == (self.rubric is None):
            given = "Both a ballot and a rubric are given" if self.ballot else "No ballot or rubric given"
            raise InputError(f"{given}. Choose one, such as ballot='score:1-5'")
        if self.ballot is not None:
            self.form.check(1)

    @cached_property
    def form(self) -> Ballot:
        return ballot(self.ballot or "")

    @cached_property
    def _table(self) -> Mapping[str, Any]:
        if isinstance(self.rubric, Mapping):
            return self.rubric
        if isinstance(self.rubric, str | Path):
            return {"file": self.rubric}
        return {} if self.rubric is True or self.rubric is None else {"criteria": self.rubric}

    @cached_property
    def _file(self) -> tuple[tuple[Criterion, ...], dict[str, Any]]:
        return read_rubric(Path(self._table["file"])) if "file" in self._table else ((), {})

    @cached_property
    def options(self) -> dict[str, Any]:
        """Total and cap of the rubric."""
        return {**self._file[1], **{key: self._table[key] for key in OPTION_KEYS if key in self._table}}

    @cached_property
    def criteria(self) -> tuple[Criterion, ...]:
        """The criteria for every prompt; none if each prompt has its own."""
        criteria = parse_criteria(self._table["criteria"]) if "criteria" in self._table else self._file[0]
        if criteria:
            self.rubric_for(criteria, "any")  # a total that cannot be is refused before the training starts
        return criteria

    def rubric_for(self, criteria: Sequence[Criterion], judge: str) -> Rubric:
        """Return the rubric of these criteria, marked by a judge."""
        return Rubric(f"{RUBRIC}{STUDY}", judge, tuple(criteria), **self.options)

    @property
    def calls(self) -> str | None:
        """`one` or `each`; None leaves it to the judge."""
        return self._table.get("calls")

    @cached_property
    def digest(self) -> str:
        """Digest by which callers check that a service gives the rewards that they want."""
        rows = [[c.name, c.words, c.weight, c.ballot, c.required] for c in self.criteria]
        return digest([self.ballot, rows, sorted(self.options.items()), self.rubric is None])[:16]


@dataclass
class ServiceCounts:
    """Counters of a service since its start, for `/metrics`."""

    requests: int = 0
    rewards: int = 0
    cases: int = 0
    cases_from_ledger: int = 0
    cases_joined: int = 0
    unusable: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def read_reward_study(study: Study) -> tuple[str, Measure, str]:
    """Return judge, measure and ledger of a study with one rubric, or with one judge and one ballot."""
    path = study.path
    ledger = str(study.ledger)
    if len(study.rubrics) == 1:
        ((_, table),) = study.rubrics.items()
        file = {"file": path.parent / table["file"]} if "file" in table else {}
        own_keys = ("criteria", "calls", *OPTION_KEYS)
        rubric = {**file, **{key: table[key] for key in own_keys if key in table}}
        return str(table["judge"]), Measure(rubric=rubric), ledger
    judges = [spec for spec in study.judges if not is_view(spec)]
    if study.rubrics or len(judges) != 1 or len(study.ballots) != 1:
        raise InputError("rewards come from a study with one rubric, or with one judge and one ballot", path=path)
    return judges[0], Measure(ballot=study.ballots[0]), ledger


class RewardService(AbstractContextManager["RewardService"]):
    """A judge with a ballot or a rubric, in one ledger, for several callers at once."""

    def __init__(
        self,
        judge: str | Judge,
        measure: Measure,
        ledger: str | Path,
        *,
        study: str = STUDY,
        budget: float | None = None,
    ) -> None:
        """Open the ledger and take the judge's lock.

        Args:
            judge: A spec or a judge.
            measure: The ballot or rubric.
            ledger: Path or URL of the ledger.
            study: Study of the ledger that the cases join.
            budget: Most dollars that this study of the ledger may have cost, earlier calls included.
        """
        self.measure = measure
        spec = judge if isinstance(judge, str) else judge.name
        self._spec = spec
        self._base_judge = (
            judge_contestant_and_benchmark_specs.judge_from_spec(judge) if isinstance(judge, str) else judge
        )
        self._calls = measure.calls or (default_calls(spec) if isinstance(judge, str) else EACH)
        self.judge = self._judge_for(measure.criteria) if measure.criteria else self._base_judge
        if measure.rubric is not None and not measure.criteria:
            self.judge = self._judge_for(parse_criteria(["any"], item="any"))
        check_keys_and_budget(models_of(self.judge) or (), budget)
        self.counts = ServiceCounts()
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._active_requests = 0
        self._in_flight: dict[_Key, Future[str]] = {}
        self._stop = Stop()
        self._rate_limits = SharedRateLimits()
        with ExitStack() as contexts:
            self.ledger = contexts.enter_context(Ledger(ledger, study=study))
            contexts.enter_context(self.ledger.hold_lock(self.judge.name))
            spent_dollars = self.ledger.study_cost(study) if budget is not None else 0.0
            self.budget = check_keys_and_budget(models_of(self.judge) or (), budget, spent_dollars=spent_dollars)
            if measure.criteria:
                self._declare_rubric()
            self._pool = contexts.enter_context(ThreadPoolExecutor(CALLERS, thread_name_prefix="fullbench-reward"))
            self._open = contexts.pop_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the requests on their way, and let the judge and the ledger go."""
        with self._idle:
            self._stop.pull("the service ends")
            self._idle.wait_for(lambda: not self._active_requests)
        self._open.close()

    def _judge_for(self, criteria: Sequence[Criterion]) -> Judge:
        return judge_with_criteria(self._base_judge, self._spec, criteria, self._calls)

    def _declare_rubric(self) -> None:
        """Let reports show the totals: as `rubric:rewards`, with a digest if the ledger has another rubric of it."""
        rubric = self.measure.rubric_for(self.measure.criteria, self.judge.name)
        if self.ledger.settings_behind("judge", rubric.name) not in (None, rubric.settings):
            rubric = replace(rubric, name=f"{rubric.name} {digest([rubric.settings])[:6]}")
        self.ledger.declare("judge", rubric.name, rubric.settings)

    def rewards(self, rows: Sequence[RewardRow], timeout: float) -> list[Reward]:
        """Return the reward of each row, in its order; calls that take longer than `timeout` seconds go on without it.

        The verdict of such a late call is stored when it comes, and is used the next time.
        """
        with self._lock:
            if self._stop.reason:
                raise ServerBusyError(f"no reward: {self._stop.reason}")
            self._active_requests += 1
        try:
            return self._judge_rows(rows, timeout)
        finally:
            with self._idle:
                self._active_requests -= 1
                self._idle.notify_all()

    def _judge_rows(self, rows: Sequence[RewardRow], timeout: float) -> list[Reward]:
        start_time = time.monotonic()
        items = list({item.id: item for item, _ in rows}.values())
        sheet = self._sheet(items)
        row_cases = [self._cases(row, sheet) for row in rows]
        every_case = {(case.key, case.trial): case for cases in row_cases for case in cases}
        futures, own_cases = self._claim(every_case)
        if own_cases:
            judge = sheet.judge if sheet is not None else self.judge
            self._pool.submit(self._judge_own_cases, judge, own_cases)
        wait(futures.values(), timeout=max(0.0, timeout - (time.monotonic() - start_time)))
        problems = {
            key: future.result() if future.done() else f"no verdict within {timeout:g} s"
            for key, future in futures.items()
        }
        rewards = self._read_rewards(row_cases, sheet, problems)
        with self._lock:
            self.counts.requests += 1
            self.counts.rewards += len(rewards)
            self.counts.cases += len(every_case)
            self.counts.cases_joined += len(every_case) - len(own_cases)
            self.counts.unusable.update(reward.unusable for reward in rewards if reward.unusable)
            self.counts.seconds += time.monotonic() - start_time
        return rewards

    def _sheet(self, items: Sequence[Item]) -> RubricWithJudge | None:
        if self.measure.rubric is None:
            return None
        criteria, judge = self.measure.criteria, self.judge
        if not criteria:
            criteria = criteria_of_items(items)
            with_own = {criterion.item for criterion in criteria}
            if bare := [item for item in items if item.id not in with_own]:
                raise InputError(
                    f"{len(bare)} of {len(items)} prompts have no rubric; give each one in the column 'rubric', "
                    f"the first without: {bare[0].question[:60]!r}"
                )
            judge = self._judge_for(criteria)
        return RubricWithJudge(self.measure.rubric_for(criteria, judge.name), judge)

    def _cases(self, row: RewardRow, sheet: RubricWithJudge | None) -> list[Case]:
        item, response = row
        if sheet is None:
            return [Case(item, (response,), self.measure.form)]
        return list(sheet.cases([item], [response], 1))

    def _claim(self, cases: Mapping[_Key, Case]) -> tuple[dict[_Key, Future[str]], list[Case]]:
        """Return a future for each case, and the cases that no other caller has on its way."""
        futures: dict[_Key, Future[str]] = {}
        own_cases: list[Case] = []
        with self._lock:
            for key, case in cases.items():
                if (future := self._in_flight.get(key)) is None:
                    future = self._in_flight[key] = Future()
                    own_cases.append(case)
                futures[key] = future
        return futures, own_cases

    def _judge_own_cases(self, judge: Judge, cases: Sequence[Case]) -> None:
        """Judge the cases, and tell all callers that wait for them; the result of a future is a problem or ""."""
        problem = "the call failed"
        try:
            with use_rate_limits(self._rate_limits):
                (counts,) = judge_cases(
                    [judge], lambda _: cases, self.ledger, budget=self.budget, stop=Stop(), holds_locks=True
                )
            with self._lock:
                self.counts.cases_from_ledger += counts.stored_count
            problem = _problem_text(counts)
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers must not wait for ever
            problem = str(error) if isinstance(error, FullbenchError) else f"{type(error).__name__}: {error}"
        finally:
            with self._lock:
                finished = [self._in_flight.pop((case.key, case.trial)) for case in cases]
            for future in finished:
                future.set_result(problem)

    def _read_rewards(
        self, row_cases: Sequence[Sequence[Case]], sheet: RubricWithJudge | None, problems: Mapping[_Key, str]
    ) -> list[Reward]:
        name = self.judge.name if sheet is None else sheet.judge.name
        keys = {case.key for cases in row_cases for case in cases}
        self.ledger.flush()
        stored = {verdict.case: verdict for verdict in self.ledger.verdicts([name], cases=keys) if verdict.trial == 0}
        return [self._reward_of(cases, sheet, stored, problems) for cases in row_cases]

    def _reward_of(
        self,
        cases: Sequence[Case],
        sheet: RubricWithJudge | None,
        stored: Mapping[str, Verdict],
        problems: Mapping[_Key, str],
    ) -> Reward:
        keys = tuple(case.key for case in cases)
        missing = [case for case in cases if case.key not in stored]
        if missing:
            reason = next(filter(None, (problems[case.key, case.trial] for case in missing)), "the call failed")
            return Reward(None, keys, "failed", reason)
        verdicts = [stored[key] for key in keys]
        if faulty := next((verdict for verdict in verdicts if verdict.fault), None):
            return Reward(None, keys, str(faulty.fault), faulty.text[:200])
        if sheet is not None:
            (total,) = view_verdicts(sheet.rubric, verdicts)
            return Reward(None if total.marks is None else total.marks[0], keys, total.fault or "", total.text)
        marks = verdicts[0].marks
        return Reward(None if marks is None else marks[0], keys)

    def metrics_text(self) -> str:
        """Return the counters in the text format of Prometheus."""
        counts = self.counts
        with self._lock:
            lines = [
                *metric_lines("reward_requests_total", "Requests answered.", counts.requests),
                *metric_lines("reward_rewards_total", "Rewards returned.", counts.rewards),
                *metric_lines("reward_cases_total", "Cases looked up or judged.", counts.cases),
                *metric_lines(
                    "reward_cases_from_ledger_total", "Cases with a stored verdict.", counts.cases_from_ledger
                ),
                *metric_lines(
                    "reward_cases_joined_total", "Cases on their way for another caller.", counts.cases_joined
                ),
                *metric_lines("reward_request_seconds_total", "Seconds of all requests.", counts.seconds),
                *metric_lines("reward_cases_in_flight", "Cases on their way.", len(self._in_flight), kind="gauge"),
            ]
            lines += ["# HELP fullbench_reward_unusable_total Rewards without a number.",
                      "# TYPE fullbench_reward_unusable_total counter"]  # fmt: skip
            lines += [
                f'fullbench_reward_unusable_total{{kind="{kind}"}} {counts.unusable[kind]}'
                for kind in (*FAULTS, "failed")
            ]
            if self.budget is not None:
                lines += metric_lines(
                    "reward_spent_dollars", "Dollars of this study.", self.budget.spent_dollars, kind="gauge"
                )
        return "\n".join(lines) + "\n"

    @property
    def cases_in_flight(self) -> int:
        """The number of cases on their way."""
        return len(self._in_flight)


def _problem_text(counts: JobCounts) -> str:
    """Return why cases of a job have no verdict, or "" if all have one."""
    if counts.stop_reason:
        return counts.stop_reason
    if counts.failures:
        return counts.failures.most_common(1)[0][0]
    return "its call failed for good in an earlier run" if counts.skipped_count else ""
