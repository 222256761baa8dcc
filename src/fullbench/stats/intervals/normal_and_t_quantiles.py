"""Quantiles of the normal distribution, quantiles and tails of Student's t in plain Python.

SciPy has them too, but importing `scipy.special` takes 0.2 seconds, more than a whole small table. Tests compare both.
"""

from __future__ import annotations

from functools import cache
from math import atan2, exp, hypot, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

_SERIES_FROM = 2000
"""From this many degrees of freedom on, five terms of the series are exact to the last digits."""


_FRACTION_UP_TO = 100_000
"""Up to this many degrees of freedom, the continued fraction is exact to nine digits."""
_LARGEST_SQUARE = 1e290


def normal_quantile(share: float) -> float:
    """Return the quantile of the standard normal distribution at this share.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    return NormalDist().inv_cdf(share)


@cache
def student_quantile(freedom: float, share: float) -> float:
    """Return the quantile of Student's t at this share; `freedom` need not be whole.

    >>> round(student_quantile(2, 0.975), 4), student_quantile(1, 0.5), round(student_quantile(7.5, 0.975), 4)
    (4.3027, 0.0, 2.333)
    """
    if not 0 < share < 1 or freedom < 1:
        raise ValueError(f"a quantile needs a share between 0 and 1 and some freedom; found {share} and {freedom}")
    if share <= 0.5:
        return -student_quantile(freedom, 1 - share) if share < 0.5 else 0.0
    value = _fisher_expansion(freedom, normal_quantile(share))
    if freedom >= _SERIES_FROM:
        return value
    for _ in range(100):
        step = (_central_share(value, freedom) - (2 * share - 1)) / (2 * _student_density(value, freedom))
        # The density falls, so a step may overshoot: never go below a tenth of the value.
        value = max(value - step, value / 10)
        # Newton's method doubles the correct digits per step, so after a step this small all are correct.
        if abs(step) < 1e-9 * value:
            break
    return value


def student_tails(freedom: float, value: float) -> float:
    """Return the two-sided p-value of a value of Student's t; `freedom` need not be whole.

    >>> round(student_tails(2, 4.3027), 4), student_tails(3, 0.0)
    (0.05, 1.0)
    """
    square = value * value
    if not (0 < freedom <= _FRACTION_UP_TO and square < _LARGEST_SQUARE):
        from scipy.special import stdtr

        return float(2 * stdtr(freedom, -abs(value)))
    return _incomplete_beta(freedom, square) if square else 1.0


def _fisher_expansion(freedom: float, z: float) -> float:
    """Expansion of the quantile in powers of 1 / freedom (Abramowitz and Stegun 1964, 26.7.5)."""
    s = z * z
    terms = (
        z,
        z * (s + 1) / 4,
        z * ((5 * s + 16) * s + 3) / 96,
        z * (((3 * s + 19) * s + 17) * s - 15) / 384,
        z * ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945) / 92160,
    )
    return sum(term / float(freedom) ** power for power, term in enumerate(terms))


def _student_density(value: float, freedom: float) -> float:
    height = lgamma((freedom + 1) / 2) - lgamma(freedom / 2)
    return exp(height - (freedom + 1) / 2 * log1p(value * value / freedom)) / sqrt(freedom * pi)


def _central_share(value: float, freedom: float) -> float:
    whole_freedom = round(freedom)
    return (
        _finite_sum_share(value, whole_freedom)
        if freedom == whole_freedom
        else 1 - _incomplete_beta(freedom, value * value)
    )


def _finite_sum_share(value: float, freedom: int) -> float:
    """The same for whole degrees of freedom, as a finite sum (Abramowitz and Stegun 1964, 26.7.3 and 4)."""
    root = sqrt(freedom)
    angle = atan2(value, root)
    sine, cosine = value / hypot(value, root), root / hypot(value, root)
    odd = freedom % 2
    term = total = 0.0 if freedom == 1 else cosine if odd else 1.0
    for step in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    return 2 / pi * (angle + sine * total) if odd else sine * total


def _incomplete_beta(freedom: float, square: float) -> float:
    """I_x(freedom / 2, 1/2) at x = freedom / (freedom + square) by its continued fraction (Abramowitz and Stegun 1964,
    26.5.8).

    The fraction converges fast on one side of the mean. On the other, use 1 minus that of the swapped arguments.
    """
    x, rest, a, b = freedom / (freedom + square), square / (freedom + square), freedom / 2, 0.5
    is_swapped = x > (a + 1) / (a + b + 2)
    if is_swapped:
        x, rest, a, b = rest, x, b, a
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest)) / a
    above, below = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = below
    for step in range(1, 500):
        for part in (
            step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step)),
            -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1)),
        ):
            below, above = 1 / (1 + part * below), 1 + part / above
            fraction *= below * above
        if abs(below * above - 1) < 1e-15:
            break
    return 1 - front * fraction if is_swapped else front * fraction
