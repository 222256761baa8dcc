"""Statistics as functions of weights, the form that `bootstrap` resamples.

Each takes `weights` (a row per resample, a column per cell) and the cells' columns, and returns a number per resample.
NaN means that a resample does not define it; NaN never leaves this package.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.intervals.bootstrap_and_jackknife import Statistic

ClassScore = Literal["precision", "recall", "f1"]

# largest number of cells for which Kendall's tau compares all pairs for all resamples at once; beyond it sorts
_MOST_SIGNS = 4096
_ROWS = 512


def _divide_or_nan(above: Floats, below: Floats) -> Floats:
    quotient = np.full(above.shape, np.nan)
    np.divide(above, below, out=quotient, where=below > 0)
    return quotient


def weighted_mean(weights: Floats, x: Floats) -> Floats:
    """Return the weighted mean.

    >>> weighted_mean(np.array([[1.0, 3.0]]), np.array([0.0, 1.0]))
    array([0.75])
    """
    return _divide_or_nan(weights @ x, weights.sum(axis=1))


def share_equal(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Return the share of rows on which two columns are equal.

    >>> share_equal(np.array([[1.0, 3.0]]), np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    array([0.25])
    """
    return weighted_mean(weights, (x == y).astype(np.float64))


def absolute_error(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Return the mean absolute difference.

    >>> absolute_error(np.array([[1.0, 1.0]]), np.array([1.0, 5.0]), np.array([2.0, 2.0]))
    array([2.])
    """
    return weighted_mean(weights, np.abs(x - y))


def _rowwise_correlation(weights: Floats, x: Floats, y: Floats) -> Floats:
    total = weights.sum(axis=1, keepdims=True)
    x = x - (weights * x).sum(axis=1, keepdims=True) / total
    y = y - (weights * y).sum(axis=1, keepdims=True) / total
    wx = weights * x
    sxx, syy = (wx * x).sum(axis=1), (weights * y * y).sum(axis=1)
    # Variances below rounding count as zero, so that constant columns give NaN.
    floor = 1e-20 * total[:, 0]
    sxx, syy = np.where(sxx > floor, sxx, 0.0), np.where(syy > floor, syy, 0.0)
    return np.clip(_divide_or_nan((wx * y).sum(axis=1), np.sqrt(sxx) * np.sqrt(syy)), -1, 1)


def _standardise_column(x: Floats) -> Floats:
    """Centre and scale to unit range, so that sums of squares neither cancel nor vanish."""
    spread = float(np.ptp(x))
    return np.zeros_like(x) if spread == 0 else (x - x.mean()) / spread


def weighted_pearson(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Return Pearson's r, from moments.

    >>> weighted_pearson(np.ones((1, 3)), np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])).round(3)
    array([0.982])
    """
    x, y = _standardise_column(x), _standardise_column(y)
    total = weights.sum(axis=1)
    sums = weights @ np.column_stack([x, y, x * x, y * y, x * y])
    mx, my, mxx, myy, mxy = (sums / total[:, None]).T
    vx, vy = mxx - mx * mx, myy - my * my
    vx, vy = np.where(vx > 1e-13, vx, 0.0), np.where(vy > 1e-13, vy, 0.0)
    return np.clip(_divide_or_nan(mxy - mx * my, np.sqrt(vx) * np.sqrt(vy)), -1, 1)


def _by_level(weights: Floats, x: Floats) -> tuple[Floats, Ints]:
    levels, place = np.unique(x, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(levels)))
    return np.add.reduceat(weights[:, order], starts, axis=1), place.astype(np.int64)


def _weighted_midranks(weights: Floats, x: Floats) -> Floats:
    level, place = _by_level(weights, x)
    ranks: Floats = (np.cumsum(level, axis=1) - level + (level + 1) / 2)[:, place]
    return ranks


