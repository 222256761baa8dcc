"""`Estimate`: the result type of every statistic."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fullbench.errors import Undefined


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value, its interval, and the number of observations behind it.

    `level` is the nominal coverage, `method` names the kind of interval, `p` is a two-sided p-value if the statistic
    has one. If the data give no interval, `why` has the reason in a few words, and both ends are the value. `units` is
    the number of independent units (items), or None if unknown. `one_sided`: only one end is a bound. `simultaneous`:
    the level holds for all values of a family together. `corrected`: the value was corrected for a judge's known
    errors, so it is not a plain mean of verdicts.

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
        """Return a value without an interval.

        Args:
            value: The value.
            n: Number of observations.
            why: Why there is no interval.
        """
        return cls(value, value, value, n, why=why)

    def __str__(self) -> str:
        if self.why:
            return f"{self.value:.3f} [{self.why}] n={self.n}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] n={self.n}"
