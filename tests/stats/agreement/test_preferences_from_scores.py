"""Preferences from scores: thresholds, ties, normalisation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import minmax_scale

from fullbench.errors import Undefined
from fullbench.stats.agreement.preferences_from_scores import (
    min_max,
    normalised_pairs,
    pair_outcomes,
    preference_accuracy,
)

pairs = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=40)


@given(st.lists(st.integers(-100, 100), min_size=2, max_size=40).filter(lambda x: len(set(x)) > 1))
def test_a_column_is_stretched_as_scikit_learn_stretches_it(x):
    assert min_max(x) == pytest.approx(minmax_scale(np.array(x, dtype=float)))


def test_a_constant_or_empty_column_cannot_be_stretched():
    with pytest.raises(Undefined, match="constant"):
        min_max([2, 2, 2])
    with pytest.raises(Undefined, match="nothing"):
        min_max([])


@given(pairs)
def test_swapping_the_pair_turns_every_outcome(found):
    one, two = zip(*found, strict=True)
    assert pair_outcomes(one, two, margin=2) == pytest.approx(1 - pair_outcomes(two, one, margin=2))


@given(pairs)
def test_with_ties_wrong_accuracy_falls_as_the_margin_grows(found):
    one, two = zip(*found, strict=True)
    values = [preference_accuracy(one, two, margin=margin).value for margin in (0, 1, 2, 5, 10)]
    assert values == sorted(values, reverse=True)


@given(pairs)
def test_both_ways_to_count_ties(found):
    one, two = zip(*found, strict=True)
    right = sum(a > b for a, b in found)
    tied = sum(a == b for a, b in found)
    assert preference_accuracy(one, two).value == pytest.approx(right / len(found))
    if tied < len(found):
        assert preference_accuracy(one, two, ties="left out").value == pytest.approx(right / (len(found) - tied))
    else:
        with pytest.raises(Undefined, match="tie"):
            preference_accuracy(one, two, ties="left out")


def test_the_two_columns_are_stretched_together():
    one, two = normalised_pairs([0, 10], [5, 20])
    assert (one.tolist(), two.tolist()) == ([0, 0.5], [0.25, 1])


def test_a_negative_margin_is_a_mistake():
    with pytest.raises(ValueError, match="margin"):
        pair_outcomes([1], [2], margin=-0.1)
