"""Length-controlled win rates against a reference: the win rate that equally long responses would have.

AlpacaEval's model (Dubois, Galambosi, Liang and Hashimoto 2024, arXiv:2404.04475): a logistic regression of the share
that a contestant wins against the reference, on the contestant, on tanh of the length difference in its standard
deviations, and on the difficulty of the item. The win rate is the mean of its predictions at length difference zero.

AlpacaEval takes difficulties from more than a hundred other models, and pulls each model's length effect towards that
of shorter and longer copies of the baseline. Here both come from the contestants at hand: one length effect for all
contestants, and an item's difficulty for one contestant is how the others did on it. On AlpacaEval 2's 56 released runs
the rates are 1.5 points from the published ones on average, with a correlation of 0.996.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints, Numbers, finite_columns, label_codes
from fullbench.stats.intervals.cluster_intervals import ONE_ITEM
from fullbench.stats.intervals.normal_and_t_quantiles import student_quantile

METHOD = "logistic regression, errors clustered by item"
_STEPS = 100
_CLOSE = 1e-10
# odds of 10^10 to 1: a parameter beyond this has no finite maximum
_FAR = 23.0


@dataclass(frozen=True)
class LengthControlledWinRates:
    """Win rates at equal length, one per contestant (None: it won or lost every match, so no rate is finite).

    `length_effect` is in log odds from -1 to 1 of tanh: the response is much longer, or equally long. `has_difficulty`
    is False with fewer than two contestants besides the reference, because nobody else shows how hard an item is.
    """

    estimates: tuple[Estimate | None, ...]
    length_effect: Estimate
    has_difficulty: bool


def length_controlled_win_rates(
    contestant: npt.ArrayLike, item: npt.ArrayLike, won_share: Numbers, length_difference: Numbers
) -> LengthControlledWinRates:
    """Return the length-controlled win rates; one row per match of a contestant with the reference.

    Args:
        contestant: Codes from 0 of the contestants.
        item: Labels of the items, over which errors are clustered.
        won_share: Share of the match that the contestant won, from 0 to 1; a tie is 0.5.
        length_difference: Length of the contestant's response minus that of the reference's.

    >>> found = length_controlled_win_rates([0] * 8, range(8), [1, 1, 1, 0, 0, 1, 0, 0], [9, 8, 7, 9, 0, 0, 0, 0])
    >>> round(found.estimates[0].value, 2), found.has_difficulty
    (0.25, False)
    """
    shares, differences = finite_columns(won_share, length_difference)
    _, codes = label_codes(contestant)
    _, items = label_codes(item)
    size = int(codes.max()) + 1
    totals, counts = np.bincount(codes, shares, size), np.bincount(codes, minlength=size)
    is_rated = (totals > 0) & (totals < counts)
    rows = is_rated[codes]
    if not rows.any():
        raise Undefined(Note("undefined.every-contestant-won-or-lost-every-match"))
    longer = np.tanh(_in_standard_deviations(differences, codes, size))
    if np.ptp(longer[rows]) == 0:
        raise Undefined(Note("undefined.lengths-do-not-differ"))
    rated_codes = np.cumsum(is_rated)[codes[rows]] - 1
    fit = _Regression(rated_codes, items[rows], shares[rows], longer[rows])
    estimates, effect, has_difficulty = fit.estimates()
    in_order = iter(estimates)
    return LengthControlledWinRates(
        tuple(next(in_order) if rated else None for rated in is_rated), effect, has_difficulty
    )


def _in_standard_deviations(differences: Floats, codes: Ints, size: int) -> Floats:
    """Divide by the standard deviation of each contestant's differences; their mean is not taken off."""
    counts = np.maximum(np.bincount(codes, minlength=size), 1)
    means = np.bincount(codes, differences, size) / counts
    squares = np.bincount(codes, (differences - means[codes]) ** 2, size)
    deviation = np.sqrt(squares / np.maximum(counts - 1, 1))[codes]
    scaled: Floats = np.divide(differences, deviation, out=np.sign(differences), where=deviation > 0)
    return scaled


