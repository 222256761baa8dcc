"""The result type of every statistic."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fullbench.errors import Undefined


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, its interval, and the number of observations behind it.

    `level` is the coverage the interval aims at, `method` names how it was made, `p` is a two-sided p-value where the
    statistic has one. Where the data cannot give an interval, `why` says so in a few words; both ends are the value.
    `units` is the number of independent units (items) behind the figure, None where it is not known. `one_sided`: only
    one end bounds the figure; `simultaneous`: the level holds for all figures of a family together; `corrected`: the
    figure was corrected for a judge's known errors, so that it is no plain mean of what was ruled.

    >>> print(Estimate(0.81, 0.772, 0.853, 412))
    0.810 [0.772, 0.853] n=412
    >>> print(Estimate.bare(5.0, 8, "one item"))
    5.000 [one item] n=8
    """

    value: float
    low: float
    high: float
    n: int
    level: float = 0.95
    method: str = ""
    p: float | None = None
    why: str = ""
    units: int | None = None
    one_sided: bool = False
    simultaneous: bool = False
    corrected: bool = False

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.value, self.low, self.high))):
            raise Undefined(f"an estimate must be finite; found {self.value} [{self.low}, {self.high}]")

    @classmethod
    def bare(cls, value: float, n: int, why: str) -> Estimate:
        """A figure without an interval, and why it has none."""
        return cls(value, value, value, n, why=why)

    def __str__(self) -> str:
        if self.why:
            return f"{self.value:.3f} [{self.why}] n={self.n}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] n={self.n}"
