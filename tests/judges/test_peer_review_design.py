"""Who reviews whom: complete, even, never oneself."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.errors import InputError
from fullbench.judges.peer_review.design import full, sampled

IMAGES = [f"p{place}" for place in range(10)]
NAMES = ["gpt-4o", "gpt-4o-mini", "claude-3-haiku", "claude-3.5-sonnet", "gemini-1.5-pro", "llama-3.2"]


def test_the_full_design_is_every_reviewer_on_every_two_others():
    slots = full(IMAGES, NAMES)
    assert len(set(slots)) == len(slots) == 10 * 6 * 10
    assert all(len({slot.reviewer, slot.one, slot.two}) == 3 for slot in slots)


def test_families_never_review_their_own():
    kin = {name: name.split("-")[0] for name in NAMES}
    slots = full(IMAGES, NAMES, kin)
    assert all(kin[slot.reviewer] not in {kin[slot.one], kin[slot.two]} for slot in slots)
    assert Counter(slot.reviewer for slot in slots)["gemini-1.5-pro"] == 10 * 10
    assert Counter(slot.reviewer for slot in slots)["gpt-4o"] == 10 * 6


@given(st.integers(1, 700), st.integers(0, 5))
def test_a_sample_is_even_over_reviewers_and_pairs(reviews, seed):
    slots = full(IMAGES, NAMES)
    some = sampled(slots, reviews, seed)
    assert len(some) == len(set(some)) == min(reviews, len(slots))
    assert set(some) <= set(slots)
    met = Counter((slot.reviewer, slot.one, slot.two) for slot in some)
    counts = [met[key] for key in {(slot.reviewer, slot.one, slot.two) for slot in slots}]
    assert max(counts) - min(counts) <= 1


def test_a_sample_is_the_same_again_and_another_by_another_seed():
    slots = full(IMAGES, NAMES)
    assert sampled(slots, 90, 1) == sampled(slots, 90, 1) != sampled(slots, 90, 2)
    with pytest.raises(InputError, match="at least one review"):
        sampled(slots, 0)
