"""Choice of the next match: the information gain of each pair, and the number of matches still needed.

The information of a match between two contestants is p (1 - p) along the difference of their strengths. A weak prior
keeps newcomers finite. A rank-one update gives the variance reduction of a match before it is played.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats

SPREAD = 2.0
"""Prior standard deviation of log strengths."""
_STEPS = 100
# a width that needs more matches than this counts as unreachable
_MOST = 1 << 24


@dataclass(frozen=True)
class Design:
    """Current ratings: log strengths relative to their mean, and their covariance from matches and prior."""

    strengths: Floats
    covariance: Floats

    @classmethod
    def from_wins(cls, wins: Floats, spread: float = SPREAD) -> Design:
        """Build from a win matrix, ties as halves; contestants without a match have the prior's strength.

        >>> Design.from_wins(np.array([[0.0, 30.0], [10.0, 0.0]])).strengths.round(2).tolist()
        [0.54, -0.54]
        """
        matches, win_totals = wins + wins.T, wins.sum(axis=1)
        here, prior = np.zeros(len(wins)), 1 / spread**2
        for _ in range(_STEPS):
            chance = 1 / (1 + np.exp(here[None, :] - here[:, None]))
            bend = matches * chance * (1 - chance)
            information = np.diag(bend.sum(axis=1) + prior) - bend
            step = np.linalg.solve(information, win_totals - (matches * chance).sum(axis=1) - prior * here)
            here += np.clip(step, -1, 1)
            if float(np.abs(step).max()) < 1e-9:
                centring = np.eye(len(here)) - 1 / len(here)
                return cls(here - here.mean(), centring @ np.linalg.inv(information) @ centring)
        raise Undefined(Note("undefined.the-strengths-did-not-settle"))

    def _weight(self, first: int, second: int) -> float:
        chance = 1 / (1 + math.exp(self.strengths[second] - self.strengths[first]))
        return chance * (1 - chance)

    def gain(self, first: int, second: int, of: int | None = None) -> float:
        """Return how much a match of `first` and `second` lowers the variance of one strength, or the sum of all.

        >>> design = Design.from_wins(np.array([[0.0, 9.0, 0.0], [9.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
        >>> design.gain(0, 2) > 5 * design.gain(0, 1)
        True
        """
        across = self.covariance[:, first] - self.covariance[:, second]
        weight = self._weight(first, second)
        variance_drop = weight * across**2 / (1 + weight * float(across[first] - across[second]))
        return float(variance_drop.sum() if of is None else variance_drop[of])

    def after(self, first: int, second: int, matches: float = 1.0) -> Design:
        """Return the design after some more matches of a pair, whatever their outcome."""
        across = self.covariance[:, first] - self.covariance[:, second]
        weight = matches * self._weight(first, second)
        less = weight * np.outer(across, across) / (1 + weight * float(across[first] - across[second]))
        return Design(self.strengths, self.covariance - less)

    def width(self, who: int) -> float:
        """Return half of the 95 % interval of a rating, in points."""
        from scipy.special import ndtri

        points = 400.0 / math.log(10.0)
        return float(ndtri(0.975)) * points * math.sqrt(float(self.covariance[who, who]))

    def uniform_needed(self, who: int, opponents: list[int], width: float) -> int | None:
        """Return the number of matches against uniformly drawn opponents that reaches `width`, or None.

        >>> design = Design.from_wins(np.array([[0.0, 50.0, 0.0], [50.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
        >>> design.uniform_needed(2, [0, 1], 100.0)
        20
        """

        def is_narrow_enough(matches: float) -> bool:
            there = self
            for opponent in opponents:
                there = there.after(who, opponent, matches / len(opponents))
            return there.width(who) <= width

        if not opponents or not is_narrow_enough(_MOST):
            return None
        low, high = 0, 1
        while not is_narrow_enough(high):
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_narrow_enough(middle) else (middle, high)
        return high
