"""Shares: so many of so many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fullbench.errors import Undefined
from fullbench.nouns.estimate import Estimate
from fullbench.nouns.note import Note
from fullbench.stats.arrays import Numbers, column
from fullbench.stats.bootstrap import Labels, bootstrap
from fullbench.stats.quantiles import normal_quantile
from fullbench.stats.weighted import mean


def wilson(hits: float, n: int, *, level: float = 0.95) -> Estimate:
    """A share with Wilson's score interval (Wilson 1927, doi:10.1080/01621459.1927.10502953).

    `hits` may be half a number where ties count half.

    >>> print(wilson(8, 10))
    0.800 [0.490, 0.943] n=10
    """
    if n <= 0:
        raise Undefined(Note("undefined.a-share-of-nothing-no", "a share of nothing: no row was counted"))
    if not 0 <= hits <= n:
        raise ValueError(f"a share needs 0 <= hits <= n; found {hits} of {n}")
    z = normal_quantile((1 + level) / 2)
    share = hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    low = 0.0 if hits == 0 else max(0.0, centre - half)
    high = 1.0 if hits == n else min(1.0, centre + half)
    return Estimate(share, low, high, n, level, "Wilson")


def share(
    hits: Numbers, *, cluster: Labels | None = None, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> Estimate:
    """The mean of a column of hits (1), misses (0) and halves: Wilson's interval, or the bootstrap over clusters.

    Where all rows hit, or none, resampling shows no spread: then it is Wilson's interval on the number of clusters.

    >>> print(share([1, 1, 1, 1, 1, 1], cluster=["a", "a", "b", "b", "c", "c"]))
    1.000 [0.439, 1.000] n=6
    """
    rows = column(hits, "hits")
    if ((rows < 0) | (rows > 1)).any():
        raise ValueError("hits lie between 0 and 1")
    if cluster is None:
        return wilson(float(rows.sum()), len(rows), level=level)
    if len(rows) and np.isin(rows[0], (0, 1)) and (rows == rows[0]).all():
        clusters = len(np.unique(np.asarray(cluster)))
        return replace(wilson(clusters * int(rows[0]), clusters, level=level), n=len(rows))
    return bootstrap(mean, rows, cluster=cluster, resamples=resamples, level=level, seed=seed)
