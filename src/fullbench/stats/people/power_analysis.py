"""How many votes are needed, before anybody is asked: the smallest difference that so many votes tell, and the reverse.

A vote alone has some variance; a judge whose rulings on all `pool` pairs explain the share `help` of it takes off as
much, but for what the voted pairs are of all pairs: variance / n * (1 - help * (1 - n / pool)). Miller 2024
(arXiv:2411.00640) has the reasoning for evaluations, `stats.people.prediction_powered` the correction itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


def _normal(share: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(share))


@dataclass(frozen=True)
class Votes:
    """What votes are worth for one figure: the variance that a single vote leaves, and the judge's help."""

    variance: float
    pool: int
    help: float = 0.0

    def __post_init__(self) -> None:
        if self.variance <= 0 or self.pool < 1 or not 0 <= self.help <= 1:
            raise ValueError("votes have a variance above 0, a pool of pairs, and a help from 0 to 1")

    @property
    def alone(self) -> Votes:
        """The same without the judge."""
        return Votes(self.variance, self.pool)

    def error(self, votes: float) -> float:
        """The standard error after so many votes.

        >>> round(Votes(100.0, 10_000, 0.36).error(100), 3), round(Votes(100.0, 10_000).error(100), 3)
        (0.802, 1.0)
        """
        return math.sqrt(self.variance / votes * (1 - self.help * max(0.0, 1 - votes / self.pool)))

    def half_width(self, votes: float, level: float = 0.95) -> float:
        """Half of the interval after so many votes."""
        return _normal((1 + level) / 2) * self.error(votes)

    def detectable(self, votes: float, power: float = 0.8, level: float = 0.95) -> float:
        """The smallest difference that so many votes tell apart with that power.

        >>> round(Votes(100.0, 10_000).detectable(100), 2)
        2.8
        """
        return (_normal((1 + level) / 2) + _normal(power)) * self.error(votes)

    def needed(self, error: float) -> int | None:
        """How many votes bring the standard error down to this; None where all pairs are not enough.

        >>> Votes(100.0, 10_000, 0.36).needed(1.0), Votes(100.0, 10_000).needed(1.0), Votes(100.0, 50).needed(1.0)
        (65, 100, None)
        """
        room = error**2 - self.variance * self.help / self.pool
        votes = math.inf if room <= 0 else self.variance * (1 - self.help) / room
        return None if votes > self.pool else max(1, math.ceil(votes - 1e-9))

    def to_width(self, half: float, level: float = 0.95) -> int | None:
        """How many votes bring half of the interval down to this."""
        return self.needed(half / _normal((1 + level) / 2))

    def to_tell(self, difference: float, power: float = 0.8, level: float = 0.95) -> int | None:
        """How many votes tell this difference apart with that power."""
        if not difference:
            return None
        return self.needed(abs(difference) / (_normal((1 + level) / 2) + _normal(power)))


def explained(votes: int, pool: int, alone: float, corrected: float) -> float:
    """The judge's help from variances that were seen after some votes: by the votes alone, and corrected.

    >>> round(explained(100, 10_000, 1.0, 0.6436), 2)
    0.36
    """
    if votes >= pool or alone <= 0:
        return 0.0
    return min(1.0, max(0.0, (1 - corrected / alone) / (1 - votes / pool)))
