"""Consistency: the share of the most frequent verdict, and the majority criterion."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.errors import Undefined
from fullbench.stats.agreement.judge_repeat_and_contestant_rephrasing_consistency import measure_steadiness


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ABC")), min_size=30, max_size=60))
def test_shares_are_those_counted_by_hand(rows):
    items, said = zip(*rows, strict=True)
    by_item = {}
    for item, verdict in rows:
        by_item.setdefault(item, Counter())[verdict] += 1
    kept = {item: counts for item, counts in sorted(by_item.items()) if counts.total() > 1}
    if len(kept) < 2:
        return
    found = measure_steadiness(items, said)
    assert found.shares == pytest.approx([counts.most_common(1)[0][1] / counts.total() for counts in kept.values()])
    assert found.items == tuple(kept)
    assert found.consistency.value == pytest.approx(sum(found.shares) / len(kept))
    assert found.majority.value == pytest.approx(sum(share > 0.5 for share in found.shares) / len(kept))
    assert sum(n for _, _, n in found.histogram()) == len(kept)


def test_half_is_no_majority():
    found = measure_steadiness([1, 1, 2, 2], ["A", "B", "A", "A"])
    assert (found.majority.value, found.consistency.value) == (0.5, 0.75)


def test_a_missing_verdict_counts_against_steadiness_when_trials_are_named():
    rows = ([1, 1, 1, 2, 2, 2, 2], [5, 5, 5, 4, 4, 4, 4])
    assert measure_steadiness(*rows).consistency.value == 1
    found = measure_steadiness(*rows, trials=6)
    assert found.shares == (0.5, 4 / 6)
    assert found.majority.value == 0.5
    with pytest.raises(ValueError, match="3 trials"):
        measure_steadiness(*rows, trials=3)


def test_single_hearings_say_nothing():
    with pytest.raises(Undefined):
        measure_steadiness([1, 2, 3], ["A", "A", "B"])
