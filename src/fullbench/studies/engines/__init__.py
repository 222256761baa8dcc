"""Engines: run the calls of a study on this machine or on a Ray cluster."""

from fullbench.studies.engines.engine_specs import engine_from_spec
from fullbench.studies.engines.interrupt_handling import SIGNAL_EXIT_CODES, Stop
from fullbench.studies.engines.job_runner_with_ledger_storage import (
    DEFAULT_RETRY_POLICY,
    HERE,
    LOOKUP,
    Engine,
    JobCounts,
    RetryPolicy,
    StagedWatch,
    Watch,
    run_all_jobs,
)
from fullbench.studies.engines.judge_or_contestant_job_and_recipe import (
    Job,
    Key,
    rebuild_from_spec,
    register_in_ledger,
    wants_gpu,
)
from fullbench.studies.engines.run_budget import Budget

__all__ = [
    "DEFAULT_RETRY_POLICY",
    "HERE",
    "LOOKUP",
    "SIGNAL_EXIT_CODES",
    "Budget",
    "Engine",
    "Job",
    "JobCounts",
    "Key",
    "RetryPolicy",
    "StagedWatch",
    "Stop",
    "Watch",
    "engine_from_spec",
    "rebuild_from_spec",
    "register_in_ledger",
    "run_all_jobs",
    "wants_gpu",
]
