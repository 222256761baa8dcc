"""Metrics of the reproduced cells, each with its interval.

Numbers are rounded like published ones (six decimals, four digits for a p-value), so that files of cells can be
compared digit by digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.errors import Undefined
from fullbench.stats.agreement import two_raters as agree
from fullbench.stats.agreement.per_item_ranking_agreement import edit_distance, mean_edit_distance
from fullbench.stats.intervals import statistics_for_bootstrap
from fullbench.stats.intervals.bootstrap_and_jackknife import Statistic
from fullbench.stats.intervals.share_intervals import wilson_interval

Metrics = dict[str, Any]


def round_metric(value: float) -> float:
    """Round to six decimals."""
    return round(value, 6)


def round_significant(value: float, digits: int = 4) -> float:
    """Round to `digits` significant digits.

    >>> round_significant(8.70123e-36)
    8.701e-36
    """
    return float(f"{value:.{digits}g}")


def rounded_mean(values: Sequence[float]) -> float | None:
    """Return the rounded mean, or None if there are no values.

    >>> rounded_mean([1, 2]), rounded_mean([])
    (1.5, None)
    """
    return round_metric(fmean(values)) if values else None


def point_estimate(statistic: Statistic, *columns: Sequence[float]) -> float:
    """Return a statistic of the columns, without an interval.

    >>> point_estimate(statistics_for_bootstrap.absolute_error, [1, 2], [1, 4])
    1.0
    """
    arrays = [np.asarray(column, dtype=np.float64) for column in columns]
    return float(statistic(np.ones((1, len(arrays[0]))), *arrays)[0])


def correlation_metrics(judge: Sequence[float], human: Sequence[float]) -> tuple[Metrics, Estimate | None]:
    """Compare scores with people's: Pearson (and its p), Spearman, mean absolute error."""
    metrics: Metrics = {"n": len(judge), "pearson": None, "p_value": None, "spearman": None}
    metrics["mae"] = round_metric(fmean(abs(mark - label) for mark, label in zip(judge, human, strict=True)))
    try:
        r = agree.pearson_correlation(judge, human)
    except Undefined:
        return metrics, None
    rho = point_estimate(statistics_for_bootstrap.weighted_spearman, judge, human)
    metrics |= {
        "pearson": round_metric(r.value),
        "p_value": round_significant(r.p or 0.0),
        "spearman": round_metric(rho),
    }
    return metrics, r


def score_metrics(judge: Sequence[int], human: Sequence[int]) -> tuple[Metrics, Estimate | None]:
    """Return the metrics of the third-party study: correlations, exact and near hits, error, mean shift."""
    metrics, r = correlation_metrics(judge, human)
    gaps = [mark - label for mark, label in zip(judge, human, strict=True)]
    n = len(gaps)
    return {
        "n": n,
        "pearson": metrics["pearson"],
        "spearman": metrics["spearman"],
        "exact": round_metric(sum(gap == 0 for gap in gaps) / n),
        "within_1": round_metric(sum(abs(gap) <= 1 for gap in gaps) / n),
        "mae": metrics["mae"],
        "bias": round_metric(sum(gaps) / n),
    }, r


def choice_metrics(judge: Sequence[str], human: Sequence[str]) -> tuple[Metrics, Estimate]:
    """Compare choices with people's, with ties as a class and with all ties left out."""
    codes = {letter: float(place) for place, letter in enumerate("ABC")}
    choices, truth = [codes[x] for x in judge], [codes[x] for x in human]
    hits = wilson_interval(sum(x == y for x, y in zip(choices, truth, strict=True)), len(choices))
    decided_pairs = [(x, y) for x, y in zip(judge, human, strict=True) if "C" not in (x, y)]
    macro = point_estimate(statistics_for_bootstrap.class_statistic("f1"), choices, truth)
    classes = len({*choices, *truth})
    metrics = {
        "n": len(choices),
        "accuracy_with_tie": round_metric(hits.value),
        "n_without_tie": len(decided_pairs),
        "accuracy_without_tie": round_metric(sum(x == y for x, y in decided_pairs) / len(decided_pairs))
        if decided_pairs
        else None,
        "macro_f1": round_metric(macro),
        "macro_recall": round_metric(
            point_estimate(statistics_for_bootstrap.class_statistic("recall"), choices, truth)
        ),
        "macro_precision": round_metric(
            point_estimate(statistics_for_bootstrap.class_statistic("precision"), choices, truth)
        ),
        # `macro` averages over the classes that occur; this one always over three.
        "macro_f1_over_ABC": round_metric(macro * classes / 3),
    }
    return metrics, hits


def ranking_metrics(judge: Sequence[str], human: Sequence[str]) -> tuple[Metrics, Estimate | None]:
    """Return the distances of rankings (strings of letters) from people's."""
    pairs = list(zip(judge, human, strict=True))
    n = len(pairs)
    try:
        distance = mean_edit_distance(judge, human)
    except Undefined:
        distance = None
    metrics = {
        "n": n,
        "normalized_levenshtein": round_metric(fmean(edit_distance(x, y) for x, y in pairs)),
        "levenshtein": round_metric(sum(edit_distance(x, y) * max(len(x), len(y)) for x, y in pairs) / n),
        "exact_match": round_metric(sum(x == y for x, y in pairs) / n),
        "top1_match": round_metric(sum(x[:1] == y[:1] for x, y in pairs) / n),
    }
    return metrics, distance


def select_metrics(metrics: Metrics, *names: str) -> Metrics:
    """Return the named metrics in the given order."""
    return {name: metrics[name] for name in names}
