"""Hearing: judges rule on cases, and the ledger keeps what they ruled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fullbench.ledger.store import Ledger
from fullbench.nouns.case import Case
from fullbench.nouns.judge import Judge
from fullbench.reading.nonces import nonce
from fullbench.studies import specs as named
from fullbench.studies.engines import HERE, Ask, Budget, Engine, Job, Stop, Tally, Watch, remade, wants_gpu, work
from fullbench.studies.engines.work import Key
from fullbench.studies.introducing import introduce

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
) -> list[Tally]:
    """Let every judge hear its docket. What the ledger holds already is not asked again.

    `specs` gives the spec of judges by their name: a worker of a cluster makes the judge from it, where it would
    otherwise be sent the judge itself.
    """
    jobs = [_job(judge, docket, ledger, (specs or {}).get(judge.name)) for judge in judges]
    return work(jobs, engine=engine, budget=budget, stop=stop, watch=watch)


@dataclass(frozen=True)
class _Recipe:
    """A judge for a worker elsewhere: its spec, or the judge itself where it has none."""

    name: str
    gpu: bool
    made: str | Judge

    def __call__(self) -> Ask:
        return remade(self.name, named.judge, self.made).hear


def _job(judge: Judge, docket: Docket, ledger: Ledger, spec: str | None) -> Job[Case]:
    notices = introduce(ledger, "judge", judge)
    salt = ledger.salt

    def marked(case: Case) -> Case:
        return case.marked(nonce(salt, case.key, case.trial)) if salt else case

    def known(keys: Sequence[Key]) -> set[Key]:
        """Those that were ruled on before, in whatever study: this one shares them from now on."""
        ruled = ledger.heard(judge.name, keys)
        ledger.join(key for key, _ in ruled)
        return ruled

    return Job(
        name=judge.name,
        tasks=lambda: docket(judge),
        key=lambda case: (case.key, case.trial),
        asked=marked,
        known=known,
        enter=lambda cases: ledger.add(*cases),
        ask=judge.hear,
        recipe=_Recipe(judge.name, wants_gpu(judge), spec or judge),
        settles=lambda outcome: (outcome.case, outcome.trial),
        keep=ledger.add,
        sole=lambda: ledger.sole(judge.name),
        flush=ledger.flush,
        notices=notices,
    )
