"""Quantiles in plain Python, beside SciPy's."""

from __future__ import annotations

import math

import pytest
from scipy.special import ndtri, stdtr, stdtrit

from fullbench.stats.intervals.normal_and_t_quantiles import normal_quantile, student_quantile, student_tails

SHARES = (0.01, 0.2, 0.5, 0.6, 0.75, 0.9, 0.95, 0.975, 0.995, 0.9995)


@pytest.mark.parametrize("share", SHARES)
def test_the_normal_quantile_is_scipys(share: float) -> None:
    assert normal_quantile(share) == pytest.approx(float(ndtri(share)), rel=1e-14, abs=1e-15)


@pytest.mark.parametrize("share", SHARES)
def test_the_quantile_of_students_t_is_scipys(share: float) -> None:
    for freedom in (*range(1, 130), 499, 500, 1999, 2000, 2001, 25_000, 1_000_000,
                    1.001, 1.5, 2.3, 3.7, 5.5, 12.4, 99.5, 731.25):  # fmt: skip
        assert student_quantile(freedom, share) == pytest.approx(float(stdtrit(freedom, share)), rel=1e-11, abs=1e-15)


@pytest.mark.parametrize(("freedom", "share"), [(0, 0.9), (3, 0.0), (3, 1.0), (3, 1.5)])
def test_a_quantile_that_does_not_exist_is_refused(freedom: int, share: float) -> None:
    with pytest.raises(ValueError, match="a quantile needs a share between 0 and 1"):
        student_quantile(freedom, share)


@pytest.mark.parametrize("freedom", [0.3, 1, 1.5, 2, 2.7, 9, 99.5, 1999, 2e4, 1e5, 1e6, math.inf])
def test_the_tails_of_students_t_are_scipys(freedom: float) -> None:
    for value in (0.0, 1e-9, 1e-3, 0.1, 0.7, 1.0, 1.96, 3.5, 8.0, 40.0, 1e5, 1e200):
        expected = float(2 * stdtr(freedom, -value))
        for signed_value in (value, -value):
            assert student_tails(freedom, signed_value) == pytest.approx(expected, rel=2e-8, abs=1e-300)
