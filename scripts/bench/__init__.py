"""Speed, as ratios against peers measured in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Target:
    """What a row should reach: so much at most, or at least, of our own figure or of the ratio."""

    limit: float
    of: Literal["ours", "ratio"] = "ratio"
    least: bool = False

    def met(self, row: Row) -> bool:
        found = row.ours if self.of == "ours" else row.ratio
        return found >= self.limit if self.least else found <= self.limit

    def __str__(self) -> str:
        times = " times" if self.of == "ratio" else ""
        return f"{'>=' if self.least else '<='} {self.limit:g}{times}"


@dataclass(frozen=True)
class Row:
    """One comparison: our figure beside another's, and ours divided by theirs.

    `more` says that more is better (pictures a second); otherwise less is (milliseconds).
    """

    what: str
    ours: float
    other: float
    other_name: str
    ratio: float
    unit: str
    target: Target | None = None
    more: bool = False

    @classmethod
    def of(
        cls, what: str, ours: float, other: float, other_name: str, unit: str,
        *, target: Target | None = None, more: bool = False,
    ) -> Row:  # fmt: skip
        ratio = ours / other if other else float("inf")
        return cls(what, ours, other, other_name, ratio, unit, target, more or unit.lstrip("1") == "/s")

    @property
    def name(self) -> str:
        """What tells a row from others of its part."""
        return f"{self.what} | {self.other_name}"


def cpu(work: Callable[[], object], times: int = 1) -> float:
    """CPU seconds, the least of some runs: on a busy machine waiting threads of the linear algebra burn CPU too."""
    found = []
    for _ in range(times):
        started = time.process_time()
        work()
        found.append(time.process_time() - started)
    return min(found)


def per_second(work: Callable[[], object], count: int, times: int = 2) -> float:
    """The best of some runs, each timed whole."""
    best = 0.0
    for _ in range(times):
        started = time.perf_counter()
        work()
        best = max(best, count / (time.perf_counter() - started))
    return best
