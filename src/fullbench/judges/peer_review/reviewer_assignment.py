"""Who reviews whom on which picture: all of it, or an even part."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import gcd

from fullbench.core.case import Case
from fullbench.errors import InputError


@dataclass(frozen=True, slots=True)
class Slot:
    """One review: a picture, who asks and rules, and the two who answer, by name."""

    image: str
    reviewer: str
    one: str
    two: str


def full(images: Sequence[str], contestants: Sequence[str], families: Mapping[str, str] | None = None) -> list[Slot]:
    """Every picture, every reviewer, every two of the others; with `families`, nobody reviews its own either.

    >>> len(full([str(i) for i in range(25)], list("ABCDEF")))
    1500
    """
    if len(set(contestants)) < 3:
        raise InputError(
            f"peer review needs at least three contestants, one to ask and two to answer; found {len(set(contestants))}"
        )
    kin = families or {name: name for name in contestants}
    slots = [
        Slot(image, reviewer, first, second)
        for image in images
        for reviewer in contestants
        for first, second in combinations(sorted(name for name in contestants if kin[name] != kin[reviewer]), 2)
    ]
    if not slots:
        family_names = ", ".join(sorted(set(kin.values())))
        raise InputError(
            f"nobody may review anybody: outside each contestant's own family there are fewer than two others "
            f"(families: {family_names}); add contestants of other families, or let families review their own"
        )
    return slots


def sampled(slots: Sequence[Slot], reviews: int | None, seed: int = 0) -> list[Slot]:
    """`reviews` of a full design, spread evenly; all of it where `reviews` is None.

    No reviewer, no picture (or given question), and no two contestants before one reviewer have more than one review
    above any other. What is drawn from the seed is the order of pictures and of reviewers with their pairs: both go
    round side by side, each reviewer with each two meets its next picture in the next round.

    >>> some = sampled(full(["a", "b", "c"], list("ABCD")), 12)
    >>> len({(slot.reviewer, slot.one, slot.two) for slot in some})
    12
    """
    if reviews is None or reviews >= len(slots):
        return list(slots)
    if reviews < 1:
        raise InputError(f"a sample needs at least one review; found {reviews}")
    rng = random.Random(seed)
    images = sorted({slot.image for slot in slots})
    rng.shuffle(images)
    groups = _in_turns({(slot.reviewer, slot.one, slot.two) for slot in slots}, rng)
    # With a common divisor, going round would bring a group back to a picture that it had: each time all pictures were
    # drawn equally often, the pictures move on by one.
    rounds = len(images) // gcd(len(images), len(groups))
    drawn = [
        Slot(images[(number + number // len(groups) // rounds) % len(images)], *groups[number % len(groups)])
        for number in range(reviews)
    ]
    return sorted(drawn, key=lambda slot: (slot.image, slot.reviewer, slot.one, slot.two))


def _in_turns(groups: Iterable[tuple[str, str, str]], rng: random.Random) -> list[tuple[str, str, str]]:
    """Reviewers take turns, in another order each time, with their pairs in an order drawn."""
    by_reviewer: dict[str, list[tuple[str, str, str]]] = {}
    for group in sorted(groups):
        by_reviewer.setdefault(group[0], []).append(group)
    for pairs in by_reviewer.values():
        rng.shuffle(pairs)
    ordered: list[tuple[str, str, str]] = []
    while any(by_reviewer.values()):
        waiting = [pairs for pairs in by_reviewer.values() if pairs]
        rng.shuffle(waiting)
        ordered += [pairs.pop() for pairs in waiting]
    return ordered


def within(cases: Iterable[Case], slots: Iterable[Slot], *, given: bool = False) -> list[Case]:
    """The cases that belong to one of the slots. A slot of a question that was `given` has its id for a picture."""
    wanted = {(slot.image, "" if given else slot.reviewer, slot.one, slot.two) for slot in slots}

    def key(case: Case) -> tuple[str, ...]:
        place = (case.item.id, "") if given else (case.item.tags.get("image", ""), case.item.tags.get("reviewer", ""))
        return (*place, *sorted(case.contestants))

    return [case for case in cases if key(case) in wanted]
