"""Statistics as functions of weights, the form that `bootstrap` resamples.

Each takes `weights` (a row for each resample, a column for each cell) and the cells' columns, and gives a figure for
each resample; NaN, which stays inside this package, says that a resample does not define it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fullbench.stats.array_checks import Floats, Ints

# up to so many rows Kendall's tau compares every two of them for all resamples at once; beyond that it sorts
_MOST_SIGNS = 4096
_ROWS = 512


def _over(above: Floats, below: Floats) -> Floats:
    """A quotient, NaN where the divisor is zero."""
    quotient = np.full(above.shape, np.nan)
    np.divide(above, below, out=quotient, where=below > 0)
    return quotient


def mean(weights: Floats, x: Floats) -> Floats:
    """The weighted mean.

    >>> mean(np.array([[1.0, 3.0]]), np.array([0.0, 1.0]))
    array([0.75])
    """
    return _over(weights @ x, weights.sum(axis=1))


def share_equal(weights: Floats, x: Floats, y: Floats) -> Floats:
    """The share of rows on which two columns are the same.

    >>> share_equal(np.array([[1.0, 3.0]]), np.array([0.0, 1.0]), np.array([0.0, 0.0]))
    array([0.25])
    """
    return mean(weights, (x == y).astype(np.float64))


def absolute_error(weights: Floats, x: Floats, y: Floats) -> Floats:
    """The mean absolute difference.

    >>> absolute_error(np.array([[1.0, 1.0]]), np.array([1.0, 5.0]), np.array([2.0, 2.0]))
    array([2.])
    """
    return mean(weights, np.abs(x - y))


def _correlation(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Pearson's r where x and y may differ from resample to resample (one row each)."""
    total = weights.sum(axis=1, keepdims=True)
    x = x - (weights * x).sum(axis=1, keepdims=True) / total
    y = y - (weights * y).sum(axis=1, keepdims=True) / total
    wx = weights * x
    sxx, syy = (wx * x).sum(axis=1), (weights * y * y).sum(axis=1)
    floor = 1e-20 * total[:, 0]
    sxx, syy = np.where(sxx > floor, sxx, 0.0), np.where(syy > floor, syy, 0.0)
    return np.clip(_over((wx * y).sum(axis=1), np.sqrt(sxx) * np.sqrt(syy)), -1, 1)


def _standard(x: Floats) -> Floats:
    """Centred and of unit range, so that sums of squares neither cancel nor vanish."""
    spread = float(np.ptp(x))
    return np.zeros_like(x) if spread == 0 else (x - x.mean()) / spread


def pearson(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Pearson's r, from moments.

    >>> pearson(np.ones((1, 3)), np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])).round(3)
    array([0.982])
    """
    x, y = _standard(x), _standard(y)
    total = weights.sum(axis=1)
    sums = weights @ np.column_stack([x, y, x * x, y * y, x * y])
    mx, my, mxx, myy, mxy = (sums / total[:, None]).T
    vx, vy = mxx - mx * mx, myy - my * my
    vx, vy = np.where(vx > 1e-13, vx, 0.0), np.where(vy > 1e-13, vy, 0.0)
    return np.clip(_over(mxy - mx * my, np.sqrt(vx) * np.sqrt(vy)), -1, 1)


def _by_level(weights: Floats, x: Floats) -> tuple[Floats, Ints]:
    """The weight of each distinct value of x, in order, and each cell's place among them."""
    levels, place = np.unique(x, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(levels)))
    return np.add.reduceat(weights[:, order], starts, axis=1), place.astype(np.int64)


def _midranks(weights: Floats, x: Floats) -> Floats:
    level, place = _by_level(weights, x)
    ranks: Floats = (np.cumsum(level, axis=1) - level + (level + 1) / 2)[:, place]
    return ranks