@dataclass(frozen=True)
class _Regression:
    codes: Ints
    items: Ints
    shares: Floats
    longer: Floats

    def estimates(self) -> tuple[list[Estimate], Estimate, bool]:
        size = int(self.codes.max()) + 1
        dummies = np.zeros((len(self.codes), size))
        dummies[np.arange(len(self.codes)), self.codes] = 1
        design = np.column_stack([dummies, self.longer])
        difficulty = self._difficulty(design, size) if size > 1 else None
        if difficulty is not None:
            design = np.column_stack([design, difficulty])
        values, inverse = self._solve(design)
        chance = _logistic(design @ values)
        influence = self._sums_by_item(design * (self.shares - chance)[:, None]) @ inverse
        at_zero = design.copy()
        at_zero[:, size] = 0
        equal = _logistic(at_zero @ values)
        counts = np.bincount(self.codes)
        rates = np.bincount(self.codes, equal) / counts
        # How a rate moves with the coefficients, and how it varies with the items that were asked.
        slopes = (dummies * (equal * (1 - equal))[:, None]).T @ at_zero / counts[:, None]
        moves = self._sums_by_item(dummies * (equal - rates[self.codes])[:, None]) / counts
        rate_errors = _errors(influence @ slopes.T + moves)
        freedom = len(np.unique(self.items)) - 1
        estimates = [
            _rate_estimate(float(rate), float(error), int(n), freedom)
            for rate, error, n in zip(rates, rate_errors, counts, strict=True)
        ]
        wide = student_quantile(freedom, 0.975) * float(_errors(influence)[size])
        effect = float(values[size])
        length_effect = Estimate(effect, effect - wide, effect + wide, len(self.codes), 0.95, METHOD)
        return estimates, length_effect, difficulty is not None

    def _difficulty(self, design: Floats, size: int) -> Floats | None:
        """Return how the other contestants did on the item beyond their own rates, shrunk towards zero.

        One step of the fit with a normal prior on items, whose variance comes from the products of residuals. The own
        residual is left out, or a contestant's result would explain itself.
        """
        values, _ = self._solve(design)
        chance = _logistic(design @ values)
        residuals, weights = self.shares - chance, chance * (1 - chance)
        sums, weight_sums = (np.bincount(self.items, part) for part in (residuals, weights))
        own, own_weights = (
            np.bincount(self.items * size + self.codes, part, len(sums) * size).reshape(-1, size)
            for part in (residuals, weights)
        )
        products = float((sums**2).sum() - (own**2).sum())
        weight_products = float((weight_sums**2).sum() - (own_weights**2).sum())
        variance = products / weight_products if weight_products > 0 else 0.0
        if variance <= 0:
            return None
        others = sums[self.items] - own[self.items, self.codes]
        other_weights = weight_sums[self.items] - own_weights[self.items, self.codes]
        difficulty: Floats = others / (other_weights + 1 / variance)
        return difficulty

    def _sums_by_item(self, rows: Floats) -> Floats:
        sums = np.zeros((int(self.items.max()) + 1, rows.shape[1]))
        np.add.at(sums, self.items, rows)
        return sums

    def _solve(self, design: Floats) -> tuple[Floats, Floats]:
        values = np.zeros(design.shape[1])
        for _ in range(_STEPS):
            chance = _logistic(design @ values)
            bend = design.T @ (design * (chance * (1 - chance))[:, None])
            if np.abs(values).max() > _FAR or np.linalg.cond(bend) > 1e12:
                raise Undefined(Note("undefined.length-decides-every-match"))
            step = np.linalg.solve(bend, design.T @ (self.shares - chance))
            longest = float(np.abs(step).max())
            values += step * min(1.0, 1.0 / max(longest, 1.0))
            if longest < _CLOSE:
                inverse: Floats = np.linalg.inv(bend).astype(np.float64)
                return values, inverse
        raise Undefined(Note("undefined.length-decides-every-match"))


def _logistic(values: Floats) -> Floats:
    chances: Floats = 1 / (1 + np.exp(-values))
    return chances


def _errors(influence: Floats) -> Floats:
    """Return standard errors from sums by item, items without a match being zero."""
    items = max(2, int((influence != 0).any(axis=1).sum()))
    errors: Floats = np.sqrt((influence**2).sum(axis=0) * items / (items - 1))
    return errors


def _rate_estimate(rate: float, error: float, n: int, freedom: int) -> Estimate:
    """Return an interval that is symmetric in log odds, so that it stays between 0 and 1."""
    if freedom < 1:
        return Estimate(rate, rate, rate, n, 0.95, METHOD, why=ONE_ITEM, units=1)
    odds = math.log(rate / (1 - rate))
    wide = student_quantile(freedom, 0.975) * error / (rate * (1 - rate))
    low, high = (1 / (1 + math.exp(-(odds + side * wide))) for side in (-1, 1))
    return Estimate(rate, low, high, n, 0.95, METHOD)
