"""Style-controlled ratings: Bradley-Terry with covariates, such as the relative length of a response."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints, Numbers, finite_column, match_arrays
from fullbench.stats.intervals.bootstrap_and_jackknife import Labels
from fullbench.stats.intervals.normal_and_t_quantiles import student_quantile
from fullbench.stats.ratings.match_counts import MatchCounts
from fullbench.stats.ratings.match_graph import strong_components

# odds of 10^10 to 1: a parameter beyond this has no finite maximum
_FAR = 23.0
_STEPS = 100
_CLOSE = 1e-9


@dataclass(frozen=True)
class StyleControlledRatings:
    """Ratings for equal style, and the change in log odds per unit of each covariate (first minus second)."""

    estimates: tuple[Estimate, ...]
    effects: tuple[Estimate, ...]


def relative_lead(first: Numbers, second: Numbers) -> Floats:
    """Return (first - second) / (first + second) in units of its standard deviation; 0 if both are 0.

    This is the covariate of Chatbot Arena's style control.

    >>> relative_lead([30, 10, 20], [10, 30, 20]).round(2).tolist()
    [1.22, -1.22, 0.0]
    """
    firsts, seconds = finite_column(first), finite_column(second)
    both = firsts + seconds
    share = np.divide(firsts - seconds, both, out=np.zeros_like(both), where=both != 0)
    spread = float(share.std())
    return share / spread if spread > 0 else share


def rate_with_style_control(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    outcome: Numbers,
    covariates: Sequence[Numbers],
    *,
    cluster: Labels | None = None,
) -> StyleControlledRatings:
    """Fit strengths and effects together by maximum likelihood, with sandwich intervals and Student's quantile.

    The mean of the ratings is 1000. Each covariate has one value per match, for the first shown against the
    second. All contestants must be linked by wins both ways. A covariate that does not vary, or that strengths alone
    explain, is refused.

    >>> style = [[1, -1, 1, -0.5, 0.5, -1] * 9]
    >>> made = rate_with_style_control([0, 0, 1, 1, 0, 1] * 9, [1, 1, 0, 0, 1, 0] * 9, [1, 0, 1, 0, 0, 1] * 9, style)
    >>> [round(rating.value) for rating in made.estimates], round(made.effects[0].value, 2)
    ([871, 1129], 1.89)
    """
    firsts, seconds, result, size = match_arrays(first, second, outcome, shares=True)
    style = np.column_stack([finite_column(covariate, "covariates") for covariate in covariates])
    if len(style) != len(firsts):
        raise ValueError(f"a covariate has one value a match; found {len(style)} for {len(firsts)} matches")
    if (np.ptp(style, axis=0) == 0).any():
        raise Undefined(Note("undefined.a-covariate-does-not-vary"))
    groups = strong_components(MatchCounts.from_rows(firsts, seconds, result, contestants=size, shares=True).matrix())
    if len(groups) > 1:
        raise Undefined(Note("undefined.no-common-scale-groups", size=size, n=len(groups)))
    matches = _StyledMatches(firsts, seconds, result, style, size)
    here, wide = matches.solve_effects(cluster)
    matches_played = np.bincount(firsts, minlength=size) + np.bincount(seconds, minlength=size)
    return _to_ratings(here, wide, matches_played, len(firsts))


@dataclass(frozen=True)
class _StyledMatches:
    first: Ints
    second: Ints
    result: Floats
    style: Floats
    size: int

    def solve_effects(self, cluster: Labels | None) -> tuple[Floats, Floats]:
        here = np.zeros(self.size + self.style.shape[1])
        for _ in range(_STEPS):
            surprise, gradient, bend = self.local_slopes(here)
            if np.abs(here).max() > _FAR or np.linalg.cond(bend) > 1e12:
                raise Undefined(Note("undefined.style-decides-every-match-or"))
            step = np.linalg.solve(bend, gradient)
            longest = float(np.abs(step).max())
            here += step * min(1.0, 1.0 / max(longest, 1.0))
            here[: self.size] -= here[: self.size].mean()
            if longest < _CLOSE:
                bread: Floats = np.linalg.inv(bend).astype(np.float64)
                return here, self.half_widths(surprise, bread, cluster)
        raise Undefined(Note("undefined.strengths-and-style-did-not", steps=_STEPS))

    def local_slopes(self, here: Floats) -> tuple[Floats, Floats, Floats]:
        """Residuals, gradient and curvature; adding 1/m fixes the free shift of the strengths."""
        first, second, size = self.first, self.second, self.size
        chance = 1 / (1 + np.exp(here[second] - here[first] - self.style @ here[size:]))
        surprise, weight = self.result - chance, chance * (1 - chance)
        gradient = np.concatenate([self.signed_sums(surprise), self.style.T @ surprise])
        pair_weights = np.bincount(first * size + second, weight, size * size).reshape(size, size)
        pair_weights = pair_weights + pair_weights.T
        bend = np.zeros((len(here), len(here)))
        bend[:size, :size] = np.diag(pair_weights.sum(axis=1)) - pair_weights + 1 / size
        for place, part in enumerate(self.style.T, size):
            bend[:size, place] = bend[place, :size] = self.signed_sums(weight * part)
        bend[size:, size:] = self.style.T @ (self.style * weight[:, None])
        return surprise, gradient, bend

    def signed_sums(self, weight: Floats) -> Floats:
        sums = np.bincount(self.first, weight, self.size) - np.bincount(self.second, weight, self.size)
        return sums.astype(np.float64)

    def half_widths(self, surprise: Floats, bread: Floats, cluster: Labels | None) -> Floats:
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
        # Fitted effects pull residuals towards zero: with few items, the plain sandwich is too small.
        parameters = self.style.shape[1] + 1
        if groups <= parameters:
            raise Undefined(Note("undefined.too-few-items-for-style", n=groups, effects=self.style.shape[1]))
        few = groups / (groups - parameters)
        spread: Floats = np.sqrt(few * np.clip(np.diag(half @ meat @ half.T), 0, None))
        return spread * student_quantile(groups - 1, 0.975)


def _to_ratings(here: Floats, wide: Floats, matches_played: Ints, n: int) -> StyleControlledRatings:
    def estimate(place: int, times: float, plus: float, count: int) -> Estimate:
        value, half = plus + times * float(here[place]), times * float(wide[place])
        return Estimate(value, value - half, value + half, count, 0.95, "sandwich")

    size = len(matches_played)
    factor = 400.0 / math.log(10.0)
    ratings = tuple(estimate(place, factor, 1000.0, int(count)) for place, count in enumerate(matches_played))
    return StyleControlledRatings(ratings, tuple(estimate(place, 1.0, 0.0, n) for place in range(size, len(here))))
