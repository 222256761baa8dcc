"""Who reviews whom on which picture: all of it, or an even part."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from fullbench.errors import InputError
from fullbench.nouns.case import Case


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


def sampled(slots: Sequence[Slot], reviews: int | None, seed: int = 0, *, by_picture: bool = False) -> list[Slot]:
    """`reviews` of the slots, spread evenly over reviewers and pairs; all of them where `reviews` is None.

    Reviewers and pairs take turns, each with its pictures in an order drawn from the seed; `by_picture`, each with one
    of the pictures (or given questions) that were drawn least so far.

    >>> some = sampled(full(["a", "b", "c"], list("ABCD")), 12)
    >>> len({(slot.reviewer, slot.one, slot.two) for slot in some})
    12
    """
    if reviews is None or reviews >= len(slots):
        return list(slots)
    if reviews < 1:
        raise InputError(f"a sample needs at least one review; found {reviews}")
    rng = random.Random(seed)
    groups: dict[tuple[str, str, str], list[Slot]] = {}
    for slot in slots:
        groups.setdefault((slot.reviewer, slot.one, slot.two), []).append(slot)
    for group in groups.values():
        rng.shuffle(group)
    chosen: list[Slot] = []
    drawn: Counter[str] = Counter()
    while len(chosen) < reviews:
        waiting = [group for group in groups.values() if group]
        rng.shuffle(waiting)
        for group in waiting[: reviews - len(chosen)]:
            slot = min(group, key=lambda slot: drawn[slot.image]) if by_picture else group[0]
            group.remove(slot)
            drawn[slot.image] += 1
            chosen.append(slot)
    return sorted(chosen, key=lambda slot: (slot.image, slot.reviewer, slot.one, slot.two))


def within(cases: Iterable[Case], slots: Iterable[Slot], *, given: bool = False) -> list[Case]:
    """The cases that belong to one of the slots. A slot of a question that was `given` has its id for a picture."""
    wanted = {(slot.image, "" if given else slot.reviewer, slot.one, slot.two) for slot in slots}

    def key(case: Case) -> tuple[str, ...]:
        place = (case.item.id, "") if given else (case.item.tags.get("image", ""), case.item.tags.get("reviewer", ""))
        return (*place, *sorted(case.contestants))

    return [case for case in cases if key(case) in wanted]
