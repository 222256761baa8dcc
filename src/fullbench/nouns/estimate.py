"""The result type of every statistic."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fullbench.errors import Undefined


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, its interval, and the number of observations behind it.

    `level` is the coverage the interval aims at, `method` names how it was made, `p` is a two-sided p-value where the
    statistic has one.

    >>> print(Estimate(0.81, 0.772, 0.853, 412))
    0.810 [0.772, 0.853] n=412
    """

    value: float
    low: float
    high: float
    n: int
    level: float = 0.95
    method: str = ""
    p: float | None = None

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.value, self.low, self.high))):
            raise Undefined(f"an estimate must be finite; found {self.value} [{self.low}, {self.high}]")

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] n={self.n}"
