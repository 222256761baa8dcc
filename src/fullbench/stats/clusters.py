"""Means from sums by cluster, for data too large to resample: one pass, no rows in memory."""

from __future__ import annotations

from dataclasses import replace

from fullbench.stats.estimates import Estimate, Undefined
from fullbench.stats.shares import wilson


def cluster_mean(total: float, n: int, clusters: int, squares: float, *, level: float = 0.95) -> Estimate:
    """A mean with the interval that is robust to clusters (Liang and Zeger 1986, doi:10.1093/biomet/73.1.13).

    `squares` is the sum over clusters of the square of (the cluster's sum - the mean * the cluster's size); Student's t
    with one degree of freedom less than there are clusters gives the width.

    >>> rows = {"a": [1, 2], "b": [4], "c": [3, 5]}
    >>> squares = sum((sum(marks) - 3.0 * len(marks)) ** 2 for marks in rows.values())
    >>> print(cluster_mean(15, 5, 3, squares))
    3.000 [-0.943, 6.943] n=5
    """
    from scipy.special import stdtrit

    if n <= 0:
        raise Undefined("a mean of nothing: no row was counted")
    if clusters < 2:
        raise Undefined("an interval over clusters needs at least two of them; found one")
    value = total / n
    half = float(stdtrit(clusters - 1, (1 + level) / 2)) * (squares * clusters / (clusters - 1)) ** 0.5 / n
    return Estimate(value, value - half, value + half, n, level, "cluster-robust")


def cluster_share(hits: float, n: int, clusters: int, squares: float, *, level: float = 0.95) -> Estimate:
    """A share with the same interval, kept between 0 and 1; Wilson's on the clusters where all rows hit, or none.

    >>> print(cluster_share(6, 6, 3, 0.0))
    1.000 [0.439, 1.000] n=6
    """
    if n > 0 and hits in {0, n}:
        return replace(wilson(clusters if hits else 0, clusters, level=level), n=n)
    found = cluster_mean(hits, n, clusters, squares, level=level)
    return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))
