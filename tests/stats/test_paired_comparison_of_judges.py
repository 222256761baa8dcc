"""Two judges on the same cases, and many questions at once."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statsmodels.stats.contingency_tables import mcnemar as exact
from statsmodels.stats.multitest import multipletests

from fullbench.stats.intervals import weighted_statistics
from fullbench.stats.paired_comparison_of_judges import (
    benjamini_hochberg,
    holm_correction,
    mcnemar_test,
    paired_difference,
)

P = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 5))
def test_mcnemar_is_statsmodels_and_does_not_care_who_is_first(more, fewer, both):
    one = [1] * more + [0] * fewer + [1] * (both + 1)
    two = [0] * more + [1] * fewer + [1] * (both + 1)
    found, turned = mcnemar_test(one, two), mcnemar_test(two, one)
    assert found.p == pytest.approx(exact([[both, more], [fewer, 0]], exact=True).pvalue)
    assert (found.p, found.mid_p) == (turned.p, turned.mid_p)
    assert found.mid_p <= found.p


def test_the_exact_test_never_errs_too_often_and_mid_p_errs_nearer_to_its_level():
    exactly, mid = [], []
    for n in range(8, 40):
        found = [mcnemar_test([1] * k + [0] * (n - k), [0] * k + [1] * (n - k)) for k in range(n + 1)]
        chance = binom.pmf(np.arange(n + 1), n, 0.5)
        exactly.append(chance @ [one.p <= 0.05 for one in found])
        mid.append(chance @ [one.mid_p <= 0.05 for one in found])
    assert max(exactly) <= 0.05
    assert abs(np.mean(mid) - 0.05) < abs(np.mean(exactly) - 0.05)


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
    found = paired_difference(weighted_statistics.share_equal, one, two, truth)
    assert found.value == pytest.approx((one == truth).mean() - (two == truth).mean())
    assert found.low > 0
    assert found.high - found.low < 0.06


def test_equal_judges_differ_by_nothing():
    found = paired_difference(weighted_statistics.share_equal, [1, 0, 1, 1], [1, 0, 1, 1], [1, 1, 1, 0])
    assert (found.value, found.low, found.high) == (0, 0, 0)
