"""Power analysis of human votes: the smallest difference that n votes detect, and the votes needed for one.

A single vote has some variance. A judge whose verdicts on all `pool` pairs explain the share `help` of it reduces it,
except for the part of the pairs that were voted on: variance / n * (1 - help * (1 - n / pool)). See Miller 2024
(arXiv:2411.00640) for the reasoning, and `stats.people.prediction_powered` for the correction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MOST_VOTES = 10_000
"""Numbers of further votes beyond this are not shown: the two are as good as equal."""


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


@dataclass(frozen=True)
class PairVotes:
    """Votes on two contestants alone: what is known of their difference in log strength, and what each vote adds.

    `variance` is that of the difference now. `precision` is the weight of what is known in the ratings: 1 / `variance`
    if all votes were independent. `slope` is the weight of one vote, p (1 - p), and `spread` the variance of a vote.
    """

    variance: float
    precision: float
    slope: float
    spread: float

    def error(self, votes: float) -> float:
        """Return the standard error of the difference after this number of votes on the two.

        >>> now = PairVotes(0.09, 1 / 0.09, 0.25, 0.25)
        >>> round(now.error(0), 2), round(now.error(82), 2), round(PairVotes(0.09, 20, 0.25, 0.25).error(82), 2)
        (0.3, 0.18, 0.19)
        """
        added = votes * self.slope
        # Ratings weigh votes as if they were independent, so votes that share items weigh too much.
        known = self.precision**2 * self.variance + votes * self.spread
        return math.sqrt(known) / (self.precision + added)

    def further_votes(self, difference: float, *, quantile: float = 1.959964, power: float = 0.8) -> int | None:
        """Return how many votes separate the two with this power, or None beyond `MOST_VOTES`.

        `quantile` is the number of standard errors that separate two contestants. The difference is taken to be true.

        >>> now = PairVotes(0.09, 1 / 0.09, 0.25, 0.25)
        >>> now.further_votes(0.5), now.further_votes(0.01)
        (82, None)
        """
        target = abs(difference) / (quantile + _normal_quantile(power))
        if not target or self.error(MOST_VOTES) > target:
            return None
        # The error falls with votes from its largest value on, so halving finds the first number below the target.
        low, high = 0, MOST_VOTES
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.error(middle) <= target else (middle, high)
        return high
