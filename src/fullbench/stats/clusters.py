"""Means from sums by cluster, for data too large to resample: one pass, no rows in memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fullbench.errors import Undefined
from fullbench.nouns.estimate import Estimate
from fullbench.nouns.note import Note
from fullbench.stats.arrays import Floats, Numbers
from fullbench.stats.quantiles import student_quantile
from fullbench.stats.shares import wilson

_BLOCK = 1 << 20


def cluster_mean(total: float, n: int, clusters: int, squares: float, *, level: float = 0.95) -> Estimate:
    """A mean with the interval that is robust to clusters (Liang and Zeger 1986, doi:10.1093/biomet/73.1.13).

    `squares` is the sum over clusters of the square of (the cluster's sum - the mean * the cluster's size); Student's t
    with one degree of freedom less than there are clusters gives the width.

    >>> rows = {"a": [1, 2], "b": [4], "c": [3, 5]}
    >>> squares = sum((sum(marks) - 3.0 * len(marks)) ** 2 for marks in rows.values())
    >>> print(cluster_mean(15, 5, 3, squares))
    3.000 [-0.943, 6.943] n=5
    """
    if n <= 0:
        raise Undefined(Note("undefined.a-mean-of-nothing-no", "a mean of nothing: no row was counted"))
    if clusters < 2:
        raise Undefined(
            Note(
                "undefined.an-interval-over-clusters-needs",
                "an interval over clusters needs at least two of them; found one",
            )
        )
    value = total / n
    half = student_quantile(clusters - 1, (1 + level) / 2) * (squares * clusters / (clusters - 1)) ** 0.5 / n
    return Estimate(value, value - half, value + half, n, level, "cluster-robust")


def cluster_share(hits: float, n: int, clusters: int, squares: float, *, level: float = 0.95) -> Estimate:
    """A share with the same interval, kept between 0 and 1; Wilson's on the clusters where all rows hit, or none.

    >>> print(cluster_share(6, 6, 3, 0.0))
    1.000 [0.439, 1.000] n=6
    """
    if n > 0 and hits in {0, n}:
        return replace(wilson(clusters if hits else 0, clusters, level=level), n=n)
    estimate = cluster_mean(hits, n, clusters, squares, level=level)
    return replace(estimate, low=max(0.0, estimate.low), high=min(1.0, estimate.high))


class PoissonBootstrap:
    """A mean whose interval is resampled in one pass: clusters come by, a block at a time, and are forgotten.

    Each cluster counts in each resample as often as a Poisson number with mean 1 says, which is how often it would be
    drawn (Hanley and MacGibbon 2006, doi:10.1016/j.cmpb.2006.04.006); the sums of all resamples are kept, and nothing
    else.

    >>> resampled = PoissonBootstrap(seed=1)
    >>> for marks in ([1, 2], [4], [3, 5], [2, 2], [5]):
    ...     resampled.add([sum(marks)], [len(marks)])
    >>> print(resampled.mean())
    3.000 [1.750, 4.500] n=8
    """

    def __init__(self, resamples: int = 1000, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        self._totals, self._sizes = np.zeros(resamples), np.zeros(resamples)
        self._total = 0.0
        self._n = self._clusters = 0

    def add(self, totals: Numbers, sizes: Numbers) -> None:
        """A block of clusters: the sum over the rows of each, and how many rows they are."""
        parts: Floats = np.asarray([totals, sizes], dtype=np.float64)
        step = max(1, _BLOCK // len(self._totals))
        for start in range(0, parts.shape[1], step):
            block = parts[:, start : start + step]
            drawn = self._rng.poisson(1.0, (block.shape[1], len(self._totals))).astype(np.float64)
            self._totals += block[0] @ drawn
            self._sizes += block[1] @ drawn
        self._total += float(parts[0].sum())
        self._n += int(parts[1].sum())
        self._clusters += parts.shape[1]

    def mean(self, *, level: float = 0.95) -> Estimate:
        """The mean of all rows, with quantiles of the resampled means."""
        if self._clusters < 2:
            raise Undefined(
                Note(
                    "undefined.an-interval-needs-at-least",
                    "an interval needs at least two clusters; found {clusters} ({n} rows)",
                    clusters=self._clusters,
                    n=self._n,
                )
            )
        known = self._sizes > 0
        low, high = np.quantile(self._totals[known] / self._sizes[known], [(1 - level) / 2, (1 + level) / 2])
        name = f"percentile bootstrap over {self._clusters} clusters, {len(known)} resamples by Poisson weights"
        return Estimate(self._total / self._n, float(low), float(high), self._n, level, name)

    def share(self, *, level: float = 0.95) -> Estimate:
        """A share with the same interval; Wilson's on the clusters where all rows hit, or none."""
        if self._n and self._total in {0, self._n}:
            return cluster_share(self._total, self._n, self._clusters, 0.0, level=level)
        return self.mean(level=level)
