"""Evenness within groups: against plain loops, and where the figures are not defined."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.errors import Undefined
from fullbench.stats.bias.score_evenness_within_groups import (
    by_group,
    counts_by,
    dispersion_score,
    gini_coefficient,
    gini_equality,
    near_pairs,
)

scores = st.lists(st.floats(0, 1), min_size=2, max_size=40)
positive = st.lists(st.floats(0.01, 100), min_size=1, max_size=40)


@given(scores)
def test_near_pairs_are_counted_as_a_plain_loop_counts_them(x):
    pairs = list(combinations(x, 2))
    assert near_pairs(x) == pytest.approx(sum(abs(a - b) <= 0.1 for a, b in pairs) / len(pairs))


def test_near_pairs_of_many_scores_are_counted_in_blocks():
    x = np.random.default_rng(0).random(5000)
    ordered = np.sort(x)
    wanted = sum(np.searchsorted(ordered, value + 0.1, "right") - place - 1 for place, value in enumerate(ordered))
    assert near_pairs(x) == pytest.approx(wanted / (5000 * 4999 / 2), abs=1e-6)


@given(positive)
def test_gini_is_the_mean_difference_over_twice_the_mean(x):
    n = len(x)
    wanted = sum(abs(a - b) for a in x for b in x) / (2 * n * n * np.mean(x))
    assert gini_coefficient(x) == pytest.approx(wanted, abs=1e-9)
    assert 0 <= gini_coefficient(x) + 1e-12 < 1


@given(positive, st.floats(0.1, 10))
def test_the_scale_does_not_matter_but_zero_does(x, factor):
    stretched = [factor * value for value in x]
    assert gini_equality(stretched) == pytest.approx(gini_equality(x), abs=1e-9)
    assert dispersion_score(stretched) == pytest.approx(dispersion_score(x), abs=1e-6)
    assert gini_equality([value + 5 for value in x]) >= gini_equality(x) - 1e-9


@given(st.floats(0.01, 100), st.integers(1, 10))
def test_equal_scores_are_even_by_all_three(value, n):
    x = [value] * n
    assert near_pairs(x) == 1
    assert gini_equality(x) == pytest.approx(1)
    assert dispersion_score(x) == pytest.approx(1)


@pytest.mark.parametrize("figure", [gini_coefficient, gini_equality, dispersion_score])
def test_what_is_not_defined_says_why(figure):
    with pytest.raises(Undefined, match="1 of 3 scores is negative"):
        figure([-1, 2, 3])
    with pytest.raises(Undefined, match="the mean of 2 scores is 0"):
        figure([0, 0])
    with pytest.raises(Undefined, match="nothing"):
        figure([])


def test_groups_are_averaged_both_ways():
    found = by_group(near_pairs, [0, 0, 0, 0, 1], list("aaabb"))
    assert found.values == {"a": 1.0, "b": 0.0}
    assert found.mean() == 0.5
    assert found.mean_over_rows() == pytest.approx(0.6)
    assert found.mean_over_rows(counts_by(list("ab"))) == 0.5
    with pytest.raises(Undefined, match="none of 2 groups"):
        by_group(gini_coefficient, [-1, -2], list("ab")).mean()
