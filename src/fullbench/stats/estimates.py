"""The result type of every statistic, and what is raised where there is no result."""

from __future__ import annotations

import math
from dataclasses import dataclass


class Undefined(ValueError):
    """A figure that these numbers do not define: nothing observed, a constant column, too few clusters.

    Every statistic of this package either returns finite numbers or raises this, with one sentence that says why. No
    NaN leaves; a table shows `-` and the sentence.
    """


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
