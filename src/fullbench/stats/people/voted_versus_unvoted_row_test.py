"""Comparison of voted with unvoted rows: does the choice of rows depend on what is known about all of them?

Corrected estimates need voted rows that were drawn by chance. If they were, "was this row voted on" does not depend on
the judge's outcome, the length of the answers or the contestants. Each variable gets the score test of a logistic
regression of "voted" on it. Errors are clustered by item (Liang and Zeger 1986, doi:10.1093/biomet/73.1.13), and Holm's
correction covers all variables.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from fullbench.stats.array_checks import Bools, Floats, label_codes
from fullbench.stats.intervals.normal_and_t_quantiles import student_tails
from fullbench.stats.paired_comparison_and_test_corrections import holm_correction

Name = TypeVar("Name", bound=Hashable)
# clusters needed for a test
_FEWEST = 3
# votes needed in each stratum
_STRATUM = 5
# sums of clusters below this share of a variable's length are rounding errors
_ROUNDING = 1e-10
# correlation above which two variables are the same
_SAME = 0.9999


@dataclass(frozen=True)
class RowDifference(Generic[Name]):
    """Means of one variable on voted and on unvoted rows, with the p-value after Holm's correction."""

    name: Name
    voted_mean: float
    unvoted_mean: float
    p: float


def differing_variables(
    is_voted: Bools, variables: Mapping[Name, Floats], cluster: npt.ArrayLike, *, level: float = 0.05
) -> list[RowDifference[Name]]:
    """Return the variables whose mean differs between voted and unvoted rows, the clearest first.

    Args:
        is_voted: Mask of voted rows.
        variables: One value per row and variable; NaN if unknown.
        cluster: Item of each row.
        level: Chance of any false difference if rows were drawn by chance.

    >>> number = np.arange(40)
    >>> variables = {"length": (number % 2 == 0) + number % 3, "place": number // 2 % 2 * 1.0}
    >>> [found.name for found in differing_variables(number % 2 == 0, variables, range(40))]
    ['length']
    """
    labels, place = label_codes(cluster)
    share = float(is_voted.mean())
    if len(labels) < _FEWEST or share in {0.0, 1.0}:
        return []
    pull = np.where(is_voted, 1.0, 0.0) - share
    differences: list[RowDifference[Name]] = []
    seen: list[Floats] = []
    for name, values in variables.items():
        is_known = ~np.isnan(values)
        if not is_known.any():
            continue
        centred = np.where(is_known, values - np.nanmean(values), 0.0)
        length = float(np.sqrt(centred @ centred))
        if length < 1e-9 or any(abs(float(centred @ other)) > _SAME * length for other in seen):
            continue
        seen.append(centred / length)
        known_pull = np.where(is_known, pull - pull[is_known].mean(), 0.0)
        sums: Floats = np.bincount(place, centred * known_pull, len(labels)).astype(np.float64)
        # If whole items were voted on, a variable that is balanced within items leaves only rounding errors.
        if np.abs(sums).max() < _ROUNDING * length:
            continue
        voted, unvoted = values[is_known & is_voted], values[is_known & ~is_voted]
        if len(voted) and len(unvoted):
            clusters = min(len(np.unique(place[is_known & side])) for side in (is_voted, ~is_voted))
            known_share = float(is_voted[is_known].mean())
            p = _p_value(sums, clusters, known_share * (1 - known_share) * length**2)
            differences.append(RowDifference(name, float(voted.mean()), float(unvoted.mean()), p))
    adjusted = holm_correction([difference.p for difference in differences], level=level)
    flagged = [
        RowDifference(difference.name, difference.voted_mean, difference.unvoted_mean, p)
        for difference, p, is_significant in zip(differences, adjusted.p, adjusted.is_significant, strict=True)
        if is_significant
    ]
    return sorted(flagged, key=lambda difference: difference.p)


def _p_value(sums: Floats, fewest: int, independent: float) -> float:
    """Return the two-sided p-value of "the sums of clusters have mean zero": the larger one of two tests.

    The first is Student's on the sums. Its degrees of freedom are fewer if only few items (`fewest`) have votes, or
    rows without one, or if few items carry most of the variance (Satterthwaite). The second has the variance of rows
    drawn one by one (`independent`). If chance left out no row of a contestant, the sums hardly differ, and only the
    second test knows that.
    """
    count = len(sums)
    squares = (sums - sums.mean()) ** 2
    total, gap = float(squares.sum()), abs(float(sums.sum()))
    units = min(float(count), float(fewest), 3 * total**2 / max(float((squares**2).sum()), 1e-300))
    statistic = gap / math.sqrt(max(total, 1e-300) * count / (count - 1))
    by_items = student_tails(max(1.0, units - 1), statistic)
    return max(by_items, math.erfc(gap / math.sqrt(2 * max(independent, 1e-300))))


def stratified_chances(is_voted: Bools, variables: Sequence[Floats]) -> Floats | None:
    """Return each row's share of voted rows in its stratum: the chance that post-stratification uses.

    Strata are the values of the variables, or their terciles if there are more than three. A later variable is left
    out if it makes a stratum with fewer than five votes. None if even the first one does.

    >>> stratified_chances(np.array([True] * 6 + [False] * 4 + [True] * 5), [np.array([0.0] * 10 + [1.0] * 5)]).round(2)
    array([0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 1. , 1. , 1. ,
           1. , 1. ])
    """
    strata = np.zeros(len(is_voted), dtype=np.int64)
    is_split = False
    for values in variables:
        codes = _terciles(values)
        finer = np.unique(strata * (codes.max() + 1) + codes, return_inverse=True)[1]
        if np.bincount(finer, is_voted).min() >= _STRATUM:
            strata, is_split = finer, True
    if not is_split:
        return None
    chances: Floats = (np.bincount(strata, is_voted) / np.bincount(strata))[strata]
    return chances


def _terciles(values: Floats) -> npt.NDArray[np.int64]:
    finite_values = values[~np.isnan(values)]
    different = np.unique(finite_values)
    edges = different[1:] if len(different) <= 3 else np.unique(np.quantile(finite_values, [1 / 3, 2 / 3]))
    codes: npt.NDArray[np.int64] = np.where(np.isnan(values), 0, 1 + np.searchsorted(edges, values, side="right"))
    return codes
