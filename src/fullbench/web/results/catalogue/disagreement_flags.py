"""Flags and doubt of a response set: disagreement between judges, with people, and between orders."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from typing import TypeVar

from fullbench.analysis.agreement.judges_with_people import winner_index
from fullbench.analysis.people.joined_votes import form_of
from fullbench.core.ballot import Likert, Number, Real, Score, ballot
from fullbench.core.panel_and_cascade import is_view
from fullbench.core.verdict import PEOPLE
from fullbench.errors import InputError
from fullbench.stats.agreement.per_item_ranking_agreement import rank_correlation
from fullbench.stats.agreement.vote_rules_and_dawid_skene import joint_votes_by_set
from fullbench.web.results.catalogue.verdict_flag_definitions import Flags

Marks = Mapping[int, float]
DOUBT_WEIGHTS = {"opposed": 4, "split": 2, "swapped": 1}
"""Doubt that each flag of a verdict adds to its response set, once."""
Name = TypeVar("Name", int, str)


@dataclass(frozen=True, slots=True)
class CatalogueVerdict:
    """One verdict of a response set: judge, order of the contestants shown, and marks if any."""

    id: int
    judge: int
    person: bool
    panel: bool
    trial: int
    rater: int
    order: tuple[int, ...]
    marks: tuple[float, ...] | None

    def marks_by_contestant(self) -> dict[int, float]:
        return dict(zip(self.order, self.marks or (), strict=False))


def is_person(judge: str) -> bool:
    """Return True if the judge is people. The person is the verdict's rater.

    >>> is_person("human"), is_person("humanoid")
    (True, False)
    """
    return judge == PEOPLE


def is_panel(judge: str) -> bool:
    """Return True if the judge is a panel of others (see `panels_created_on_site`)."""
    return is_view(judge)


def half_scale(spec: str) -> float:
    """Return the smallest distance of two opposed scores: half the length of the scale.

    >>> half_scale("score:1-5"), half_scale("likert:bad|fair|good")
    (2.0, 1.0)
    """
    try:
        form = ballot(spec)
    except InputError:
        return 2.0
    if isinstance(form, Score | Real):
        return (form.high - form.low) / 2
    if isinstance(form, Number):  # no known scale, so no distance counts as opposed
        return math.inf
    return (len(form.words) - 1) / 2 if isinstance(form, Likert) else 2.0


def are_opposed(first_marks: Marks, second_marks: Marks, spec: str) -> bool:
    """Return True if two verdicts on the same responses contradict each other.

    Scores: at least half the scale apart. Choices: two different winners; a tie opposes nobody. Rankings: more pairs
    reversed than kept.

    >>> are_opposed({1: 1.0, 2: 0.0}, {1: 0.0, 2: 1.0}, "choice"), are_opposed({1: 5.0}, {1: 4.0}, "score:1-5")
    (True, False)
    """
    names = sorted(first_marks)
    if len(names) == 1:
        return abs(first_marks[names[0]] - second_marks[names[0]]) >= half_scale(spec)
    first_values, second_values = [first_marks[name] for name in names], [second_marks[name] for name in names]
    if spec == "ranking":
        return rank_correlation(_descending_order(first_values), _descending_order(second_values)) < 0
    first_winner, second_winner = winner_index(first_values), winner_index(second_values)
    return first_winner is not None and second_winner is not None and first_winner != second_winner


def _descending_order(marks: Sequence[float]) -> list[int]:
    return sorted(range(len(marks)), key=lambda place: -marks[place])


def compute_flags(verdicts: Sequence[CatalogueVerdict], spec: str) -> dict[int, Flags]:
    """Return the flags of every verdict of one response set, by verdict id."""
    marked_verdicts = [verdict for verdict in verdicts if verdict.marks is not None]
    marks_by_id = {verdict.id: verdict.marks_by_contestant() for verdict in marked_verdicts}
    # Many verdicts have equal marks, so each pair of distinct marks is compared once.
    mark_items_by_id = {id_: tuple(sorted(marks.items())) for id_, marks in marks_by_id.items()}
    against = cache(lambda first_items, second_items: are_opposed(dict(first_items), dict(second_items), spec))
    judges_by_mark_items: dict[tuple[tuple[int, float], ...], set[int]] = defaultdict(set)
    for verdict in marked_verdicts:
        if not verdict.person and not verdict.panel:
            judges_by_mark_items[mark_items_by_id[verdict.id]].add(verdict.judge)
    split = any(
        len(judges_by_mark_items[first_items] | judges_by_mark_items[second_items]) > 1
        and against(first_items, second_items)
        for first_items, second_items in combinations_with_replacement(judges_by_mark_items, 2)
    )
    people = combine_votes([marks_by_id[verdict.id] for verdict in marked_verdicts if verdict.person], spec)
    clear = people is not None and len(people) > 1 and winner_index(list(people.values())) is not None
    joint_items = () if people is None else tuple(people.items())
    orders = _verdicts_by_order(marked_verdicts)
    swapped_ids, both_order_ids = _swapped_ids(orders), _ids_in_both_orders(orders)
    verdict_counts = Counter((verdict.judge, verdict.rater, verdict.order) for verdict in verdicts)
    flags = {}
    for verdict in verdicts:
        has_votes = people is not None and verdict.marks is not None and not verdict.person
        flags[verdict.id] = Flags(
            split=split,
            swapped=verdict.id in swapped_ids,
            met=has_votes,
            opposed=has_votes and against(mark_items_by_id[verdict.id], joint_items),
            both=verdict.id in both_order_ids,
            again=verdict_counts[verdict.judge, verdict.rater, verdict.order] > 1,
            decided=len(verdict.order) > 1 and verdict.marks is not None and winner_index(verdict.marks) is not None,
            clear=has_votes and clear,
        )
    return flags


def doubt_score(flags: Iterable[Flags]) -> int:
    """Return how much the verdicts of one response set differ. Lists sort by this number.

    >>> (doubt_score([Flags(split=True), Flags(split=True, swapped=True)]), doubt_score([Flags(opposed=True)]),
    ...  doubt_score([]))
    (3, 4, 0)
    """
    all_flags = list(flags)
    return sum(
        weight
        for name, weight in DOUBT_WEIGHTS.items()
        if any(getattr(verdict_flags, name) for verdict_flags in all_flags)
    )


def combine_votes(votes: Sequence[Mapping[Name, float]], spec: str) -> dict[Name, float] | None:
    """Combine votes by the default rule of the ballot. None if there are no votes."""
    if not votes:
        return None
    names = sorted(votes[0])
    cast_votes = [(str(number), tuple(vote[name] for name in names)) for number, vote in enumerate(votes)]
    return dict(zip(names, joint_votes_by_set({spec: cast_votes}, form_of(spec))[spec].marks, strict=True))


Orders = Sequence[Mapping[tuple[int, ...], CatalogueVerdict]]


def _verdicts_by_order(marked_verdicts: Sequence[CatalogueVerdict]) -> Orders:
    order_groups: dict[tuple[int, int, int], dict[tuple[int, ...], CatalogueVerdict]] = defaultdict(dict)
    for verdict in marked_verdicts:
        if len(verdict.order) > 1:
            order_groups[verdict.judge, verdict.rater, verdict.trial][verdict.order] = verdict
    return list(order_groups.values())


def _ids_in_both_orders(order_groups: Orders) -> set[int]:
    pairs = [orders for orders in order_groups if len(orders) == 2 and all(len(order) == 2 for order in orders)]
    return {verdict.id for orders in pairs for verdict in orders.values()}


def _swapped_ids(order_groups: Orders) -> set[int]:
    """Another winner (or a tie) in another order of the same responses."""
    return {
        verdict.id
        for orders in order_groups
        if len({_winner_id(verdict) for verdict in orders.values()}) > 1
        for verdict in orders.values()
    }


def _winner_id(verdict: CatalogueVerdict) -> int | None:
    place = winner_index(verdict.marks or ())
    return None if place is None else verdict.order[place]
