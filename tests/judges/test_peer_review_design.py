"""Who reviews whom: complete, even, never oneself."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.errors import InputError
from fullbench.judges.peer_review.reviewer_assignment import full_design, sample_design

IMAGES = [f"p{place}" for place in range(12)]
NAMES = ["gpt-4o", "gpt-4o-mini", "claude-3-haiku", "claude-3.5-sonnet", "gemini-1.5-pro", "llama-3.2"]


def test_the_full_design_is_every_reviewer_on_every_two_others():
    slots = full_design(IMAGES, NAMES)
    assert len(set(slots)) == len(slots) == 12 * 6 * 10
    assert all(len({slot.reviewer, slot.first, slot.second}) == 3 for slot in slots)


def test_families_never_review_their_own():
    kin = {name: name.split("-")[0] for name in NAMES}
    slots = full_design(IMAGES, NAMES, kin)
    assert all(kin[slot.reviewer] not in {kin[slot.first], kin[slot.second]} for slot in slots)
    assert Counter(slot.reviewer for slot in slots)["gemini-1.5-pro"] == 12 * 10
    assert Counter(slot.reviewer for slot in slots)["gpt-4o"] == 12 * 6


def spread(counted: Counter, keys: set) -> int:
    counts = [counted[key] for key in keys]
    return max(counts) - min(counts)


@given(st.data(), st.integers(1, 12), st.integers(3, 6), st.integers(0, 5))
def test_a_sample_is_even_over_pictures_reviewers_and_pairs(data, pictures, models, seed):
    slots = full_design(IMAGES[:pictures], NAMES[:models])
    reviews = data.draw(st.integers(1, len(slots)))
    some = sample_design(slots, reviews, seed)
    assert len(some) == len(set(some)) == reviews
    assert set(some) <= set(slots)
    for part in (
        lambda slot: slot.image,
        lambda slot: slot.reviewer,
        lambda slot: (slot.reviewer, slot.first, slot.second),
    ):
        assert spread(Counter(map(part, some)), set(map(part, slots))) <= 1


def test_a_sample_does_not_tie_reviewers_to_pictures():
    """Six reviewers and six pictures go round side by side; each reviewer meets several pictures all the same."""
    some = sample_design(full_design(IMAGES[:6], NAMES), 60, 1)
    met = {name: {slot.image for slot in some if slot.reviewer == name} for name in NAMES}
    assert min(map(len, met.values())) >= 3


def test_kin_apart_leave_pictures_and_pairs_even():
    kin = {name: name.split("-")[0] for name in NAMES}
    slots = full_design(IMAGES, NAMES, kin)
    some = sample_design(slots, 95, 3)
    assert spread(Counter(slot.image for slot in some), set(IMAGES)) <= 1
    met = Counter((slot.reviewer, slot.first, slot.second) for slot in some)
    assert spread(met, {(slot.reviewer, slot.first, slot.second) for slot in slots}) <= 1


def test_a_sample_is_the_same_again_and_another_by_another_seed():
    slots = full_design(IMAGES, NAMES)
    assert sample_design(slots, 90, 1) == sample_design(slots, 90, 1) != sample_design(slots, 90, 2)
    with pytest.raises(InputError, match="at least one review"):
        sample_design(slots, 0)