def weighted_spearman(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Return Spearman's rho: Pearson's r of the midranks, ranked again in each resample.

    >>> weighted_spearman(np.ones((1, 4)), np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 9.0]))
    array([0.8])
    """
    return _rowwise_correlation(weights, _weighted_midranks(weights, x), _weighted_midranks(weights, y))


def _difference_signs(x: Floats, rows: slice) -> Floats:
    return np.sign(x[rows, None] - x[None, :])


def _tied_pairs(level: Floats) -> Floats:
    pairs: Floats = (level * (level - 1)).sum(axis=1) / 2
    return pairs


def weighted_kendall(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Return Kendall's tau-b: quadratic in the number of cells up to 4096, beyond that one sort per resample.

    >>> weighted_kendall(np.ones((1, 4)), np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 9.0])).round(3)
    array([0.667])
    """
    if len(x) > _MOST_SIGNS:
        return _kendall_by_sorting(weights, x, y)
    more = np.zeros(len(weights))
    for start in range(0, len(x), _ROWS):
        rows = slice(start, start + _ROWS)
        more += ((weights @ (_difference_signs(x, rows) * _difference_signs(y, rows)).T) * weights[:, rows]).sum(
            axis=1
        ) / 2
    total = weights.sum(axis=1)
    pairs = total * (total - 1) / 2
    untied_x = pairs - _tied_pairs(_by_level(weights, x)[0])
    untied_y = pairs - _tied_pairs(_by_level(weights, y)[0])
    return np.clip(_divide_or_nan(more, np.sqrt(untied_x) * np.sqrt(untied_y)), -1, 1)


def _kendall_by_sorting(weights: Floats, x: Floats, y: Floats) -> Floats:
    from scipy.stats import kendalltau

    times = weights.astype(np.int64)
    return np.array([kendalltau(np.repeat(x, row), np.repeat(y, row)).statistic for row in times])


def _one_hot(x: Floats, classes: Floats) -> Floats:
    hot: Floats = (x[:, None] == classes[None, :]).astype(np.float64)
    return hot


def weighted_cohen_kappa(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Return Cohen's kappa for unordered classes.

    >>> weighted_cohen_kappa(np.ones((1, 4)), np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 0.0]))
    array([0.5])
    """
    classes = np.union1d(x, y)
    total = weights.sum(axis=1)
    chance = ((weights @ _one_hot(x, classes)) * (weights @ _one_hot(y, classes))).sum(axis=1) / total**2
    left = 1 - chance
    return _divide_or_nan(share_equal(weights, x, y) - chance, np.where(left > 1e-12, left, 0.0))


def weighted_quadratic_kappa(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Return quadratic-weighted kappa, with distances of the values themselves.

    >>> weighted_quadratic_kappa(np.ones((1, 3)), np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0])).round(3)
    array([0.667])
    """
    total = weights.sum(axis=1)
    centre = (x.mean() + y.mean()) / 2
    x, y = x - centre, y - centre
    mx, my, mxx, myy, mxy = (weights @ np.column_stack([x, y, x * x, y * y, x * y]) / total[:, None]).T
    expected_disagreement = mxx + myy - 2 * mx * my
    return 1 - _divide_or_nan(mxx + myy - 2 * mxy, np.where(expected_disagreement > 1e-12, expected_disagreement, 0.0))


def class_statistic(name: ClassScore, *, by_size: bool = False) -> Statistic:
    """Return a macro statistic: the mean over occurring classes, or weighted by true size.

    The precision of a class never predicted is 0, and so is the recall of a class that is never true.

    >>> columns = np.ones((1, 3)), np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0])
    >>> [class_statistic(name)(*columns)[0].round(3).tolist() for name in ("precision", "recall", "f1")]
    [0.75, 0.75, 0.667]
    """

    def value(weights: Floats, predictions: Floats, truth: Floats) -> Floats:
        classes = np.union1d(predictions, truth)
        predicted_hot, true_hot = _one_hot(predictions, classes), _one_hot(truth, classes)
        right, assigned, true = weights @ (predicted_hot * true_hot), weights @ predicted_hot, weights @ true_hot
        above, below = {"precision": (right, assigned), "recall": (right, true), "f1": (2 * right, assigned + true)}[
            name
        ]
        by_class = np.divide(above, below, out=np.zeros_like(above), where=below > 0)
        size = true if by_size else ((assigned + true) > 0).astype(np.float64)
        return _divide_or_nan((by_class * size).sum(axis=1), size.sum(axis=1))

    return value
