"""Disorder of a list: entropy of its patterns, inversions, longest increasing subsequence.

A ranking is evaluated by the list of true ranks in its own order: 0, 1, 2, ... if it is right.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from itertools import combinations
from math import log

import numpy as np
import numpy.typing as npt

from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Numbers, finite_column


def true_ranks(scores: Numbers, truth: Numbers) -> list[int]:
    """Return true ranks (0 is best) in the order of the scores, best first.

    Objects of equal score (or equal truth) keep their given order.

    >>> true_ranks([0.9, 0.2, 0.5], [3, 2, 1])
    [0, 2, 1]
    """
    ours, theirs = finite_column(scores, "scores"), finite_column(truth, "truth")
    if len(ours) != len(theirs):
        raise ValueError(f"the columns must have one length; found {len(ours)}, {len(theirs)}")
    rank = np.empty(len(theirs), dtype=np.int64)
    rank[np.argsort(-theirs, kind="stable")] = np.arange(len(theirs))
    return [int(place) for place in rank[np.argsort(-ours, kind="stable")]]


def pattern_entropy(windows: npt.ArrayLike, *, is_normalised: bool = False) -> float:
    """Return Shannon's entropy (natural logarithm) of the order patterns of some windows, one per row.

    Equal values keep their given order. `is_normalised` divides by the logarithm of the number of possible patterns.

    >>> round(pattern_entropy([[1, 2, 3], [4, 5, 9], [3, 1, 2]]), 4)
    0.6365
    """
    rows = np.asarray(windows, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] < 2:
        raise Undefined(Note("undefined.the-entropy-of-patterns-needs", shape=str(rows.shape)))
    _, counts = np.unique(np.argsort(rows, axis=1, kind="stable"), axis=0, return_counts=True)
    shares = counts / counts.sum()
    entropy = max(0.0, float(-(shares * np.log(shares)).sum()))
    return entropy / sum(map(log, range(1, rows.shape[1] + 1))) if is_normalised else entropy


def permutation_entropy(values: Numbers, *, order: int = 3, is_normalised: bool = False) -> float:
    """Return the entropy of patterns of `order` neighbours (Bandt and Pompe 2002, doi:10.1103/PhysRevLett.88.174102).

    A list that only rises has 0, and so has one that only falls: it measures disorder, not agreement.

    >>> permutation_entropy([0, 1, 2, 3]), round(permutation_entropy([0, 2, 1, 3, 4]), 4)
    (0.0, 1.0986)
    """
    series = _long_enough(values, order)
    return pattern_entropy(np.lib.stride_tricks.sliding_window_view(series, order), is_normalised=is_normalised)


def subsequence_entropy(values: Numbers, *, order: int = 3, is_normalised: bool = False) -> float:
    """Return the same over every choice of `order` places, neighbours or not.

    >>> round(subsequence_entropy([0, 2, 1, 3]), 4)
    1.0397
    """
    series = _long_enough(values, order)
    places = np.array(list(combinations(range(len(series)), order)))
    return pattern_entropy(series[places], is_normalised=is_normalised)


def count_inversions(values: Numbers) -> int:
    """Return the number of pairs in the wrong order.

    >>> count_inversions([0, 2, 1, 3]), count_inversions([3, 2, 1, 0])
    (1, 6)
    """
    sorted_values: list[float] = []
    count = 0
    for value in finite_column(values).tolist():
        insort(sorted_values, value)
        count += len(sorted_values) - bisect_right(sorted_values, value)
    return count


def longest_increasing(values: Numbers) -> int:
    """Return the length of the longest increasing subsequence (Fredman 1975, doi:10.1016/0012-365X(75)90103-X).

    Increasing means strictly increasing.

    >>> longest_increasing([0, 2, 1, 3])
    3
    """
    tails: list[float] = []
    for value in finite_column(values).tolist():
        place = bisect_left(tails, value)
        tails[place : place + 1] = [value]
    return len(tails)


def _long_enough(values: Numbers, order: int) -> npt.NDArray[np.float64]:
    series = finite_column(values)
    if len(series) < order:
        raise Undefined(Note("undefined.patterns-of-values-need-a", order=order, n=len(series)))
    return series
