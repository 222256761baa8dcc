"""Ratings with style taken out: Bradley-Terry with covariates, such as how much longer one response was."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints, Numbers, column, duels
from fullbench.stats.intervals.bootstrap import Labels
from fullbench.stats.ratings.match_counts import Battles
from fullbench.stats.ratings.match_graph import strong_components

# odds of ten thousand million: whatever moves so far has no maximum and would move for ever
_FAR = 23.0
_STEPS = 100
_CLOSE = 1e-9


@dataclass(frozen=True)
class Controlled:
    """Ratings as they would be with style alike, and what each covariate is worth.

    An effect is the change in log odds of winning for one unit of the covariate, by which the first of a pair exceeds
    the second.
    """

    estimates: tuple[Estimate, ...]
    effects: tuple[Estimate, ...]


def lead(first: Numbers, second: Numbers) -> Floats:
    """By how much the first exceeds the second, as a share of both, in units of the column's standard deviation.

    The covariate of Chatbot Arena's style control: (a - b) / (a + b), standardised; 0 where both are 0.

    >>> lead([30, 10, 20], [10, 30, 20]).round(2).tolist()
    [1.22, -1.22, 0.0]
    """
    firsts, seconds = column(first), column(second)
    both = firsts + seconds
    share = np.divide(firsts - seconds, both, out=np.zeros_like(both), where=both != 0)
    spread = float(share.std())
    return share / spread if spread > 0 else share


def style_controlled(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: Numbers,
    covariates: Sequence[Numbers],
    *,
    contestants: int = 0,
    cluster: Labels | None = None,
    level: float = 0.95,
    scale: float = 400.0,
    base: float = 10.0,
    centre: float = 1000.0,
) -> Controlled:
    """Maximum likelihood of strengths and effects together, with sandwich intervals (mean of the ratings at `centre`).

    Each covariate has one value a duel, for the first shown against the second. Everybody must be linked by wins both
    ways; a covariate that does not vary, or that strengths alone explain, is refused.

    >>> style = [[1, -1, 1, -0.5, 0.5, -1] * 9]
    >>> made = style_controlled([0, 0, 1, 1, 0, 1] * 9, [1, 1, 0, 0, 1, 0] * 9, [1, 0, 1, 0, 0, 1] * 9, style)
    >>> [round(rating.value) for rating in made.estimates], round(made.effects[0].value, 2)
    ([871, 1129], 1.89)
    """
    firsts, seconds, result, size = duels(first, second, outcome, contestants, shares=True)
    style = np.column_stack([column(covariate, "covariates") for covariate in covariates])
    if len(style) != len(firsts):
        raise ValueError(f"a covariate has one value a duel; found {len(style)} for {len(firsts)} duels")
    if (np.ptp(style, axis=0) == 0).any():
        raise Undefined(
            Note("undefined.a-covariate-does-not-vary", "a covariate does not vary, so its effect cannot be told")
        )
    groups = strong_components(Battles.of(firsts, seconds, result, contestants=size, shares=True).matrix())
    if len(groups) > 1:
        raise Undefined(
            Note(
                "undefined.no-common-scale-groups",
                "no common scale: wins link the {size} contestants into {n} groups",
                size=size,
                n=len(groups),
            )
        )
    fought = _Duels(firsts, seconds, result, style, size)
    here, spread = fought.solved(cluster)
    played = np.bincount(firsts, minlength=size) + np.bincount(seconds, minlength=size)
    return _shown(here, spread, played, len(firsts), level=level, factor=scale / math.log(base), centre=centre)


@dataclass(frozen=True)
class _Duels:
    first: Ints
    second: Ints
    result: Floats
    style: Floats
    size: int

    def solved(self, cluster: Labels | None) -> tuple[Floats, Floats]:
        """Strengths and then effects, and the standard error of each."""
        here = np.zeros(self.size + self.style.shape[1])
        for _ in range(_STEPS):
            surprise, gradient, bend = self.local(here)
            if np.abs(here).max() > _FAR or np.linalg.cond(bend) > 1e12:
                raise Undefined(
                    Note(
                        "undefined.style-decides-every-duel-or",
                        "style decides every duel, or who met whom explains it: its effect cannot be told",
                    )
                )
            step = np.linalg.solve(bend, gradient)
            longest = float(np.abs(step).max())
            here += step * min(1.0, 1.0 / max(longest, 1.0))
            here[: self.size] -= here[: self.size].mean()
            if longest < _CLOSE:
                bread: Floats = np.linalg.inv(bend).astype(np.float64)
                return here, self.errors(surprise, bread, cluster)
        raise Undefined(
            Note(
                "undefined.strengths-and-style-did-not",
                "strengths and style did not settle in {steps} steps",
                steps=_STEPS,
            )
        )

    def local(self, here: Floats) -> tuple[Floats, Floats, Floats]:
        """Surprises, gradient and curvature; the free shift of the strengths is held by adding 1/m."""
        first, second, size = self.first, self.second, self.size
        chance = 1 / (1 + np.exp(here[second] - here[first] - self.style @ here[size:]))
        surprise, weight = self.result - chance, chance * (1 - chance)
        gradient = np.concatenate([self.signed(surprise), self.style.T @ surprise])
        between = np.bincount(first * size + second, weight, size * size).reshape(size, size)
        between = between + between.T
        bend = np.zeros((len(here), len(here)))
        bend[:size, :size] = np.diag(between.sum(axis=1)) - between + 1 / size
        for place, part in enumerate(self.style.T, size):
            bend[:size, place] = bend[place, :size] = self.signed(weight * part)
        bend[size:, size:] = self.style.T @ (self.style * weight[:, None])
        return surprise, gradient, bend

    def signed(self, weight: Floats) -> Floats:
        """For each contestant, the sum of a weight where it is first less the sum where it is second."""
        signed = np.bincount(self.first, weight, self.size) - np.bincount(self.second, weight, self.size)
        return signed.astype(np.float64)

    def errors(self, surprise: Floats, bread: Floats, cluster: Labels | None) -> Floats:
        """Standard errors of the sandwich covariance, the mean strength held."""
        from scipy.sparse import coo_array

        count = len(self.first)
        owner = np.arange(count) if cluster is None else np.unique(np.asarray(cluster), return_inverse=True)[1]
        groups = int(owner.max()) + 1
        place = (np.concatenate([owner, owner]), np.concatenate([self.first, self.second]))
        scores = coo_array((np.concatenate([surprise, -surprise]), place), shape=(groups, self.size)).tocsr()
        extra = np.column_stack([np.bincount(owner, surprise * part, groups) for part in self.style.T])
        across = scores.T @ extra
        meat = np.block([[(scores.T @ scores).toarray(), across], [across.T, extra.T @ extra]])
        shift = np.eye(len(bread))
        shift[: self.size, : self.size] -= 1 / self.size
        half = shift @ bread
        spread: Floats = np.sqrt(np.clip(np.diag(half @ meat @ half.T), 0, None))
        return spread


def _shown(
    here: Floats, spread: Floats, played: Ints, n: int, *, level: float, factor: float, centre: float
) -> Controlled:
    from scipy.special import ndtri

    wide = float(ndtri((1 + level) / 2)) * spread

    def estimate(place: int, times: float, plus: float, count: int) -> Estimate:
        value, half = plus + times * float(here[place]), times * float(wide[place])
        return Estimate(value, value - half, value + half, count, level, "sandwich")

    size = len(played)
    ratings = tuple(estimate(place, factor, centre, int(duel_count)) for place, duel_count in enumerate(played))
    return Controlled(ratings, tuple(estimate(place, 1.0, 0.0, n) for place in range(size, len(here))))
