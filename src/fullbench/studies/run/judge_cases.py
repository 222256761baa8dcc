"""Let judges judge cases, and store the verdicts in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import filterfalse

from fullbench.core.case import Case
from fullbench.core.dialogue_turn_answers_and_criteria import case_as_shown
from fullbench.core.judge import Judge, models_of
from fullbench.core.verdict import Circumstances, Failure, Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.parsing.random_check_codes import nonce_of
from fullbench.studies import judge_contestant_and_benchmark_specs
from fullbench.studies.engines import (
    DEFAULT_RETRY_POLICY,
    HERE,
    Budget,
    Engine,
    Job,
    JobCounts,
    Key,
    RetryPolicy,
    Stop,
    Watch,
    run_all_jobs,
)
from fullbench.studies.engines.job_runner_with_ledger_storage import LOOKUP
from fullbench.studies.run.call_cost_and_time_forecast import limits_of
from fullbench.studies.run.own_answers_of_judges import OwnAnswers, collect_own_answers

CasesToJudge = Callable[[Judge], Iterable[Case]]
"""Returns the cases of a judge, always the same ones in the same order."""


def judge_cases(
    judges: Sequence[Judge],
    cases_to_judge: CasesToJudge,
    ledger: Ledger,
    *,
    engine: Engine = HERE,
    specs: Mapping[str, str] | None = None,
    budget: Budget | None = None,
    stop: Stop | None = None,
    watch: Watch | None = None,
    retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY,
    circumstances_by_case: Mapping[str, Circumstances] | None = None,
    holds_locks: bool = False,
) -> list[JobCounts]:
    """Let every judge judge its cases, except stored verdicts and permanent failures.

    A judge that calls a server and has only unusable verdicts and failures is stopped; the others continue. Judges that
    answer first give their own answers before that; the counts of these calls come last.

    Args:
        specs: specs of judges by name. A cluster worker builds the judge from its spec; without one it gets a pickle.
        circumstances_by_case: deliberate changes to cases, by case key. They are stored with the verdicts.
        holds_locks: the caller holds the judges' locks, for several calls at once with different cases.
    """
    stop = stop or Stop()
    own_answers, answer_counts = collect_own_answers(
        judges, cases_to_judge, ledger, engine=engine, budget=budget, stop=stop, watch=watch, retry_policy=retry_policy
    )
    with ledger.request_locks([] if holds_locks else [judge.name for judge in judges]):
        jobs = [
            _JudgingJob(
                judge, cases_to_judge, ledger, (specs or {}).get(judge.name), circumstances_by_case or {},
                own_answers=own_answers.get(judge.name, OwnAnswers()),
            )
            for judge in judges
        ]  # fmt: skip
        for job in jobs:
            job.is_locked_by_caller = holds_locks
        job_counts = run_all_jobs(jobs, engine=engine, budget=budget, stop=stop, watch=watch, retry_policy=retry_policy)
    model_names = {judge.name: models[0].name for judge in judges if (models := models_of(judge))}
    for job, counts in zip(jobs, job_counts, strict=True):
        counts.model = model_names.get(counts.name, "")
        counts.has_no_usable_verdict = (
            counts.finished_count + counts.stored_count > 0
            and counts.faults.total() == counts.finished_count
            and not job.has_stored_usable_verdict(counts.stored_count)
        )
    return [*job_counts, *answer_counts]


class _JudgingJob(Job):
    """Work of a judge on its cases."""

    role = "judge"
    from_spec = staticmethod(judge_contestant_and_benchmark_specs.judge_from_spec)

    def __init__(
        self,
        judge: Judge,
        cases_to_judge: CasesToJudge,
        ledger: Ledger,
        spec: str | None,
        circumstances_by_case: Mapping[str, Circumstances],
        *,
        own_answers: OwnAnswers,
    ) -> None:
        super().__init__(judge, ledger, spec)
        self._own_answers = own_answers
        self._judge, self._cases_to_judge = judge, cases_to_judge
        self._circumstances_by_case = circumstances_by_case
        self._salt = ledger.salt
        self._stored_cases: set[str] = set()

    @staticmethod
    def call(judge: Judge, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        return judge.judge(cases)

    def tasks(self) -> Iterable[Case]:
        cases = self._cases_to_judge(self._judge)
        return filterfalse(self._own_answers.is_open, cases) if self._own_answers.requests else cases

    def key(self, case: Case) -> Key:
        return case.key, case.trial

    def prepare_task(self, case: Case) -> Case:
        # The request for an own answer is that of the case as shown, so the answer is found before the case is cut.
        case = case_as_shown(self._own_answers.add_to(case), with_earlier=models_of(self._judge) != ())
        return case.with_nonce(nonce_of(self._salt, case.key, case.trial)) if self._salt else case

    def stored_keys(self, keys: Sequence[Key]) -> set[Key]:
        judged_keys = self.ledger.judged_keys(self.name, keys)
        self.ledger.join(key for key, _ in judged_keys)
        if len(self._stored_cases) < LOOKUP:
            self._stored_cases.update(key for key, _ in judged_keys)
        return judged_keys

    def has_stored_usable_verdict(self, stored_count: int) -> bool:
        """Return True if a stored verdict of this run is usable.

        Only the first stored cases are remembered. With more of them, any usable verdict of the judge counts.
        """
        if not stored_count:
            return False
        knows_all = len(self._stored_cases) < LOOKUP
        return self.ledger.has_judged(self.name, self._stored_cases if knows_all else None)

    def enter(self, cases: Sequence[Case]) -> None:
        self.ledger.add(*cases)

    def keep(self, outcome: Verdict | Failure) -> None:
        if isinstance(outcome, Verdict) and outcome.case in self._circumstances_by_case:
            outcome = replace(outcome, circumstances=self._circumstances_by_case[outcome.case])
        self.ledger.add(outcome)

    @cached_property
    def has_succeeded(self) -> bool:
        # Useless calls cost something only if the model is behind a server, or is not known.
        models = models_of(self._judge)
        may_cost = models is None or any(limits_of(model) is not None for model in models)
        return not may_cost or self.ledger.has_judged(self.name)
