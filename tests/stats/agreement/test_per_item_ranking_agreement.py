"""Rankings: edit distance, Kendall, exact and top-1 match."""

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from fullbench.errors import Undefined
from fullbench.stats.agreement.per_item_ranking_agreement import (
    edit_distance,
    exact_match,
    mean_edit_distance,
    mean_rank_correlation,
    rank_correlation,
    top_match,
)

ORDERS = st.permutations(list("ABCDEF"))


def plain_distance(one, two):
    """Wagner and Fischer's table, written out."""
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(two, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]


@given(ORDERS, ORDERS)
def test_edit_distance_is_the_textbooks_and_symmetric(one, two):
    assert edit_distance(one, two) == pytest.approx(plain_distance(one, two) / 6)
    assert edit_distance(one, two) == edit_distance(two, one)


@given(ORDERS, ORDERS)
def test_kendall_of_two_orders_is_scipys(one, two):
    expected = scipy.stats.kendalltau(range(6), [two.index(thing) for thing in one]).statistic
    assert rank_correlation(one, two) == pytest.approx(expected)


def test_the_longer_order_is_the_yardstick():
    assert edit_distance("ABC", "ABCDE") == pytest.approx(2 / 5)


def test_means_over_items_and_matches():
    ours, theirs = ["ABCD", "BACD", "DCBA"], ["ABCD", "ABCD", "DCAB"]
    assert mean_edit_distance(ours, theirs).value == pytest.approx((0 + 0.5 + 0.5) / 3)
    assert mean_rank_correlation(ours, theirs).value == pytest.approx((1 + 4 / 6 + 4 / 6) / 3)
    assert (exact_match(ours, theirs).value, top_match(ours, theirs).value) == (
        pytest.approx(1 / 3),
        pytest.approx(2 / 3),
    )
    assert exact_match(ours, theirs).n == 3


def test_orders_of_different_things_are_refused():
    with pytest.raises(ValueError, match="same things"):
        rank_correlation("ABC", "ABD")
    with pytest.raises(ValueError, match="same things"):
        rank_correlation("AAB", "AAB")
    with pytest.raises(Undefined):
        rank_correlation("A", "A")
    with pytest.raises(Undefined):
        mean_edit_distance([], [])
