"""Which match to play next: how much one more of each pair would narrow the ratings, and when it is enough.

The information of a match between two contestants is p (1 - p) along the difference of their strengths; a weak prior
keeps newcomers finite. What a match would take off a variance follows from one rank-one update, before it is played.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats

SPREAD = 2.0
"""The standard deviation of log strengths that the prior believes in."""
_STEPS = 100
# more matches than this are not promised: the width wanted counts as out of reach
_MOST = 1 << 24


@dataclass(frozen=True)
class Design:
    """Where the ratings stand: log strengths from their mean, and the covariance that matches and prior leave."""

    strengths: Floats
    covariance: Floats

    @classmethod
    def of(cls, wins: Floats, spread: float = SPREAD) -> Design:
        """From a win matrix, ties as halves; contestants without a match are as strong as the prior says.

        >>> Design.of(np.array([[0.0, 30.0], [10.0, 0.0]])).strengths.round(2).tolist()
        [0.54, -0.54]
        """
        matches, won = wins + wins.T, wins.sum(axis=1)
        here, prior = np.zeros(len(wins)), 1 / spread**2
        for _ in range(_STEPS):
            chance = 1 / (1 + np.exp(here[None, :] - here[:, None]))
            bend = matches * chance * (1 - chance)
            information = np.diag(bend.sum(axis=1) + prior) - bend
            step = np.linalg.solve(information, won - (matches * chance).sum(axis=1) - prior * here)
            here += np.clip(step, -1, 1)
            if float(np.abs(step).max()) < 1e-9:
                centred = np.eye(len(here)) - 1 / len(here)
                return cls(here - here.mean(), centred @ np.linalg.inv(information) @ centred)
        raise Undefined(
            Note("undefined.the-strengths-did-not-settle", "the strengths did not settle: wins are too one-sided")
        )

    def _weight(self, first: int, second: int) -> float:
        chance = 1 / (1 + math.exp(self.strengths[second] - self.strengths[first]))
        return chance * (1 - chance)

    def gain(self, first: int, second: int, of: int | None = None) -> float:
        """By how much a match of `first` and `second` lowers the variance of one strength, or the sum of all.

        >>> design = Design.of(np.array([[0.0, 9.0, 0.0], [9.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
        >>> design.gain(0, 2) > 5 * design.gain(0, 1)
        True
        """
        across = self.covariance[:, first] - self.covariance[:, second]
        weight = self._weight(first, second)
        taken = weight * across**2 / (1 + weight * float(across[first] - across[second]))
        return float(taken.sum() if of is None else taken[of])

    def after(self, first: int, second: int, matches: float = 1.0) -> Design:
        """Where the ratings would stand after some more matches of a pair, whatever their outcome."""
        across = self.covariance[:, first] - self.covariance[:, second]
        weight = matches * self._weight(first, second)
        less = weight * np.outer(across, across) / (1 + weight * float(across[first] - across[second]))
        return Design(self.strengths, self.covariance - less)

    def width(self, who: int, *, level: float = 0.95, scale: float = 400.0, base: float = 10.0) -> float:
        """Half of the interval of a rating, in points."""
        from scipy.special import ndtri

        points = scale / math.log(base)
        return float(ndtri((1 + level) / 2)) * points * math.sqrt(float(self.covariance[who, who]))

    def uniform_needed(self, who: int, opponents: list[int], width: float) -> int | None:
        """How many matches against opponents drawn uniformly would bring `who` to a width; None where none would.

        >>> design = Design.of(np.array([[0.0, 50.0, 0.0], [50.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
        >>> design.uniform_needed(2, [0, 1], 100.0)
        20
        """

        def reached(matches: float) -> bool:
            there = self
            for opponent in opponents:
                there = there.after(who, opponent, matches / len(opponents))
            return there.width(who) <= width

        if not opponents or not reached(_MOST):
            return None
        low, high = 0, 1
        while not reached(high):
            low, high = high, high * 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high
