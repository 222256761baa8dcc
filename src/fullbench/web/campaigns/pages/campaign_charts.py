"""A study in pictures: votes and agreement over time, each two people's agreement, known answers by person.

Everything is computed from the votes that count. The page draws it itself, so that it follows the votes as they come
and needs no library that draws.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.core.estimate import Estimate
from fullbench.stats.intervals.share_intervals import wilson
from fullbench.web.campaigns.votes.counted_votes import Vote

HOUR = 3600.0
DAY = 24 * HOUR
WEEK = 7 * DAY
MOST_STEPS = 90
"""More steps of time than this are narrower than a pixel on a phone: the next coarser step is taken."""
MOST_PEOPLE = 30
"""Whose agreement is shown two by two: those who voted most. A wider square cannot be read."""


@dataclass(frozen=True)
class Step:
    """An hour, a day or a week: the votes given in it, and how far they agree with the earlier ones on their tasks."""

    name: str
    votes: int
    agreement: Estimate | None


@dataclass(frozen=True)
class Square:
    """How often each two people who met on a task said the same; None where they never met."""

    names: tuple[str, ...]
    rows: tuple[tuple[Estimate | None, ...], ...]
    left_out: int


@dataclass(frozen=True)
class Dashboard:
    """What a study's page draws."""

    steps: tuple[Step, ...]
    square: Square | None
    known: tuple[tuple[str, Estimate], ...]

    @property
    def most_votes(self) -> int:
        """The votes of the busiest step."""
        return max((step.votes for step in self.steps), default=0)

    @property
    def agreed(self) -> list[tuple[int, Step, Estimate]]:
        """The steps in which votes could agree, with their places."""
        return [(at, step, step.agreement) for at, step in enumerate(self.steps) if step.agreement is not None]


def dashboard(counted_votes: Sequence[Vote], known: Sequence[Vote], people: dict[str, str]) -> Dashboard:
    """The figures of all charts; `known` are the votes on tasks whose answer is known."""
    return Dashboard(_steps(counted_votes, known), _square(counted_votes, people), _known(known, people))


def _steps(counted_votes: Sequence[Vote], known: Sequence[Vote]) -> tuple[Step, ...]:
    times = [vote.at for vote in (*counted_votes, *known)]
    if not times:
        return ()
    spans = ((HOUR, "%m-%d %H:00"), (DAY, "%Y-%m-%d"), (WEEK, "%Y-%m-%d"))
    fine = max(times) - min(times) <= 2 * DAY
    fitting = [span for span in spans[0 if fine else 1 :] if max(times) // span[0] - min(times) // span[0] < MOST_STEPS]
    length, form = fitting[0] if fitting else spans[-1]
    votes = Counter(int(at // length) for at in times)
    agreement = _agreement(counted_votes, length)
    return tuple(
        Step(time.strftime(form, time.gmtime(place * length)), votes[place], agreement.get(place))
        for place in range(min(votes), max(votes) + 1)
    )


def _agreement(counted_votes: Sequence[Vote], length: float) -> dict[int, Estimate]:
    """By step, the share of pairs of votes on one task that say the same; a pair counts when its second vote is given.

    Pairs on one task are not independent, so tasks are the units.
    """
    same: Counter[tuple[int, int]] = Counter()
    pairs: Counter[tuple[int, int]] = Counter()
    earlier: dict[int, Counter[str]] = defaultdict(Counter)
    for vote in sorted(counted_votes, key=lambda vote: vote.at):
        if vote.label is None:
            continue
        before = earlier[vote.task]
        if before:
            place = int(vote.at // length), vote.task
            pairs[place] += before.total()
            same[place] += before[vote.label]
        before[vote.label] += 1
    by_step: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (step, task), count in pairs.items():
        by_step[step].append((same[step, task], count))
    return {step: _share(counts) for step, counts in by_step.items()}


def _share(counts: Sequence[tuple[int, int]]) -> Estimate:
    hits, sizes = (np.array(column, dtype=np.float64) for column in zip(*counts, strict=True))
    return estimate_cells.share_of(hits, sizes, np.arange(len(counts)))


def _square(counted_votes: Sequence[Vote], people: dict[str, str]) -> Square | None:
    labels_by_task: dict[int, dict[str, str]] = defaultdict(dict)
    votes: Counter[str] = Counter()
    for vote in counted_votes:
        if vote.label is not None:
            labels_by_task[vote.task][vote.person] = vote.label
            votes[vote.person] += 1
    shared: Counter[frozenset[str]] = Counter()
    same: Counter[frozenset[str]] = Counter()
    for labels in labels_by_task.values():
        for two in combinations(labels, 2):
            shared[frozenset(two)] += 1
            same[frozenset(two)] += labels[two[0]] == labels[two[1]]
    if not shared:
        return None
    shown = sorted(sorted(votes), key=lambda person: -votes[person])[:MOST_PEOPLE]

    def cell(first: str, second: str) -> Estimate | None:
        two = frozenset((first, second))
        return wilson(same[two], shared[two]) if shared[two] else None

    return Square(
        tuple(people.get(person, person) for person in shown),
        tuple(tuple(cell(first, second) for second in shown) for first in shown),
        len(votes) - len(shown),
    )


def _known(known: Sequence[Vote], people: dict[str, str]) -> tuple[tuple[str, Estimate], ...]:
    """The share of known answers that each person gave right, the least sure first to be looked at."""
    total = Counter(vote.person for vote in known)
    right = Counter(vote.person for vote in known if vote.right)
    rows = [(people.get(person, person), wilson(right[person], count)) for person, count in total.items()]
    return tuple(sorted(rows, key=lambda row: (row[1].value, row[0])))
