"""What cascades rule, by whom, how sure each judge must be for that, and what still waits for people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor, fsum
from statistics import fmean
from typing import Literal

import numpy as np

from fullbench.analysis.agreement.judges_with_people import shape, winner
from fullbench.analysis.views.member_verdicts import (
    BY_PEOPLE,
    PENDING,
    WAITS,
    PeopleMarks,
    Place,
    people_marks,
    place_of,
    recused,
    ruled,
)
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.panel import Cascade, View
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import Verdict
from fullbench.stats.people.confidence_thresholds import NEVER, Trusted, least_items, trusted

Group = tuple[str, str]
"""Criterion and ballot: thresholds are learned for each apart."""
By = Literal["small", "large", "people", "pending", "open"]
_FINE = 20
"""Sureness is cut to steps of a twentieth: a threshold between two of them would promise what no count can show."""


@dataclass(frozen=True)
class Levels:
    """How sure each judge must be in one group; how many of the small one's rulings people marked, on how many items;
    and on how many of those that it leaves in doubt, of how many that a promise of the large one's needs at least."""

    small: Trusted
    large: Trusted
    labelled: int = 0
    items: int = 0
    doubtful: int = 0
    needed: int = 0


def sureness(judge: str, verdicts: Iterable[Verdict]) -> dict[Place, float]:
    """How sure a judge is of each thing that it ruled on, from 0 to 1: the share of its rulings, in whatever order and
    trial, that say the commonest; times how sure it said it was in the mean, where it says so."""
    given: dict[Place, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.judge == judge:
            given[place_of(verdict)].append(verdict)
    sure = {}
    for place, each in given.items():
        words = Counter(said for verdict in each if (said := _said(verdict)))
        stated = [verdict.confidence for verdict in each if verdict.confidence is not None]
        sure[place] = max(words.values(), default=0) / len(each) * (fmean(stated) if stated else 1.0)
    return sure


def _said(verdict: Verdict) -> str:
    """A ruling in words that do not depend on the order shown; nothing for a fault."""
    return "" if verdict.marks is None else str(sorted(zip(verdict.shown, verdict.marks, strict=True)))


def _step(sure: float) -> float:
    return floor(sure * _FINE + 1e-9) / _FINE


def agrees(verdict: Verdict, people: Mapping[tuple[str, int], float]) -> bool:
    """Whether a ruling says what people do: the same winner, or a mark within half a point of their mean."""
    theirs = [people[shown] for shown in verdict.shown]
    marks = verdict.marks or ()
    if shape(verdict) == "scores":
        return abs(marks[0] - theirs[0]) <= 0.5
    return winner(marks) == winner(theirs)


def levels(cascade: Cascade, verdicts: Sequence[Verdict]) -> dict[Group, Levels]:
    """How sure either judge must be, group by group: as the cascade says, or as people's marks allow.

    Each judge takes half of the risk. Which cases the large judge hears depends on the small one's threshold, so its
    half is shared among all that might have come out. People's later votes on what waited are of the least sure
    rulings: they can only make the thresholds stricter.
    """
    groups = {(v.criterion, v.ballot) for v in verdicts if v.judge in cascade.members}
    if cascade.agreement is None:
        plain = Trusted(cascade.threshold)
        return dict.fromkeys(groups, Levels(plain, plain))
    people = people_marks(verdicts)
    small, large = (sureness(judge, verdicts) for judge in cascade.members)
    half = cascade.risk / 2
    learned = {}
    for group in groups:
        rows = {
            judge: [v for v in verdicts if v.judge == judge and (v.criterion, v.ballot) == group]
            for judge in cascade.members
        }
        first = _tested(rows[cascade.small], people, small, target=cascade.agreement, risk=half)
        doubts = {place for place in small if _step(small[place]) < first.threshold}
        steps = {_step(sure) for place, sure in small.items() if place[1:3] == group}
        heard = [v for v in rows[cascade.large] if place_of(v) in doubts]
        shared = half / (len(steps) + 1)
        second = _tested(heard, people, large, target=cascade.agreement, risk=shared)
        marked = [v for v in rows[cascade.small] if place_of(v) in people]
        doubtful = {v.item for v in marked if place_of(v) in doubts}
        needed = least_items(cascade.agreement, shared)
        learned[group] = Levels(first, second, len(marked), len({v.item for v in marked}), len(doubtful), needed)
    return learned


def _tested(
    rows: Sequence[Verdict], people: PeopleMarks, sure: Mapping[Place, float], *, target: float, risk: float
) -> Trusted:
    """How sure one judge must be, by those of its rulings that people marked, too."""
    own = [v for v in rows if v.marks is not None and place_of(v) in people]
    if not own:
        return Trusted(NEVER)
    steps = np.array([_step(sure[place_of(v)]) for v in own])
    hits = np.array([float(agrees(v, people[place_of(v)])) for v in own])
    return trusted(steps, hits, [v.item for v in own], target=target, risk=risk)


def for_the_large(cascade: Cascade, verdicts: Sequence[Verdict]) -> set[Place]:
    """What the large judge is asked about: what the small one leaves in doubt. Where people marked too few items of
    that for any promise, nobody is asked in vain: all of it waits for people."""
    sure, learned = sureness(cascade.small, verdicts), levels(cascade, verdicts)
    doubts = {place for place in sure if _step(sure[place]) < learned[place[1], place[2]].small.threshold}
    if cascade.agreement is None:
        return {place for place in sure if sure[place] < cascade.threshold}
    asked = {group for group, level in learned.items() if level.doubtful >= level.needed}
    return {place for place in doubts if (place[1], place[2]) in asked}


def decided(cascade: Cascade, verdicts: Sequence[Verdict]) -> Iterator[tuple[Verdict, By]]:
    """The cascade's verdicts in the places of the small judge's, and who settled each."""
    learned = levels(cascade, verdicts)
    sure = {judge: sureness(judge, verdicts) for judge in cascade.members}
    large = {(verdict.case, verdict.trial): verdict for verdict in verdicts if verdict.judge == cascade.large}
    people = people_marks(verdicts) if cascade.waits else {}

    def trusts(judge: str, place: Place, threshold: float) -> bool:
        exact = sure[judge].get(place, 0.0)
        return (exact if cascade.agreement is None else _step(exact)) >= threshold

    for verdict in verdicts:
        if verdict.judge != cascade.small:
            continue
        place = place_of(verdict)
        level = learned[place[1], place[2]]
        if verdict.marks is not None and trusts(cascade.small, place, level.small.threshold):
            yield ruled(cascade, verdict, verdict.marks), "small"
            continue
        second = large.get((verdict.case, verdict.trial))
        trust = second is not None and trusts(cascade.large, place, level.large.threshold)
        if place in people and not trust:
            theirs = tuple(people[place][shown] for shown in verdict.shown)
            yield ruled(cascade, verdict, theirs, BY_PEOPLE), "people"
        elif second is None and cascade.agreement is None:
            yield recused(cascade, verdict, f"{cascade.large} has not ruled on it yet"), "open"
        elif second is None or second.marks is None or (cascade.waits and not trust):
            waits = cascade.waits
            yield recused(cascade, verdict, WAITS if waits else "both left it open"), "pending" if waits else "open"
        else:
            yield ruled(cascade, verdict, second.marks), "large"


def rulings(cascade: Cascade, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The cascade's verdicts, one for each of the small judge's."""
    return [verdict for verdict, _ in decided(cascade, verdicts)]


def pending(cascade: Cascade, verdicts: Sequence[Verdict]) -> set[Place]:
    """What waits for people."""
    return {place_of(verdict) for verdict, by in decided(cascade, verdicts) if by == "pending"}


def among(views: Iterable[View]) -> list[Cascade]:
    """The cascades among some views."""
    return [view for view in views if isinstance(view, Cascade)]


def table(cascades: Sequence[Cascade], verdicts: Sequence[Verdict]) -> Table:
    """Who settled how much of what each cascade heard, what waits for people, what is promised and what it saved."""
    rows: list[list[Cell]] = []
    notes: list[Note] = []
    for cascade in cascades:
        own = [verdict for verdict in verdicts if verdict.judge in cascade.heard]
        counts: dict[Group, Counter[By]] = defaultdict(Counter)
        for verdict, by in decided(cascade, own):
            counts[verdict.criterion, verdict.ballot][by] += 1
        learned, wanted = levels(cascade, own), for_the_large(cascade, own)
        for group, by_whom in sorted(counts.items()):
            level = learned[group]
            shown = [by_whom[by] for by in ("small", "large", "people", "pending")]
            sure = [None if part.threshold == NEVER else part.threshold for part in (level.small, level.large)]
            bounds = [part.bound for part in (level.small, level.large) if part.bound is not None]
            least = min(bounds) if bounds else None
            rows.append([cascade.name, *group, *shown, *sure, least, _saved(cascade, own, group, wanted)])
        if cascade.agreement is not None:
            notes += _promised(cascade, learned, counts)
    if any(isinstance(row[6], int) and row[6] for row in rows):
        notes.append(PENDING)
    title = Note("cascades.title", "Cascades: who settled what")
    columns = headings(
        "judge", "criterion", "ballot", "by the small judge", "by the large judge", "by people", "pending",
        "threshold, small", "threshold, large", "agreement at least", "cost saved",
    )  # fmt: skip
    return Table("cascades", title, columns, rows, notes)


def _promised(cascade: Cascade, learned: Mapping[Group, Levels], counts: Mapping[Group, Counter[By]]) -> Iterator[Note]:
    """What a cascade promises, from how much, and where people marked too few items for that."""
    agreement = cascade.agreement or 0.0
    yield Note(
        "cascades.promise",
        "{judge}: what it rules agrees with people in {agreement:.0%} at least, except with a chance of {risk:.0%} at "
        "most; learned from {n:,} of its small judge's rulings that people marked. A judge without a threshold is "
        "trusted with nothing.",
        judge=cascade.name,
        agreement=agreement,
        risk=cascade.risk,
        n=sum(level.labelled for level in learned.values()),
    )
    least = least_items(agreement, cascade.risk / 2)
    for criterion, ballot in sorted(counts):
        level = learned[criterion, ballot]
        if level.items < least:
            yield Note(
                "cascades.too-few",
                "{judge}, {criterion}, {ballot}: people marked {n:,} of the items that the small judge heard; a "
                "promise needs {least:,} at least.",
                judge=cascade.name, criterion=criterion, ballot=ballot, n=level.items, least=least,
            )  # fmt: skip
        elif level.doubtful < level.needed and counts[criterion, ballot]["small"] < counts[criterion, ballot].total():
            yield Note(
                "cascades.too-few-in-doubt",
                "{judge}, {criterion}, {ballot}: people marked {n:,} of the items that the small judge leaves in "
                "doubt; before the large judge is asked for it, a promise needs {least:,} at least.",
                judge=cascade.name, criterion=criterion, ballot=ballot, n=level.doubtful, least=level.needed,
            )  # fmt: skip


def _saved(cascade: Cascade, verdicts: Sequence[Verdict], group: Group, wanted: set[Place]) -> float | None:
    """The share of what the large judge alone would have cost that was not spent; in calls where dollars are not
    known or nothing costs any. What the large judge ruled beside what is `wanted` of it was not asked for by the
    cascade."""
    own = [v for v in verdicts if (v.criterion, v.ballot) == group]
    small, large = ([v for v in own if v.judge == judge] for judge in cascade.members)
    if not small:
        return None
    needed = [v for v in large if place_of(v) in wanted]
    prices, spent, all_of_it = ([v.usage.dollars for v in part] for part in (small, needed, large))
    if None in prices or None in all_of_it or not any(all_of_it):
        return 1 - len(needed) / len(small)
    alone = fmean(price or 0.0 for price in all_of_it)
    return 1 - fsum(price or 0.0 for price in (*prices, *spent)) / (alone * len(small))
