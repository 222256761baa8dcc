"""Shares: so many of so many."""

from __future__ import annotations

from fullbench.stats.estimates import Estimate, Undefined


def wilson(hits: float, n: int, *, level: float = 0.95) -> Estimate:
    """A share with Wilson's score interval (Wilson 1927, doi:10.1080/01621459.1927.10502953).

    `hits` may be half a number where ties count half.

    >>> print(wilson(8, 10))
    0.800 [0.490, 0.943] n=10
    """
    from scipy.special import ndtri

    if n <= 0:
        raise Undefined("a share of nothing: no row was counted")
    if not 0 <= hits <= n:
        raise ValueError(f"a share needs 0 <= hits <= n; found {hits} of {n}")
    z = float(ndtri((1 + level) / 2))
    share = hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * (share * (1 - share) / n + z * z / (4 * n * n)) ** 0.5
    low = 0.0 if hits == 0 else max(0.0, centre - half)
    high = 1.0 if hits == n else min(1.0, centre + half)
    return Estimate(share, low, high, n, level, "Wilson")
