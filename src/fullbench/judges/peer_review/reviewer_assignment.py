"""Assignment of reviewers to pictures and contestants: the full design, or an even sample of it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import gcd

from fullbench.core.case import Case
from fullbench.errors import InputError


@dataclass(frozen=True, slots=True)
class ReviewSlot:
    """One review: a picture, the reviewer who writes the question and judges, and the two contestants who answer."""

    image: str
    reviewer: str
    first: str
    second: str


def full_design(
    images: Sequence[str], contestants: Sequence[str], families: Mapping[str, str] | None = None
) -> list[ReviewSlot]:
    """Return every picture with every reviewer and every pair of others; `families` excludes a reviewer's own family.

    >>> len(full_design([str(i) for i in range(25)], list("ABCDEF")))
    1500
    """
    if len(set(contestants)) < 3:
        raise InputError(
            f"peer review needs at least three contestants, one to ask and two to answer; found {len(set(contestants))}"
        )
    family_by_name = families or {name: name for name in contestants}
    slots = [
        ReviewSlot(image, reviewer, first, second)
        for image in images
        for reviewer in contestants
        for first, second in combinations(
            sorted(name for name in contestants if family_by_name[name] != family_by_name[reviewer]), 2
        )
    ]
    if not slots:
        family_names = ", ".join(sorted(set(family_by_name.values())))
        raise InputError(
            f"no reviews are possible: each contestant has fewer than two others outside its own family "
            f"(families: {family_names}); add contestants of other families, or let families review their own"
        )
    return slots


def sample_design(slots: Sequence[ReviewSlot], reviews: int | None, seed: int = 0) -> list[ReviewSlot]:
    """Return `reviews` slots of a full design, spread evenly; all of it if `reviews` is None.

    The counts of any two reviewers, any two pictures (or given questions), and any two reviewer-pair combinations
    differ by at most one. The seed determines the order of pictures and of reviewers with their pairs. Both orders
    are cycled in parallel, so each combination gets its next picture in the next round.

    >>> some = sample_design(full_design(["a", "b", "c"], list("ABCD")), 12)
    >>> len({(slot.reviewer, slot.first, slot.second) for slot in some})
    12
    """
    if reviews is None or reviews >= len(slots):
        return list(slots)
    if reviews < 1:
        raise InputError(f"a sample needs at least one review; found {reviews}")
    rng = random.Random(seed)
    images = sorted({slot.image for slot in slots})
    rng.shuffle(images)
    groups = _in_turns({(slot.reviewer, slot.first, slot.second) for slot in slots}, rng)
    # If the two cycle lengths have a common divisor, a group would meet the same picture again. So the pictures shift
    # by one each time all of them were drawn equally often.
    rounds = len(images) // gcd(len(images), len(groups))
    sampled_slots = [
        ReviewSlot(images[(number + number // len(groups) // rounds) % len(images)], *groups[number % len(groups)])
        for number in range(reviews)
    ]
    return sorted(sampled_slots, key=lambda slot: (slot.image, slot.reviewer, slot.first, slot.second))


def _in_turns(groups: Iterable[tuple[str, str, str]], rng: random.Random) -> list[tuple[str, str, str]]:
    """Return the groups with reviewers taking turns, in a new random order each time, their pairs shuffled."""
    by_reviewer: dict[str, list[tuple[str, str, str]]] = {}
    for group in sorted(groups):
        by_reviewer.setdefault(group[0], []).append(group)
    for pairs in by_reviewer.values():
        rng.shuffle(pairs)
    ordered_groups: list[tuple[str, str, str]] = []
    while any(by_reviewer.values()):
        waiting = [pairs for pairs in by_reviewer.values() if pairs]
        rng.shuffle(waiting)
        ordered_groups += [pairs.pop() for pairs in waiting]
    return ordered_groups


def cases_in_slots(
    cases: Iterable[Case], slots: Iterable[ReviewSlot], *, has_given_questions: bool = False
) -> list[Case]:
    """Return the cases that belong to one of the slots. With `has_given_questions`, a slot's image is an item id."""
    slot_keys = {(slot.image, "" if has_given_questions else slot.reviewer, slot.first, slot.second) for slot in slots}

    def key(case: Case) -> tuple[str, ...]:
        place = (
            (case.item.id, "")
            if has_given_questions
            else (case.item.tags.get("image", ""), case.item.tags.get("reviewer", ""))
        )
        return (*place, *sorted(case.contestants))

    return [case for case in cases if key(case) in slot_keys]
