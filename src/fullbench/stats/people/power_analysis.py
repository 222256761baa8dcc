"""Power analysis of human votes: the smallest difference that n votes detect, and the votes needed for one.

A single vote has some variance. A judge whose verdicts on all `pool` pairs explain the share `help` of it reduces it,
except for the part of the pairs that were voted on: variance / n * (1 - help * (1 - n / pool)). See Miller 2024
(arXiv:2411.00640) for the reasoning, and `stats.people.prediction_powered` for the correction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


def _normal_quantile(share: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(share))


@dataclass(frozen=True)
class Votes:
    """Information of votes for one metric: the variance of a single vote, and the share explained by the judge."""

    variance: float
    pool: int
    help: float = 0.0

    def __post_init__(self) -> None:
        if self.variance <= 0 or self.pool < 1 or not 0 <= self.help <= 1:
            raise ValueError("votes have a variance above 0, a pool of pairs, and a help from 0 to 1")

    @property
    def alone(self) -> Votes:
        """Return the same without the judge."""
        return Votes(self.variance, self.pool)

    def error(self, votes: float) -> float:
        """Return the standard error after this number of votes.

        >>> round(Votes(100.0, 10_000, 0.36).error(100), 3), round(Votes(100.0, 10_000).error(100), 3)
        (0.802, 1.0)
        """
        return math.sqrt(self.variance / votes * (1 - self.help * max(0.0, 1 - votes / self.pool)))

    def half_width(self, votes: float, level: float = 0.95) -> float:
        """Return half of the interval after this number of votes."""
        return _normal_quantile((1 + level) / 2) * self.error(votes)

    def detectable(self, votes: float, power: float = 0.8, level: float = 0.95) -> float:
        """Return the smallest difference that this number of votes detects with this power.

        >>> round(Votes(100.0, 10_000).detectable(100), 2)
        2.8
        """
        return (_normal_quantile((1 + level) / 2) + _normal_quantile(power)) * self.error(votes)

    def votes_needed(self, error: float) -> int | None:
        """Return the number of votes that reaches this standard error, or None if all pairs are not enough.

        >>> (Votes(100.0, 10_000, 0.36).votes_needed(1.0), Votes(100.0, 10_000).votes_needed(1.0),
        ...  Votes(100.0, 50).votes_needed(1.0))
        (65, 100, None)
        """
        room = error**2 - self.variance * self.help / self.pool
        votes = math.inf if room <= 0 else self.variance * (1 - self.help) / room
        return None if votes > self.pool else max(1, math.ceil(votes - 1e-9))

    def votes_for_width(self, half: float, level: float = 0.95) -> int | None:
        """Return the number of votes that reaches this half width of the interval, or None."""
        return self.votes_needed(half / _normal_quantile((1 + level) / 2))

    def votes_to_detect(self, difference: float, power: float = 0.8, level: float = 0.95) -> int | None:
        """Return the number of votes that detects this difference with this power, or None."""
        if not difference:
            return None
        return self.votes_needed(abs(difference) / (_normal_quantile((1 + level) / 2) + _normal_quantile(power)))


def explained_share(votes: int, pool: int, vote_variance: float, corrected_variance: float) -> float:
    """Return the share explained by the judge, from the variances of votes alone and of corrected ones.

    >>> round(explained_share(100, 10_000, 1.0, 0.6436), 2)
    0.36
    """
    if votes >= pool or vote_variance <= 0:
        return 0.0
    return min(1.0, max(0.0, (1 - corrected_variance / vote_variance) / (1 - votes / pool)))