def spearman(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Spearman's rho: Pearson's r of the midranks, ranked anew in each resample.

    >>> spearman(np.ones((1, 4)), np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 9.0]))
    array([0.8])
    """
    return _correlation(weights, _midranks(weights, x), _midranks(weights, y))


def _signs(x: Floats, rows: slice) -> Floats:
    return np.sign(x[rows, None] - x[None, :])


def _tied_pairs(level: Floats) -> Floats:
    pairs: Floats = (level * (level - 1)).sum(axis=1) / 2
    return pairs


def kendall(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Kendall's tau-b. Quadratic in the number of cells up to 4096 of them, then one sort for each resample.

    >>> kendall(np.ones((1, 4)), np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 9.0])).round(3)
    array([0.667])
    """
    if len(x) > _MOST_SIGNS:
        return _kendall_by_sorting(weights, x, y)
    more = np.zeros(len(weights))
    for start in range(0, len(x), _ROWS):
        rows = slice(start, start + _ROWS)
        more += ((weights @ (_signs(x, rows) * _signs(y, rows)).T) * weights[:, rows]).sum(axis=1) / 2
    total = weights.sum(axis=1)
    pairs = total * (total - 1) / 2
    untied_x = pairs - _tied_pairs(_by_level(weights, x)[0])
    untied_y = pairs - _tied_pairs(_by_level(weights, y)[0])
    return np.clip(_over(more, np.sqrt(untied_x) * np.sqrt(untied_y)), -1, 1)


def _kendall_by_sorting(weights: Floats, x: Floats, y: Floats) -> Floats:
    from scipy.stats import kendalltau

    times = weights.astype(np.int64)
    return np.array([kendalltau(np.repeat(x, row), np.repeat(y, row)).statistic for row in times])


def _one_hot(x: Floats, classes: Floats) -> Floats:
    hot: Floats = (x[:, None] == classes[None, :]).astype(np.float64)
    return hot


def cohen(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Cohen's kappa for named classes.

    >>> cohen(np.ones((1, 4)), np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 0.0]))
    array([0.5])
    """
    classes = np.union1d(x, y)
    total = weights.sum(axis=1)
    chance = ((weights @ _one_hot(x, classes)) * (weights @ _one_hot(y, classes))).sum(axis=1) / total**2
    left = 1 - chance
    return _over(share_equal(weights, x, y) - chance, np.where(left > 1e-12, left, 0.0))


def quadratic(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Quadratic-weighted kappa; distances are those of the values themselves.

    >>> quadratic(np.ones((1, 3)), np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0])).round(3)
    array([0.667])
    """
    total = weights.sum(axis=1)
    centre = (x.mean() + y.mean()) / 2
    x, y = x - centre, y - centre
    mx, my, mxx, myy, mxy = (weights @ np.column_stack([x, y, x * x, y * y, x * y]) / total[:, None]).T
    expected = mxx + myy - 2 * mx * my
    return 1 - _over(mxx + myy - 2 * mxy, np.where(expected > 1e-12, expected, 0.0))


def _per_class(weights: Floats, predicted: Floats, truth: Floats) -> tuple[Floats, Floats, Floats]:
    """For each resample and class: right rows, rows given the class, rows that truly have it."""
    classes = np.union1d(predicted, truth)
    predicted_hot, true_hot = _one_hot(predicted, classes), _one_hot(truth, classes)
    return weights @ (predicted_hot * true_hot), weights @ predicted_hot, weights @ true_hot


def _zero(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _averaged(figure: Floats, assigned: Floats, truth: Floats, by_size: bool) -> Floats:
    size = truth if by_size else ((assigned + truth) > 0).astype(np.float64)
    return _over((figure * size).sum(axis=1), size.sum(axis=1))


def precision(by_size: bool) -> Callable[[Floats, Floats, Floats], Floats]:
    """Precision of each class, averaged over the classes seen, or weighted by their true sizes; 0 for one never given.

    >>> precision(False)(np.ones((1, 3)), np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0]))
    array([0.75])
    """

    def figure(weights: Floats, predicted: Floats, truth: Floats) -> Floats:
        right, assigned, true = _per_class(weights, predicted, truth)
        return _averaged(_zero(right, assigned), assigned, true, by_size)

    return figure


def recall(by_size: bool) -> Callable[[Floats, Floats, Floats], Floats]:
    """Recall of each class, averaged likewise; 0 for a class that is never true.

    >>> recall(False)(np.ones((1, 3)), np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0]))
    array([0.75])
    """

    def figure(weights: Floats, predicted: Floats, truth: Floats) -> Floats:
        right, assigned, true = _per_class(weights, predicted, truth)
        return _averaged(_zero(right, true), assigned, true, by_size)

    return figure


def f1(by_size: bool) -> Callable[[Floats, Floats, Floats], Floats]:
    """The F1 of each class, averaged likewise.

    >>> f1(False)(np.ones((1, 3)), np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0])).round(3)
    array([0.667])
    """

    def figure(weights: Floats, predicted: Floats, truth: Floats) -> Floats:
        right, assigned, true = _per_class(weights, predicted, truth)
        return _averaged(_zero(2 * right, assigned + true), assigned, true, by_size)

    return figure
