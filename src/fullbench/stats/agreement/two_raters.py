"""Agreement of two raters: correlations, errors, kappas, and classifier scores.

All functions take two columns of one length and return an `Estimate` with a resampled interval. Rows of the same
`cluster` (an item) stay together. If the roles differ, the first column is the judge and the second the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Numbers, finite_column, finite_columns
from fullbench.stats.intervals import statistics_for_bootstrap
from fullbench.stats.intervals.bootstrap_and_jackknife import Labels, Statistic, bootstrap
from fullbench.stats.intervals.cluster_intervals import FROM_ZERO, Scale
from fullbench.stats.intervals.share_intervals import share_estimate
from fullbench.stats.intervals.statistics_for_bootstrap import ClassScore

SIGNED_SCALE: Scale = (-1.0, 1.0)
SHARE_SCALE: Scale = (0.0, 1.0)


class Options(TypedDict, total=False):
    """Options of the interval."""

    cluster: Labels | None
    resamples: int
    level: float
    seed: int


def _correlation_with_p(statistic: Statistic, test: str, x: Numbers, y: Numbers, options: Options) -> Estimate:
    from scipy import stats

    xs, ys = finite_columns(x, y)
    if len(xs) < 3:
        raise Undefined(Note("undefined.a-correlation-needs-at-least", n=len(xs)))
    if np.ptp(xs) == 0 or np.ptp(ys) == 0:
        raise Undefined(Note("undefined.a-correlation-needs-two-columns", n=len(xs)))
    return replace(
        bootstrap(statistic, xs, ys, within=SIGNED_SCALE, **options), p=float(getattr(stats, test)(xs, ys).pvalue)
    )


def pearson_correlation(x: Numbers, y: Numbers, **options: Unpack[Options]) -> Estimate:
    """Return Pearson's r; `p` tests r = 0 with Student's t and treats rows as independent.

    >>> print(pearson_correlation([1, 2, 3, 4, 5, 3], [2, 1, 4, 3, 5, 3]))
    0.800 [-0.124, 0.981] n=6
    """
    return _correlation_with_p(statistics_for_bootstrap.weighted_pearson, "pearsonr", x, y, options)


def spearman_correlation(x: Numbers, y: Numbers, **options: Unpack[Options]) -> Estimate:
    """Return Spearman's rho, ties at midranks (Spearman 1904, doi:10.2307/1412159).

    >>> round(spearman_correlation([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]).value, 6)
    0.8
    """
    return _correlation_with_p(statistics_for_bootstrap.weighted_spearman, "spearmanr", x, y, options)


def kendall_correlation(x: Numbers, y: Numbers, **options: Unpack[Options]) -> Estimate:
    """Return Kendall's tau-b (Kendall 1945, doi:10.1093/biomet/33.3.239).

    >>> round(kendall_correlation([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]).value, 6)
    0.6
    """
    return _correlation_with_p(statistics_for_bootstrap.weighted_kendall, "kendalltau", x, y, options)


def absolute_error(x: Numbers, y: Numbers, *, scale: Scale | None = None, **options: Unpack[Options]) -> Estimate:
    """Return the mean absolute error; `scale` is that of the marks, which bounds it.

    >>> print(absolute_error([1, 5, 3], [2, 5, 1], scale=(1, 5)))
    1.000 [0.101, 3.245] n=3
    >>> absolute_error([1, 5, 3], [2, 5, 1]).low
    0.0
    """
    within = FROM_ZERO if scale is None else (0.0, scale[1] - scale[0])
    return bootstrap(statistics_for_bootstrap.absolute_error, x, y, within=within, **options)


def cohen_kappa(x: Numbers, y: Numbers, **options: Unpack[Options]) -> Estimate:
    """Return Cohen's kappa for unordered classes (Cohen 1960, doi:10.1177/001316446002000104).

    >>> cohen_kappa([0, 0, 1, 1] * 5, [0, 0, 1, 0] * 5).value
    0.5
    """
    return bootstrap(statistics_for_bootstrap.weighted_cohen_kappa, x, y, within=SIGNED_SCALE, **options)


def quadratic_kappa(x: Numbers, y: Numbers, **options: Unpack[Options]) -> Estimate:
    """Return Cohen's kappa with quadratic weights (Cohen 1968, doi:10.1037/h0026256), on the values of the marks.

    Libraries that number the labels they find give another result if a mark between two others never occurs.

    >>> round(quadratic_kappa([1, 2, 3] * 4, [1, 2, 2] * 4).value, 3)
    0.667
    """
    return bootstrap(statistics_for_bootstrap.weighted_quadratic_kappa, x, y, within=SIGNED_SCALE, **options)


def accuracy(predictions: Numbers, truth: Numbers, **options: Unpack[Options]) -> Estimate:
    """Return the share of equal rows, with Wilson's interval or a cluster interval.

    >>> print(accuracy([1, 0, 0.5, 1], [1, 0, 1, 1]))
    0.750 [0.301, 0.954] n=4
    """
    labels, true_labels = finite_columns(predictions, truth)
    return share_estimate(labels == true_labels, cluster=options.get("cluster"), level=options.get("level", 0.95))


def macro_score(
    name: ClassScore, predictions: Numbers, truth: Numbers, *, by_size: bool = False, **options: Unpack[Options]
) -> Estimate:
    """Return macro precision, recall or F1: each occurring class counts once, or by its true size.

    A class never predicted has a precision of 0. Recall by size equals the accuracy.

    >>> [round(macro_score(name, [0, 1, 1] * 4, [0, 0, 1] * 4).value, 3) for name in ("precision", "recall", "f1")]
    [0.75, 0.75, 0.667]
    """
    statistic = statistics_for_bootstrap.class_statistic(name, by_size=by_size)
    return bootstrap(statistic, predictions, truth, within=SHARE_SCALE, **options)


def band_indices(marks: Numbers, limits: Sequence[tuple[float, float]]) -> Floats:
    """Return the index of the band of each mark; bands include both ends.

    >>> band_indices([1, 4, 10], [(1, 2), (3, 5), (6, 10)]).tolist()
    [0.0, 1.0, 2.0]
    """
    values = finite_column(marks, "marks")
    inside = np.array([(values >= low) & (values <= high) for low, high in limits]).reshape(len(limits), len(values))
    outside = values[inside.sum(axis=0) != 1]
    if len(outside):
        raise ValueError(
            f"every mark must lie in exactly one band; {outside[0]:g} does not ({len(outside)} such marks)"
        )
    place: Floats = inside.argmax(axis=0).astype(np.float64)
    return place


def band_accuracy(
    predictions: Numbers, truth: Numbers, limits: Sequence[tuple[float, float]], **options: Unpack[Options]
) -> Estimate:
    """Return the share of rows whose two marks are in the same band.

    >>> band_accuracy([1, 4, 9], [2, 6, 10], [(1, 2), (3, 5), (6, 8), (9, 10)]).value
    0.6666666666666666
    """
    return accuracy(band_indices(predictions, limits), band_indices(truth, limits), **options)
