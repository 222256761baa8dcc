"""Options of a run, shared by all study kinds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict

from fullbench.studies.engines import DEFAULT_RETRY_POLICY, HERE, Engine, RetryPolicy, Stop


@dataclass(frozen=True)
class RunOptions:
    """Engine, budget, stop flag, retry policy and output options of a run.

    `spent_dollars` is the cost of earlier runs of the study, if the budget covers all of them. Without `with_texts`,
    tables of a user's own data are built from columns, and verdict texts are not loaded.
    """

    engine: Engine = HERE
    budget: float | None = None
    spent_dollars: float = 0.0
    stop: Stop = field(default_factory=Stop)
    retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY
    quiet: bool = False
    with_texts: bool = True


class RunOptionsByName(TypedDict, total=False):
    """The same options as optional keywords: `judging_study_kind.execute(ledger, budget=5.0, quiet=True)`."""

    engine: Engine
    budget: float | None
    spent_dollars: float
    stop: Stop
    retry_policy: RetryPolicy
    quiet: bool
    with_texts: bool
