"""Speed, as ratios against peers measured in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One comparison: our figure beside another's, and ours divided by theirs."""

    what: str
    ours: float
    other: float
    other_name: str
    ratio: float
    unit: str

    @classmethod
    def of(cls, what: str, ours: float, other: float, other_name: str, unit: str) -> Row:
        return cls(what, ours, other, other_name, ours / other if other else float("inf"), unit)

    def __str__(self) -> str:
        theirs = f"{self.other_name} {self.other:,.6g}"
        return f"{self.what:<52} {self.ours:>12,.6g} {self.unit:<8} {theirs:<34} ratio {self.ratio:.3g}"


def cpu(work: Callable[[], object], times: int = 1) -> float:
    """CPU seconds, the least of some runs: on a busy machine waiting threads of the linear algebra burn CPU too."""
    found = []
    for _ in range(times):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)
