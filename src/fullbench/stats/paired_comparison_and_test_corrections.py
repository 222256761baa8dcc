"""Comparison of two judges on the same cases (paired bootstrap), and corrections for multiple tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.stats.agreement.two_raters import Options
from fullbench.stats.array_checks import Bools, Floats, Numbers, finite_column
from fullbench.stats.intervals.bootstrap_and_jackknife import Statistic, bootstrap
from fullbench.stats.intervals.cluster_intervals import Scale


def paired_difference(
    statistic: Statistic,
    first: Numbers,
    second: Numbers,
    truth: Numbers,
    *,
    within: Scale | None = None,
    **options: Unpack[Options],
) -> Estimate:
    """Return the statistic of `first` and `truth` minus that of `second` and `truth`, on the same resampled rows.

    If the interval contains 0, neither is shown to be better. `p` tests "both are equal". `statistic` is a function of
    `stats.intervals.statistics_for_bootstrap`; `within` is the scale of the difference.

    >>> from fullbench.stats.intervals.statistics_for_bootstrap import share_equal
    >>> paired_difference(share_equal, [1, 1, 0, 1], [0, 1, 1, 1], [1, 1, 0, 1]).value
    0.5
    """

    def difference(weights: Floats, firsts: Floats, seconds: Floats, true: Floats) -> Floats:
        return statistic(weights, firsts, true) - statistic(weights, seconds, true)

    return bootstrap(difference, first, second, truth, within=within, zero=True, **options)


@dataclass(frozen=True)
class AdjustedPValues:
    """p-values after correction, in the given order, and whether each is significant."""

    p: tuple[float, ...]
    is_significant: tuple[bool, ...]
    method: str
    level: float


def benjamini_hochberg(p: Sequence[float], *, level: float = 0.05) -> AdjustedPValues:
    """Keep the false discovery rate below `level` (Benjamini and Hochberg 1995, jstor:2346101).

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).is_significant
    (True, True, True)
    """
    values = _checked_p_values(p)
    order = np.argsort(-values, kind="stable")
    # scipy.stats has this function, but its import takes longer than a small study.
    scaled_p_values = values[order] * (len(values) / np.arange(len(values), 0, -1))
    adjusted_p_values = np.empty_like(values)
    adjusted_p_values[order] = np.minimum(1.0, np.minimum.accumulate(scaled_p_values))
    return _to_adjusted_p_values(adjusted_p_values, adjusted_p_values <= level, "Benjamini-Hochberg", level)


def holm_correction(p: Sequence[float], *, level: float = 0.05) -> AdjustedPValues:
    """Keep the chance of any false discovery below `level` (Holm 1979, jstor:4615733).

    >>> holm_correction([0.01, 0.04, 0.03]).p
    (0.03, 0.06, 0.06)
    """
    values = _checked_p_values(p)
    order = np.argsort(values, kind="stable")
    scaled_p_values = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted_p_values = np.empty_like(values)
    adjusted_p_values[order] = np.minimum(1.0, scaled_p_values)
    return _to_adjusted_p_values(adjusted_p_values, adjusted_p_values <= level, "Holm", level)


def _checked_p_values(p: Sequence[float]) -> Floats:
    values = finite_column(p, "p-values")
    if ((values < 0) | (values > 1)).any():
        raise ValueError("p-values lie between 0 and 1")
    return values


def _to_adjusted_p_values(p_values: Floats, is_significant: Bools, method: str, level: float) -> AdjustedPValues:
    return AdjustedPValues(tuple(map(float, p_values)), tuple(map(bool, is_significant)), method, level)
