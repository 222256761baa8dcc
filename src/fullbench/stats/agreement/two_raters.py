"""How far two raters agree: correlations, errors, kappas, and the scores of a classifier.

All take two columns of one length and give an `Estimate` with a resampled interval; rows that share a `cluster` (an
item) are kept together. Where the two are not equal in rights, the first is the judge and the second the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Numbers, column, columns
from fullbench.stats.intervals import weighted_statistics
from fullbench.stats.intervals.bootstrap import Labels, Method, Statistic, bootstrap
from fullbench.stats.intervals.cluster_intervals import Scale
from fullbench.stats.intervals.share_intervals import share

SIGNED: Scale = (-1.0, 1.0)
SHARE: Scale = (0.0, 1.0)


class Options(TypedDict, total=False):
    """How the interval is made."""

    cluster: Labels | None
    resamples: int
    level: float
    seed: int
    method: Method


def _with_p(statistic: Statistic, test: str, x: Numbers, y: Numbers, options: Options) -> Estimate:
    from scipy import stats

    xs, ys = columns(x, y)
    if len(xs) < 3:
        raise Undefined(
            Note(
                "undefined.a-correlation-needs-at-least",
                "a correlation needs at least three rows; found {n}",
                n=len(xs),
            )
        )
    if np.ptp(xs) == 0 or np.ptp(ys) == 0:
        raise Undefined(
            Note(
                "undefined.a-correlation-needs-two-columns",
                "a correlation needs two columns that vary; one is constant over {n} rows",
                n=len(xs),
            )
        )
    return replace(bootstrap(statistic, xs, ys, within=SIGNED, **options), p=float(getattr(stats, test)(xs, ys).pvalue))


def pearson(x: Numbers, y: Numbers, **options: Unpack[Options]) -> Estimate:
    """Pearson's r. `p` tests r = 0 with Student's t and takes rows as independent.

    >>> print(pearson([1, 2, 3, 4, 5, 3], [2, 1, 4, 3, 5, 3]))
    0.800 [-0.124, 0.981] n=6
    """
    return _with_p(weighted_statistics.pearson, "pearsonr", x, y, options)


def spearman(x: Numbers, y: Numbers, **options: Unpack[Options]) -> Estimate:
    """Spearman's rho, ties at midranks (Spearman 1904, doi:10.2307/1412159).

    >>> round(spearman([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]).value, 6)
    0.8
    """
    return _with_p(weighted_statistics.spearman, "spearmanr", x, y, options)


def kendall(x: Numbers, y: Numbers, **options: Unpack[Options]) -> Estimate:
    """Kendall's tau-b (Kendall 1945, doi:10.1093/biomet/33.3.239).

    >>> round(kendall([1, 2, 3, 4, 5], [2, 1, 4, 3, 5]).value, 6)
    0.6
    """
    return _with_p(weighted_statistics.kendall, "kendalltau", x, y, options)


def absolute_error(x: Numbers, y: Numbers, **options: Unpack[Options]) -> Estimate:
    """The mean absolute error.

    >>> absolute_error([1, 5, 3], [2, 5, 1]).value
    1.0
    """
    return bootstrap(weighted_statistics.absolute_error, x, y, **options)


def cohen_kappa(x: Numbers, y: Numbers, **options: Unpack[Options]) -> Estimate:
    """Cohen's kappa for classes without order (Cohen 1960, doi:10.1177/001316446002000104).

    >>> cohen_kappa([0, 0, 1, 1] * 5, [0, 0, 1, 0] * 5).value
    0.5
    """
    return bootstrap(weighted_statistics.cohen, x, y, within=SIGNED, **options)


def quadratic_kappa(x: Numbers, y: Numbers, **options: Unpack[Options]) -> Estimate:
    """Cohen's kappa with quadratic weights (Cohen 1968, doi:10.1037/h0026256), on the values of the marks.

    Libraries that number the labels they find give another figure when a mark between two others never occurs.

    >>> round(quadratic_kappa([1, 2, 3] * 4, [1, 2, 2] * 4).value, 3)
    0.667
    """
    return bootstrap(weighted_statistics.quadratic, x, y, within=SIGNED, **options)


def accuracy(predicted: Numbers, truth: Numbers, **options: Unpack[Options]) -> Estimate:
    """The share of rows on which both say the same: Wilson's interval, or that of `stats.intervals.cluster_intervals`
    over clusters.

    >>> print(accuracy([1, 0, 0.5, 1], [1, 0, 1, 1]))
    0.750 [0.301, 0.954] n=4
    """
    labels, true_labels = columns(predicted, truth)
    if options.get("method", "auto") != "auto":
        return bootstrap(weighted_statistics.share_equal, labels, true_labels, within=SHARE, **options)
    return share(labels == true_labels, cluster=options.get("cluster"), level=options.get("level", 0.95))


def precision(predicted: Numbers, truth: Numbers, *, by_size: bool = False, **options: Unpack[Options]) -> Estimate:
    """Macro precision: each class that occurs counts once, or by its true size (`by_size`). A class never given is 0.

    >>> precision([0, 1, 1] * 4, [0, 0, 1] * 4).value
    0.75
    """
    return bootstrap(weighted_statistics.precision(by_size), predicted, truth, within=SHARE, **options)


def recall(predicted: Numbers, truth: Numbers, *, by_size: bool = False, **options: Unpack[Options]) -> Estimate:
    """Macro recall; by size it is the accuracy.

    >>> recall([0, 1, 1] * 4, [0, 0, 1] * 4).value
    0.75
    """
    return bootstrap(weighted_statistics.recall(by_size), predicted, truth, within=SHARE, **options)


def f1(predicted: Numbers, truth: Numbers, *, by_size: bool = False, **options: Unpack[Options]) -> Estimate:
    """Macro F1: the mean of the classes' F1, or their mean by true size.

    >>> round(f1([0, 1, 1] * 4, [0, 0, 1] * 4).value, 3)
    0.667
    """
    return bootstrap(weighted_statistics.f1(by_size), predicted, truth, within=SHARE, **options)


def without_ties(*outcomes: Numbers, tie: float = 0.5) -> Bools:
    """The rows on which none of these columns ties: a mask.

    Papers mean two things by "without ties". `without_ties(human, judge)` drops a row when people or *this* judge tie,
    so each judge has its own n; `without_ties(human, *all_judges)` drops it when *any* judge of the table does, so all
    judges are compared on the same rows.

    >>> without_ties([1, 0.5, 0], [1, 1, 0.5]).tolist()
    [True, False, False]
    """
    keep: Bools = np.logical_and.reduce([array != tie for array in columns(*outcomes)])
    return keep


def bands(marks: Numbers, limits: Sequence[tuple[float, float]]) -> Floats:
    """The place of the band each mark lies in; bands include both ends.

    >>> bands([1, 4, 10], [(1, 2), (3, 5), (6, 10)]).tolist()
    [0.0, 1.0, 2.0]
    """
    values = column(marks, "marks")
    inside = np.array([(values >= low) & (values <= high) for low, high in limits]).reshape(len(limits), len(values))
    outside = values[inside.sum(axis=0) != 1]
    if len(outside):
        raise ValueError(
            f"every mark must lie in exactly one band; {outside[0]:g} does not ({len(outside)} such marks)"
        )
    place: Floats = inside.argmax(axis=0).astype(np.float64)
    return place


def band_accuracy(
    predicted: Numbers, truth: Numbers, limits: Sequence[tuple[float, float]], **options: Unpack[Options]
) -> Estimate:
    """The share of rows whose two marks lie in the same band.

    >>> band_accuracy([1, 4, 9], [2, 6, 10], [(1, 2), (3, 5), (6, 8), (9, 10)]).value
    0.6666666666666666
    """
    return accuracy(bands(predicted, limits), bands(truth, limits), **options)
