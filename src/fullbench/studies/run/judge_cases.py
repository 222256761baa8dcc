"""Hearing: judges rule on cases, and the ledger keeps what they ruled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from fullbench.core.case import Case
from fullbench.core.judge import Judge, models_of
from fullbench.core.verdict import Circumstances, Failure, Verdict
from fullbench.ledger.ledger import Ledger
from fullbench.parsing.check_code import nonce_of
from fullbench.studies import judge_and_model_specs as named
from fullbench.studies.engines import (
    HERE,
    USUAL,
    Ask,
    Budget,
    Engine,
    Insistence,
    Job,
    Key,
    Stop,
    Tally,
    Watch,
    remade,
    wants_gpu,
    work,
)
from fullbench.studies.run.cost_forecast import limits_of
from fullbench.studies.run.declare_in_ledger import introduce

Docket = Callable[[Judge], Iterable[Case]]
"""Gives the cases that a judge is to hear, the same ones in the same order each time."""


def hear(
    judges: Sequence[Judge],
    docket: Docket,
    ledger: Ledger,
    *,
    engine: Engine = HERE,
    specs: Mapping[str, str] | None = None,
    budget: Budget | None = None,
    stop: Stop | None = None,
    watch: Watch | None = None,
    insist: Insistence = USUAL,
    marked: Mapping[str, Circumstances] | None = None,
) -> list[Tally]:
    """Let every judge hear its docket. What the ledger holds already is not asked again, nor what failed for good.

    A judge that asks a server and has only brought faults and failures is stopped alone. `specs` gives the spec of
    judges by their name: a worker of a cluster makes the judge from it, where it would otherwise be sent the judge
    itself. `marked` says by the keys of cases what was changed in them on purpose; it is kept with their verdicts.
    """
    with ledger.sole_soon([judge.name for judge in judges]):
        jobs = [_job(judge, docket, ledger, (specs or {}).get(judge.name), marked or {}) for judge in judges]
        tallies = work(jobs, engine=engine, budget=budget, stop=stop, watch=watch, insist=insist)
    asked = {judge.name: models[0].name for judge in judges if (models := models_of(judge))}
    for tally in tallies:
        tally.model = asked.get(tally.name, "")
    return tallies


@dataclass(frozen=True)
class _Recipe:
    """A judge for a worker elsewhere: its spec, or the judge itself where it has none."""

    name: str
    gpu: bool
    made: str | Judge

    def __call__(self) -> Ask:
        return remade(self.name, named.judge, self.made).hear


def _served(judge: Judge) -> bool:
    """Whether a judge asks a model behind a server, so that asking in vain costs something."""
    return any(limits_of(model) is not None for model in models_of(judge) or ())


def _job(
    judge: Judge, docket: Docket, ledger: Ledger, spec: str | None, marked: Mapping[str, Circumstances]
) -> Job[Case]:
    notices = introduce(ledger, "judge", judge)
    salt = ledger.salt

    def with_nonce(case: Case) -> Case:
        return case.with_nonce(nonce_of(salt, case.key, case.trial)) if salt else case

    def known(keys: Sequence[Key]) -> set[Key]:
        """Those that were ruled on before, in whatever study: this one shares them from now on."""
        ruled = ledger.heard(judge.name, keys)
        ledger.join(key for key, _ in ruled)
        return ruled

    def keep(*outcomes: Verdict | Failure) -> None:
        ledger.add(*(_marked(outcome, marked) for outcome in outcomes))

    return Job(
        name=judge.name,
        tasks=lambda: docket(judge),
        key=lambda case: (case.key, case.trial),
        asked=with_nonce,
        known=known,
        enter=lambda cases: ledger.add(*cases),
        ask=judge.hear,
        recipe=_Recipe(judge.name, wants_gpu(judge), spec or judge),
        settles=lambda outcome: (outcome.case, outcome.trial),
        keep=keep if marked else ledger.add,
        sole=lambda: ledger.sole(judge.name),
        flush=ledger.flush,
        notices=notices,
        failed_for_good=lambda: ledger.failed_for_good(judge.name),
        proven=cache(lambda: not _served(judge) or ledger.has_ruled(judge.name)),
    )


def _marked(outcome: Verdict | Failure, marked: Mapping[str, Circumstances]) -> Verdict | Failure:
    """A verdict with what was changed in its case on purpose."""
    if isinstance(outcome, Verdict) and outcome.case in marked:
        return replace(outcome, circumstances=marked[outcome.case])
    return outcome
