"""Charts of a campaign: votes and agreement over time, agreement of each two people, known answers by person.

Everything is computed from the votes that count. The page draws the charts itself, so that it follows new votes and
needs no chart library.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.core.estimate import Estimate
from fullbench.stats.intervals.share_intervals import wilson_interval
from fullbench.web.campaigns.votes.counted_vote_loader import Vote

HOUR = 3600.0
DAY = 24 * HOUR
WEEK = 7 * DAY
MOST_STEPS = 90
"""More steps would be narrower than a pixel on a phone; the next coarser step is used."""
MOST_PEOPLE = 30
"""The pairwise agreement is shown for those with most votes: a wider square cannot be read."""


@dataclass(frozen=True)
class Step:
    """One hour, day or week: its votes, and their agreement with earlier votes on the same tasks."""

    name: str
    votes: int
    agreement: Estimate | None


@dataclass(frozen=True)
class AgreementMatrix:
    """Share of common tasks on which each two people agree; None if they have none."""

    names: tuple[str, ...]
    rows: tuple[tuple[Estimate | None, ...], ...]
    left_out: int


@dataclass(frozen=True)
class Dashboard:
    """Data of all charts on a campaign's page."""

    steps: tuple[Step, ...]
    square: AgreementMatrix | None
    known_answer_shares: tuple[tuple[str, Estimate], ...]

    @property
    def most_votes(self) -> int:
        """Votes of the busiest step."""
        return max((step.votes for step in self.steps), default=0)

    @property
    def agreement_steps(self) -> list[tuple[int, Step, Estimate]]:
        """Steps that have an agreement value, with their places."""
        return [(at, step, step.agreement) for at, step in enumerate(self.steps) if step.agreement is not None]


def build_dashboard(counted_votes: Sequence[Vote], known_votes: Sequence[Vote], people: dict[str, str]) -> Dashboard:
    """Compute the data of all charts; `known_votes` are votes on tasks with a known answer."""
    return Dashboard(
        _time_steps(counted_votes, known_votes),
        _agreement_matrix(counted_votes, people),
        _known_answer_shares(known_votes, people),
    )


def _time_steps(counted_votes: Sequence[Vote], known_votes: Sequence[Vote]) -> tuple[Step, ...]:
    times = [vote.at for vote in (*counted_votes, *known_votes)]
    if not times:
        return ()
    spans = ((HOUR, "%m-%d %H:00"), (DAY, "%Y-%m-%d"), (WEEK, "%Y-%m-%d"))
    fine = max(times) - min(times) <= 2 * DAY
    fitting = [span for span in spans[0 if fine else 1 :] if max(times) // span[0] - min(times) // span[0] < MOST_STEPS]
    length, form = fitting[0] if fitting else spans[-1]
    votes = Counter(int(at // length) for at in times)
    agreement = _agreement_by_step(counted_votes, length)
    return tuple(
        Step(time.strftime(form, time.gmtime(place * length)), votes[place], agreement.get(place))
        for place in range(min(votes), max(votes) + 1)
    )


def _agreement_by_step(counted_votes: Sequence[Vote], length: float) -> dict[int, Estimate]:
    """A pair of votes counts when its second vote is given. Pairs on one task are not independent, so tasks are the
    units.
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
    return {step: _agreement_share(counts) for step, counts in by_step.items()}


def _agreement_share(counts: Sequence[tuple[int, int]]) -> Estimate:
    hits, sizes = (np.array(column, dtype=np.float64) for column in zip(*counts, strict=True))
    return item_clustered_means_and_shares.share_of_groups(hits, sizes, np.arange(len(counts)))


def _agreement_matrix(counted_votes: Sequence[Vote], people: dict[str, str]) -> AgreementMatrix | None:
    labels_by_task: dict[int, dict[str, str]] = defaultdict(dict)
    votes: Counter[str] = Counter()
    for vote in counted_votes:
        if vote.label is not None:
            labels_by_task[vote.task][vote.person] = vote.label
            votes[vote.person] += 1
    shared_tasks: Counter[frozenset[str]] = Counter()
    same: Counter[frozenset[str]] = Counter()
    for labels in labels_by_task.values():
        for two in combinations(labels, 2):
            shared_tasks[frozenset(two)] += 1
            same[frozenset(two)] += labels[two[0]] == labels[two[1]]
    if not shared_tasks:
        return None
    busiest_people = sorted(sorted(votes), key=lambda person: -votes[person])[:MOST_PEOPLE]

    def cell(first: str, second: str) -> Estimate | None:
        two = frozenset((first, second))
        return wilson_interval(same[two], shared_tasks[two]) if shared_tasks[two] else None

    return AgreementMatrix(
        tuple(people.get(person, person) for person in busiest_people),
        tuple(tuple(cell(first, second) for second in busiest_people) for first in busiest_people),
        len(votes) - len(busiest_people),
    )


def _known_answer_shares(known_votes: Sequence[Vote], people: dict[str, str]) -> tuple[tuple[str, Estimate], ...]:
    total = Counter(vote.person for vote in known_votes)
    right = Counter(vote.person for vote in known_votes if vote.right)
    rows = [(people.get(person, person), wilson_interval(right[person], count)) for person, count in total.items()]
    return tuple(sorted(rows, key=lambda row: (row[1].value, row[0])))
