"""How disordered a list is: the entropy of its patterns, its inversions, its longest increasing part.

A ranking is judged by the list of true ranks in the order it puts the things: 0, 1, 2, ... when it is right.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from itertools import combinations
from math import log

import numpy as np
import numpy.typing as npt

from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Numbers, column


def true_ranks(scores: Numbers, truth: Numbers) -> list[int]:
    """The true rank of each thing, best (0) first by truth, in the order of the scores, best first.

    Things of one score (or one truth) stay in the order given.

    >>> true_ranks([0.9, 0.2, 0.5], [3, 2, 1])
    [0, 2, 1]
    """
    ours, theirs = column(scores, "scores"), column(truth, "truth")
    if len(ours) != len(theirs):
        raise ValueError(f"the columns must have one length; found {len(ours)}, {len(theirs)}")
    rank = np.empty(len(theirs), dtype=np.int64)
    rank[np.argsort(-theirs, kind="stable")] = np.arange(len(theirs))
    return [int(place) for place in rank[np.argsort(-ours, kind="stable")]]


def pattern_entropy(windows: npt.ArrayLike, *, normalised: bool = False) -> float:
    """Shannon's entropy (natural logarithm) of the order patterns of some windows, a row each.

    Equal values stand in the order given. `normalised` divides by the logarithm of the number of patterns there are.

    >>> round(pattern_entropy([[1, 2, 3], [4, 5, 9], [3, 1, 2]]), 4)
    0.6365
    """
    rows = np.asarray(windows, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] < 2:
        raise Undefined(
            Note(
                "undefined.the-entropy-of-patterns-needs",
                "the entropy of patterns needs windows of two values or more; found the shape {shape}",
                shape=str(rows.shape),
            )
        )
    _, counts = np.unique(np.argsort(rows, axis=1, kind="stable"), axis=0, return_counts=True)
    shares = counts / counts.sum()
    entropy = max(0.0, float(-(shares * np.log(shares)).sum()))
    return entropy / sum(map(log, range(1, rows.shape[1] + 1))) if normalised else entropy


def permutation_entropy(values: Numbers, *, order: int = 3, normalised: bool = False) -> float:
    """The entropy of the patterns of `order` neighbours (Bandt and Pompe 2002, doi:10.1103/PhysRevLett.88.174102).

    A list that only rises has 0, and so has one that only falls: it measures disorder, not agreement.

    >>> permutation_entropy([0, 1, 2, 3]), round(permutation_entropy([0, 2, 1, 3, 4]), 4)
    (0.0, 1.0986)
    """
    series = _long_enough(values, order)
    return pattern_entropy(np.lib.stride_tricks.sliding_window_view(series, order), normalised=normalised)


def subsequence_entropy(values: Numbers, *, order: int = 3, normalised: bool = False) -> float:
    """The same over every choice of `order` places, neighbours or not.

    >>> round(subsequence_entropy([0, 2, 1, 3]), 4)
    1.0397
    """
    series = _long_enough(values, order)
    places = np.array(list(combinations(range(len(series)), order)))
    return pattern_entropy(series[places], normalised=normalised)


def inversions(values: Numbers) -> int:
    """How many pairs stand in the wrong order.

    >>> inversions([0, 2, 1, 3]), inversions([3, 2, 1, 0])
    (1, 6)
    """
    seen: list[float] = []
    count = 0
    for value in column(values).tolist():
        insort(seen, value)
        count += len(seen) - bisect_right(seen, value)
    return count


def longest_increasing(values: Numbers) -> int:
    """The length of the longest strictly increasing subsequence (Fredman 1975, doi:10.1016/0012-365X(75)90103-X).

    >>> longest_increasing([0, 2, 1, 3])
    3
    """
    tails: list[float] = []
    for value in column(values).tolist():
        place = bisect_left(tails, value)
        tails[place : place + 1] = [value]
    return len(tails)


def _long_enough(values: Numbers, order: int) -> npt.NDArray[np.float64]:
    series = column(values)
    if len(series) < order:
        raise Undefined(
            Note(
                "undefined.patterns-of-values-need-a",
                "patterns of {order} values need a list of at least {order}; found {n}",
                order=order,
                n=len(series),
            )
        )
    return series
