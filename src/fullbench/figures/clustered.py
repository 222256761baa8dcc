"""Means and shares whose rows belong to items: the interval is over items, and where there can be none, it says why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fullbench.nouns.estimate import Estimate
from fullbench.nouns.note import Note
from fullbench.stats.clusters import cluster_mean, cluster_share

ONE_ITEM = Note("no-interval.one-item", "one item")
NO_SPREAD = Note("no-interval.no-spread", "items do not differ")
_WIDTH = 1e-9


def mean(values: npt.NDArray[np.float64], item: npt.NDArray[Any]) -> Estimate:
    """The mean of some rows.

    >>> print(mean(np.array([1.0, 2, 4, 3, 5]), np.array([0, 0, 1, 2, 2])))
    3.000 [-0.943, 6.943] n=5
    >>> print(mean(np.array([5.0, 5]), np.array([0, 1])))
    5.000 [items do not differ] n=2
    """
    total, n, clusters, squares = _sums(values, np.ones(len(values)), item)
    if clusters < 2:
        return Estimate.bare(total / n, n, ONE_ITEM)
    return honest(cluster_mean(total, n, clusters, squares))


def share(values: npt.NDArray[np.float64], item: npt.NDArray[Any]) -> Estimate:
    """The mean of wins (1), losses (0) and what lies between; where all rows are alike, Wilson's interval on the items.

    >>> print(share(np.array([1.0, 1, 1]), np.array([0, 1, 2])))
    1.000 [0.439, 1.000] n=3
    """
    return share_of(values, np.ones(len(values)), item)


def share_of(hits: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64], item: npt.NDArray[Any]) -> Estimate:
    """A share from groups of rows: how many rows of each group hit, of how many, and the item it belongs to."""
    total, n, clusters, squares = _sums(hits, sizes, item)
    if clusters < 2 and total not in {0, n}:
        return Estimate.bare(total / n, n, ONE_ITEM)
    return honest(cluster_share(total, n, clusters, squares))


def honest(estimate: Estimate, why: str = NO_SPREAD) -> Estimate:
    """The estimate, or the same without its interval where that has no width."""
    if estimate.high - estimate.low > _WIDTH:
        return estimate
    return replace(estimate, low=estimate.value, high=estimate.value, why=why)


def _sums(
    values: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64], item: npt.NDArray[Any]
) -> tuple[float, int, int, float]:
    """The sum of all rows, their number, the number of items, and the squares that `stats.clusters` asks for."""
    counts = np.bincount(item, sizes)
    there = counts > 0
    parts, counts = np.bincount(item, values)[there], counts[there]
    total, n = float(parts.sum()), round(float(counts.sum()))
    squares = float(((parts - total / n * counts) ** 2).sum())
    # What is left of equal rows after rounding is no spread.
    if squares <= 1e-20 * max(1.0, float((parts**2).sum())):
        squares = 0.0
    return total, n, len(parts), squares
