"""Two judges on the same cases, and many questions at once."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from fullbench.stats.intervals import statistics_for_bootstrap
from fullbench.stats.paired_comparison_and_test_corrections import (
    benjamini_hochberg,
    holm_correction,
    paired_difference,
)

P = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(P)
@settings(max_examples=30)
def test_corrections_are_statsmodels(p):
    for ours, name in ((benjamini_hochberg, "fdr_bh"), (holm_correction, "holm")):
        # It collects garbage each time: half a second in a process that has run some thousand tests.
        with mock.patch("gc.collect"):
            passed, adjusted, _, _ = multipletests(p, alpha=0.05, method=name)
        assert ours(p).p == pytest.approx(adjusted)
        assert [a <= 0.05 for a in ours(p).p] == list(ours(p).is_significant)
        if not np.isclose(adjusted, 0.05).any():
            assert list(ours(p).is_significant) == list(passed)


def test_nothing_asked_nothing_found():
    assert benjamini_hochberg([]).p == holm_correction([]).p == ()
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm_correction([1.5])


def test_a_paired_difference_is_sharper_than_two_intervals():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 500)
    hard = rng.random(500) < 0.4
    one = np.where(hard, 1 - truth, truth)
    two = np.where(hard | (rng.random(500) < 0.06), 1 - truth, truth)
    found = paired_difference(statistics_for_bootstrap.share_equal, one, two, truth)
    assert found.value == pytest.approx((one == truth).mean() - (two == truth).mean())
    assert found.low > 0
    assert found.high - found.low < 0.06


def test_equal_judges_differ_by_nothing():
    found = paired_difference(statistics_for_bootstrap.share_equal, [1, 0, 1, 1], [1, 0, 1, 1], [1, 1, 1, 0])
    assert (found.value, found.low, found.high) == (0, 0, 0)
