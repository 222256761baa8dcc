"""Intervals of shares (hits out of n): Wilson's interval, or an interval over clusters."""

from __future__ import annotations

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Numbers, finite_column, label_codes
from fullbench.stats.intervals.bootstrap_and_jackknife import Labels
from fullbench.stats.intervals.cluster_intervals import cluster_mean
from fullbench.stats.intervals.normal_and_t_quantiles import normal_quantile


def wilson_interval(hits: float, n: int, *, level: float = 0.95) -> Estimate:
    """Return a share with Wilson's score interval (Wilson 1927, doi:10.1080/01621459.1927.10502953).

    `hits` may be a multiple of one half if ties count half.

    >>> print(wilson_interval(8, 10))
    0.800 [0.490, 0.943] n=10
    """
    if n <= 0:
        raise Undefined(Note("undefined.a-share-of-nothing-no"))
    if not 0 <= hits <= n:
        raise ValueError(f"a share needs 0 <= hits <= n; found {hits} of {n}")
    z = normal_quantile((1 + level) / 2)
    share = hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    low = 0.0 if hits == 0 else max(0.0, centre - half)
    high = 1.0 if hits == n else min(1.0, centre + half)
    return Estimate(share, low, high, n, level, "Wilson")


def share_estimate(hits: Numbers, *, cluster: Labels | None = None, level: float = 0.95) -> Estimate:
    """Return the mean of hits (1), misses (0) and halves, with Wilson's interval or a cluster interval.

    >>> print(share_estimate([1, 1, 1, 1, 1, 1], cluster=["a", "a", "b", "b", "c", "c"]))
    1.000 [0.368, 1.000] n=6
    """
    rows = finite_column(hits, "hits")
    if ((rows < 0) | (rows > 1)).any():
        raise ValueError("hits lie between 0 and 1")
    if cluster is None:
        return wilson_interval(float(rows.sum()), len(rows), level=level)
    names, owner = label_codes(cluster)
    if len(owner) != len(rows):
        raise ValueError(f"the clusters must have one label a row; found {len(owner)} for {len(rows)} rows")
    totals, sizes = np.bincount(owner, rows, len(names)), np.bincount(owner, minlength=len(names))
    return cluster_mean(totals.astype(np.float64), sizes.astype(np.float64), within=(0.0, 1.0), level=level)
