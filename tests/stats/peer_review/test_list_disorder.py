"""Orders: against definitions worked out by brute force, and published values."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fullbench.errors import Undefined
from fullbench.stats.peer_review.list_disorder import (
    count_inversions,
    longest_increasing,
    pattern_entropy,
    permutation_entropy,
    subsequence_entropy,
    true_ranks,
)

lists = st.lists(st.integers(-5, 5), min_size=1, max_size=8)


@given(lists)
def test_inversions_are_the_pairs_in_the_wrong_order(values):
    assert count_inversions(values) == sum(one > two for one, two in combinations(values, 2))


@given(lists)
def test_the_longest_increasing_part_is_the_longest_of_all(values):
    longest = max(
        size
        for size in range(1, len(values) + 1)
        for part in combinations(values, size)
        if all(one < two for one, two in pairwise(part))
    )
    assert longest_increasing(values) == longest


@given(st.permutations(range(7)))
def test_inversions_are_kendalls_tau_by_another_name(order):
    tau = stats.kendalltau(range(7), order).statistic
    assert count_inversions(order) == pytest.approx((1 - tau) * 21 / 2)


@given(st.permutations(range(8)), st.sampled_from([2, 3, 4]))
def test_entropy_is_zero_when_sorted_either_way_and_never_above_the_logarithm_of_the_patterns(order, size):
    assert permutation_entropy(range(8), order=size) == permutation_entropy(range(8, 0, -1), order=size) == 0
    found = permutation_entropy(order, order=size)
    assert 0 <= found <= log(len(list(permutations(range(size))))) + 1e-12
    assert permutation_entropy(order, order=size, is_normalised=True) <= 1 + 1e-12


def test_the_example_of_bandt_and_pompe():
    # their section 2: 4 7 9 10 6 11 3, order 2 gives 4 rises and 2 falls, order 3 the shares 2/5, 1/5, 2/5
    series = [4, 7, 9, 10, 6, 11, 3]
    assert permutation_entropy(series, order=2) / log(2) == pytest.approx(0.918, abs=5e-4)
    assert permutation_entropy(series, order=3) / log(2) == pytest.approx(1.522, abs=5e-4)


@given(st.permutations(range(6)))
def test_all_subsequences_hold_the_windows_too(order):
    every = [[order[place] for place in places] for places in combinations(range(6), 3)]
    assert subsequence_entropy(order) == pytest.approx(pattern_entropy(every))


def test_ranks_follow_the_scores():
    assert true_ranks([5, 1, 3, 2], [1, 2, 3, 4]) == [3, 1, 0, 2]
    with pytest.raises(ValueError, match="one length"):
        true_ranks([1, 2], [1])


def test_too_short_a_list_has_no_patterns():
    with pytest.raises(Undefined, match="at least 3; found 2"):
        permutation_entropy([1, 2])
    with pytest.raises(Undefined, match="windows of two values"):
        pattern_entropy([])
