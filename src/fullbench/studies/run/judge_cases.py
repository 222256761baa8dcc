"""Let judges judge cases, and store the verdicts in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from fullbench.core.case import Case
from fullbench.core.judge import Judge, models_of
from fullbench.core.verdict import Circumstances, Failure, Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.parsing.random_check_codes import nonce_of
from fullbench.studies import judge_and_model_specs
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
from fullbench.studies.run.cost_forecast import limits_of

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
) -> list[JobCounts]:
    """Let every judge judge its cases, except stored verdicts and permanent failures.

    A judge that calls a server and has only unusable verdicts and failures is stopped; the others continue.

    Args:
        specs: specs of judges by name. A cluster worker builds the judge from its spec; without one it gets a pickle.
        circumstances_by_case: deliberate changes to cases, by case key. They are stored with the verdicts.
    """
    with ledger.request_locks([judge.name for judge in judges]):
        jobs = [
            _JudgingJob(judge, cases_to_judge, ledger, (specs or {}).get(judge.name), circumstances_by_case or {})
            for judge in judges
        ]
        job_counts = run_all_jobs(jobs, engine=engine, budget=budget, stop=stop, watch=watch, retry_policy=retry_policy)
    model_names = {judge.name: models[0].name for judge in judges if (models := models_of(judge))}
    for counts in job_counts:
        counts.model = model_names.get(counts.name, "")
    return job_counts


class _JudgingJob(Job):
    """Work of a judge on its cases."""

    role = "judge"
    from_spec = staticmethod(judge_and_model_specs.judge_from_spec)

    def __init__(
        self,
        judge: Judge,
        cases_to_judge: CasesToJudge,
        ledger: Ledger,
        spec: str | None,
        circumstances_by_case: Mapping[str, Circumstances],
    ) -> None:
        super().__init__(judge, ledger, spec)
        self._judge, self._cases_to_judge = judge, cases_to_judge
        self._circumstances_by_case = circumstances_by_case
        self._salt = ledger.salt

    @staticmethod
    def call(judge: Judge, cases: Iterable[Case]) -> Iterator[Verdict | Failure]:
        return judge.judge(cases)

    def tasks(self) -> Iterable[Case]:
        return self._cases_to_judge(self._judge)

    def key(self, case: Case) -> Key:
        return case.key, case.trial

    def prepare_task(self, case: Case) -> Case:
        return case.with_nonce(nonce_of(self._salt, case.key, case.trial)) if self._salt else case

    def stored_keys(self, keys: Sequence[Key]) -> set[Key]:
        judged_keys = self.ledger.judged_keys(self.name, keys)
        self.ledger.join(key for key, _ in judged_keys)
        return judged_keys

    def enter(self, cases: Sequence[Case]) -> None:
        self.ledger.add(*cases)

    def keep(self, outcome: Verdict | Failure) -> None:
        if isinstance(outcome, Verdict) and outcome.case in self._circumstances_by_case:
            outcome = replace(outcome, circumstances=self._circumstances_by_case[outcome.case])
        self.ledger.add(outcome)

    @cached_property
    def has_succeeded(self) -> bool:
        # Useless calls cost something only if the model is behind a server.
        is_served = any(limits_of(model) is not None for model in models_of(self._judge) or ())
        return not is_served or self.ledger.has_judged(self.name)
