"""Quantiles of the normal distribution and of Student's t in plain Python.

SciPy has them too, but importing `scipy.special` takes a fifth of a second: more than all that a small table needs. The
tests compare both.
"""

from __future__ import annotations

from functools import cache
from math import atan2, exp, hypot, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

_SERIES_FROM = 2000
"""From so many degrees of freedom on, five terms of the series are exact to the last digits."""


def normal_quantile(share: float) -> float:
    """The value below which that share of a normal distribution lies.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return NormalDist().inv_cdf(share)


@cache
def student_quantile(freedom: int, share: float) -> float:
    """The value below which that share of Student's t with so many degrees of freedom lies.

    >>> round(student_quantile(2, 0.975), 4), student_quantile(1, 0.5)
    (4.3027, 0.0)
    """
    if not 0 < share < 1 or freedom < 1:
        raise ValueError(f"a quantile needs a share between 0 and 1 and some freedom; found {share} and {freedom}")
    if share <= 0.5:
        return -student_quantile(freedom, 1 - share) if share < 0.5 else 0.0
    value = _series(freedom, normal_quantile(share))
    if freedom >= _SERIES_FROM:
        return value
    for _ in range(100):
        step = (_within(value, freedom) - (2 * share - 1)) / (2 * _density(value, freedom))
        # The density falls, so a step from above may go too far: never past a tenth of the way to zero.
        value = max(value - step, value / 10)
        # Newton's steps double the right digits: after one so small, all are right.
        if abs(step) < 1e-9 * value:
            break
    return value


def student_reach(freedom: float, share: float) -> float:
    """The same for degrees of freedom that are no whole number: between its neighbours, along 1 / freedom.

    >>> round(student_reach(7.5, 0.975), 2), student_reach(7, 0.975) == student_quantile(7, 0.975)
    (2.33, True)
    """
    least = max(1, int(freedom))
    here = student_quantile(least, share)
    if freedom <= least:
        return here
    part = (1 / least - 1 / freedom) / (1 / least - 1 / (least + 1))
    return exp((1 - part) * log(here) + part * log(student_quantile(least + 1, share)))


def _series(freedom: int, z: float) -> float:
    """Fisher's expansion of the quantile by powers of 1 / freedom (Abramowitz and Stegun 1964, 26.7.5)."""
    s = z * z
    terms = (
        z,
        z * (s + 1) / 4,
        z * ((5 * s + 16) * s + 3) / 96,
        z * (((3 * s + 19) * s + 17) * s - 15) / 384,
        z * ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945) / 92160,
    )
    return sum(term / float(freedom) ** power for power, term in enumerate(terms))


def _density(value: float, freedom: int) -> float:
    height = lgamma((freedom + 1) / 2) - lgamma(freedom / 2)
    return exp(height - (freedom + 1) / 2 * log1p(value * value / freedom)) / sqrt(freedom * pi)


def _within(value: float, freedom: int) -> float:
    """The share of Student's t between -value and value: a finite sum (Abramowitz and Stegun 1964, 26.7.3 and 4)."""
    root = sqrt(freedom)
    angle = atan2(value, root)
    sine, cosine = value / hypot(value, root), root / hypot(value, root)
    odd = freedom % 2
    term = total = 0.0 if freedom == 1 else cosine if odd else 1.0
    for step in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    return 2 / pi * (angle + sine * total) if odd else sine * total
