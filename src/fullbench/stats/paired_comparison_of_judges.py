"""Which of two judges is better on the same cases, and what survives when many questions are asked at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.stats.agreement.two_raters import Options
from fullbench.stats.array_checks import Bools, Floats, Numbers, column, columns
from fullbench.stats.intervals.bootstrap import Statistic, bootstrap
from fullbench.stats.intervals.cluster_intervals import Scale


@dataclass(frozen=True)
class McNemar:
    """Cases that only the first, or only the second, got right; and p-values for "both are equally often right".

    `p` is exact and never too small; `mid_p` gives half its weight to the very outcome seen and is nearer to the level
    it names (Fagerland, Lydersen and Laake 2013, doi:10.1186/1471-2288-13-91).
    """

    only_first: int
    only_second: int
    n: int
    p: float
    mid_p: float


def mcnemar(first_right: Numbers, second_right: Numbers) -> McNemar:
    """McNemar's test on two columns of right (1) and wrong (0) (McNemar 1947, doi:10.1007/BF02295996).

    >>> found = mcnemar([1, 1, 1, 1, 0, 1], [0, 0, 0, 1, 0, 0])
    >>> found.only_first, found.only_second, round(found.p, 4), round(found.mid_p, 4)
    (4, 0, 0.125, 0.0625)
    """
    from scipy.stats import binom

    first, second = (array.astype(bool) for array in columns(first_right, second_right))
    more, fewer = int((first & ~second).sum()), int((second & ~first).sum())
    split = more + fewer
    least = min(more, fewer)
    tail, here = float(binom.cdf(least, split, 0.5)), float(binom.pmf(least, split, 0.5))
    return McNemar(more, fewer, len(first), min(1.0, 2 * tail), min(1.0, 2 * tail - here))


def paired_difference(
    statistic: Statistic,
    first: Numbers,
    second: Numbers,
    truth: Numbers,
    *,
    within: Scale | None = None,
    **options: Unpack[Options],
) -> Estimate:
    """A statistic of `first` and `truth` less that of `second` and `truth`, both on the same resampled rows.

    An interval that holds 0 leaves open which is better; `p` is that of "both are equal". `statistic` is one of
    `stats.intervals.weighted_statistics`, `within` the scale of the difference.

    >>> from fullbench.stats.intervals.weighted_statistics import share_equal
    >>> paired_difference(share_equal, [1, 1, 0, 1], [0, 1, 1, 1], [1, 1, 0, 1]).value
    0.5
    """

    def difference(weights: Floats, firsts: Floats, seconds: Floats, true: Floats) -> Floats:
        return statistic(weights, firsts, true) - statistic(weights, seconds, true)

    return bootstrap(difference, first, second, truth, within=within, zero=True, **options)


@dataclass(frozen=True)
class Adjusted:
    """p-values after correction, in the order given, and which of them pass."""

    p: tuple[float, ...]
    passed: tuple[bool, ...]
    method: str
    level: float


def benjamini_hochberg(p: Sequence[float], *, level: float = 0.05) -> Adjusted:
    """Keeps the share of false finds below `level` (Benjamini and Hochberg 1995, jstor:2346101).

    >>> benjamini_hochberg([0.01, 0.04, 0.03]).passed
    (True, True, True)
    """
    values = _checked(p)
    order = np.argsort(values, kind="stable")
    stepped = values[order] * (len(values) / np.arange(1, len(values) + 1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(stepped[::-1])[::-1])
    return _adjusted(adjusted, adjusted <= level, "Benjamini-Hochberg", level)


def holm(p: Sequence[float], *, level: float = 0.05) -> Adjusted:
    """Keeps the chance of any false find below `level` (Holm 1979, jstor:4615733).

    >>> holm([0.01, 0.04, 0.03]).p
    (0.03, 0.06, 0.06)
    """
    values = _checked(p)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1.0, stepped)
    return _adjusted(adjusted, adjusted <= level, "Holm", level)


def _checked(p: Sequence[float]) -> Floats:
    values = column(p, "p-values")
    if ((values < 0) | (values > 1)).any():
        raise ValueError("p-values lie between 0 and 1")
    return values


def _adjusted(adjusted: Floats, passed: Bools, method: str, level: float) -> Adjusted:
    return Adjusted(tuple(map(float, adjusted)), tuple(map(bool, passed)), method, level)
