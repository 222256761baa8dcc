"""Hearing: judges rule on cases, and the ledger keeps what they ruled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fullbench.core.cases import Case, Failure, Verdict
from fullbench.core.models import Judge
from fullbench.ledger.store import Ledger
from fullbench.runs.engine import Budget, Job, Key, Stop, Tally, Watch, work

Docket = Callable[[Judge], Iterable[Case]]
"""Gives the cases that a judge is to hear, the same ones in the same order each time."""


def hear(
    judges: Sequence[Judge],
    docket: Docket,
    ledger: Ledger,
    *,
    budget: Budget | None = None,
    stop: Stop | None = None,
    watch: Watch | None = None,
) -> list[Tally]:
    """Let every judge hear its docket. What the ledger holds already is not asked again."""
    return work([_job(judge, docket, ledger) for judge in judges], budget=budget, stop=stop, watch=watch)


def _job(judge: Judge, docket: Docket, ledger: Ledger) -> Job[Case]:
    def keep(outcome: Verdict | Failure) -> Key:
        ledger.add(outcome)
        return outcome.case, outcome.trial

    ledger.declare("judge", judge.name, judge.settings)
    return Job(
        name=judge.name,
        tasks=lambda: docket(judge),
        key=lambda case: (case.key, case.trial),
        known=lambda keys: ledger.heard(judge.name, keys),
        enter=lambda cases: ledger.add(*cases),
        ask=judge.hear,
        keep=keep,
        sole=lambda: ledger.sole(judge.name),
        flush=ledger.flush,
    )
