"""What the verdicts of one meeting say to each other: judges against judges, against people, and in other orders."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from typing import TypeVar

from fullbench.analysis.agreement.judges_with_people import winner
from fullbench.analysis.people.joined_votes import form_of
from fullbench.core.ballot import Likert, Real, Score, ballot
from fullbench.core.number_ballot import Number
from fullbench.core.panel import is_view
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.stats.agreement.ranking_agreement import rank_correlation
from fullbench.stats.agreement.vote_consensus import join
from fullbench.web.results.catalogue.verdict_flags import Flags

Marks = Mapping[int, float]
DOUBTS = {"opposed": 4, "split": 2, "swapped": 1}
"""What each flag of a verdict adds to the doubt of its meeting, once."""
Name = TypeVar("Name", int, str)


@dataclass(frozen=True, slots=True)
class Ruling:
    """One verdict of a meeting: who ruled, which contestants were shown in which order, and the marks, if any."""

    id: int
    judge: int
    person: bool
    panel: bool
    trial: int
    rater: int
    order: tuple[int, ...]
    marks: tuple[float, ...] | None

    def turned(self) -> dict[int, float]:
        return dict(zip(self.order, self.marks or (), strict=False))


def is_person(judge: str) -> bool:
    """Whether a judge is people; who of them ruled is a verdict's rater.

    >>> is_person("human"), is_person("humanoid")
    (True, False)
    """
    return judge == PEOPLE


def is_panel(judge: str) -> bool:
    """Whether a judge is a panel of others (see `panels`)."""
    return is_view(judge)


def half_scale(spec: str) -> float:
    """How far two scores must be apart to be opposed: half the length of the scale.

    >>> half_scale("score:1-5"), half_scale("likert:bad|fair|good")
    (2.0, 1.0)
    """
    try:
        form = ballot(spec)
    except InputError:
        return 2.0
    if isinstance(form, Score | Real):
        return (form.high - form.low) / 2
    if isinstance(form, Number):  # units of the judge's own: nobody knows what is far apart
        return math.inf
    return (len(form.words) - 1) / 2 if isinstance(form, Likert) else 2.0


def opposed(one: Marks, two: Marks, spec: str) -> bool:
    """Whether two rulings on the same responses say the opposite.

    Scores: half the scale or more apart. Choices: two different winners; a tie opposes nobody. Rankings: more pairs
    turned round than kept.

    >>> opposed({1: 1.0, 2: 0.0}, {1: 0.0, 2: 1.0}, "choice"), opposed({1: 5.0}, {1: 4.0}, "score:1-5")
    (True, False)
    """
    names = sorted(one)
    if len(names) == 1:
        return abs(one[names[0]] - two[names[0]]) >= half_scale(spec)
    ours, theirs = [one[name] for name in names], [two[name] for name in names]
    if spec == "ranking":
        return rank_correlation(_order(ours), _order(theirs)) < 0
    first, second = winner(ours), winner(theirs)
    return first is not None and second is not None and first != second


def _order(marks: Sequence[float]) -> list[int]:
    return sorted(range(len(marks)), key=lambda place: -marks[place])


def weigh(rulings: Sequence[Ruling], spec: str) -> dict[int, Flags]:
    """The flags of every verdict of one meeting."""
    marked = [ruling for ruling in rulings if ruling.marks is not None]
    turned = {ruling.id: ruling.turned() for ruling in marked}
    # Many verdicts say one of few things: each two of these are compared once.
    says = {id_: tuple(sorted(marks.items())) for id_, marks in turned.items()}
    against = cache(lambda one, two: opposed(dict(one), dict(two), spec))
    judges: dict[tuple[tuple[int, float], ...], set[int]] = defaultdict(set)
    for ruling in marked:
        if not ruling.person and not ruling.panel:
            judges[says[ruling.id]].add(ruling.judge)
    split = any(
        len(judges[one] | judges[two]) > 1 and against(one, two)
        for one, two in combinations_with_replacement(judges, 2)
    )
    people = combined([turned[ruling.id] for ruling in marked if ruling.person], spec)
    clear = people is not None and len(people) > 1 and winner(list(people.values())) is not None
    joint = () if people is None else tuple(people.items())
    orders = _by_order(marked)
    turned_round, both = _turned_round(orders), _both(orders)
    heard = Counter((ruling.judge, ruling.rater, ruling.order) for ruling in rulings)
    flags = {}
    for ruling in rulings:
        met = people is not None and ruling.marks is not None and not ruling.person
        flags[ruling.id] = Flags(
            split=split,
            swapped=ruling.id in turned_round,
            met=met,
            opposed=met and against(says[ruling.id], joint),
            both=ruling.id in both,
            again=heard[ruling.judge, ruling.rater, ruling.order] > 1,
            decided=len(ruling.order) > 1 and ruling.marks is not None and winner(ruling.marks) is not None,
            clear=met and clear,
        )
    return flags


def doubt(flags: Iterable[Flags]) -> int:
    """How much the verdicts of one meeting differ: the more, the earlier it is worth a look.

    >>> doubt([Flags(split=True), Flags(split=True, swapped=True)]), doubt([Flags(opposed=True)]), doubt([])
    (3, 4, 0)
    """
    some = list(flags)
    return sum(weight for name, weight in DOUBTS.items() if any(getattr(one, name) for one in some))


def combined(votes: Sequence[Mapping[Name, float]], spec: str) -> dict[Name, float] | None:
    """What votes say together, by the usual rule of the ballot; None where nobody voted."""
    if not votes:
        return None
    names = sorted(votes[0])
    cast = [(str(number), tuple(vote[name] for name in names)) for number, vote in enumerate(votes)]
    return dict(zip(names, join({spec: cast}, form_of(spec))[spec].marks, strict=True))


Orders = Sequence[Mapping[tuple[int, ...], Ruling]]


def _by_order(marked: Sequence[Ruling]) -> Orders:
    """For each judge, rater and trial, the rulings on several responses by the order in which they were shown."""
    heard: dict[tuple[int, int, int], dict[tuple[int, ...], Ruling]] = defaultdict(dict)
    for ruling in marked:
        if len(ruling.order) > 1:
            heard[ruling.judge, ruling.rater, ruling.trial][ruling.order] = ruling
    return list(heard.values())


def _both(heard: Orders) -> set[int]:
    """The verdicts on a pair that the same judge heard in both orders."""
    pairs = [orders for orders in heard if len(orders) == 2 and all(len(order) == 2 for order in orders)]
    return {ruling.id for orders in pairs for ruling in orders.values()}


def _turned_round(heard: Orders) -> set[int]:
    """The verdicts whose judge names another winner (or a tie) for the same responses in another order."""
    return {
        ruling.id
        for orders in heard
        if len({_named(ruling) for ruling in orders.values()}) > 1
        for ruling in orders.values()
    }


def _named(ruling: Ruling) -> int | None:
    place = winner(ruling.marks or ())
    return None if place is None else ruling.order[place]
