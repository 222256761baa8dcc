"""Progress of a campaign, agreement of annotators, quality of each annotator, and joined votes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np
from sqlalchemy import Connection, func, select

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.item_clustered_means_and_shares import Gaps
from fullbench.core.ballot import is_graded
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.stats.agreement.many_raters import Distance, fleiss_kappa, krippendorff_alpha
from fullbench.stats.agreement.vote_rules_and_dawid_skene import Consensus, dawid_skene, majority_labels
from fullbench.stats.intervals.share_intervals import wilson_interval
from fullbench.web.campaigns.campaign_tables import members, slots, tasks, votes
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.votes.counted_vote_loader import Vote

HASTE = 0.3
"""A vote is hasty if it took less than this share of the median of all votes."""
HASTY = 0.25
"""Above this share of hasty votes, a person's speed is suspicious."""
ORDERED_KINDS = {"score", "rate", "rank"}
FURTHER: Mapping[str, Mapping[str, Distance]] = {"agree": {"grade": "ordinal", "hallucination": "nominal"}}
"""Answer fields other than the label, by kind of task, and how the distance of two values is measured."""


@dataclass(frozen=True)
class VoteProgress:
    """Progress of a campaign. `pace` is the number of votes in the last hour."""

    tasks: int
    settled_tasks: int
    votes_given: int
    votes_wanted: int
    people: int
    held_slots: int
    pace: int


def campaign_progress(connection: Connection, campaign: Campaign, now: float) -> VoteProgress:
    work = (tasks.c.study == campaign.id, tasks.c.role == "work")
    row = connection.execute(
        select(
            func.count(), func.coalesce(func.sum(tasks.c.voted), 0), func.coalesce(func.sum(tasks.c.wanted), 0)
        ).where(*work)
    ).one()
    settled_tasks = connection.execute(select(func.count()).where(*work, tasks.c.voted >= tasks.c.wanted)).scalar_one()
    people = connection.execute(select(func.count()).where(members.c.study == campaign.id)).scalar_one()
    held_slots = connection.execute(
        select(func.count()).where(slots.c.study == campaign.id, slots.c.revision == 0, slots.c.expires >= now)
    ).scalar_one()
    pace = connection.execute(
        select(func.count()).where(votes.c.study == campaign.id, votes.c.revision == 1, votes.c.at >= now - 3600)
    ).scalar_one()
    return VoteProgress(row[0], settled_tasks, int(row[1]), int(row[2]), people, held_slots, pace)


def _is_ordered(campaign: Campaign) -> bool:
    return campaign.kind_name in ORDERED_KINDS or is_graded(campaign.rules.ballot)


def _rated_units(campaign: Campaign, counted_votes: Sequence[Vote]) -> tuple[list[str], list[float]]:
    """Each response separately if marks are ordered, else the answer as a code."""
    labelled_votes = [vote for vote in counted_votes if vote.label is not None]
    if _is_ordered(campaign):
        marks = [
            (vote, campaign.kind.marks(vote.label or "", campaign.rules, len(vote.display_order)) or ())
            for vote in labelled_votes
        ]
        rows = [(f"{vote.task}.{place}", mark) for vote, each in marks for place, mark in enumerate(each)]
    else:
        codes = {label: float(code) for code, label in enumerate(sorted({vote.label or "" for vote in labelled_votes}))}
        rows = [(str(vote.task), codes[vote.label or ""]) for vote in labelled_votes]
    return [unit for unit, _ in rows], [mark for _, mark in rows]


def agreement_table(campaign: Campaign, counted_votes: Sequence[Vote]) -> Table:
    """Return Krippendorff's alpha, Fleiss' kappa, and the share of agreeing pairs of votes."""
    units, marks = _rated_units(campaign, counted_votes)
    distance: Distance = "ordinal" if _is_ordered(campaign) else "nominal"
    first = _first_ratings(units, marks, campaign.votes)
    metrics = {
        word_note(f"Krippendorff's alpha ({distance})"): lambda: krippendorff_alpha(
            units, marks, distance=distance, resamples=300
        ),
        word_note("pairs of votes that say the same"): lambda: _pairs_same(counted_votes),
    }
    for name, further_distance in FURTHER.get(campaign.kind_name, {}).items():
        what = Note("web.people.quality.alpha-of",
                    figure=word_note(f"Krippendorff's alpha ({further_distance})"), what=word_note(name))  # fmt: skip
        metrics[what] = partial(_further_alpha, counted_votes, name, further_distance)
    if campaign.votes > 1:
        kappa = Note("web.people.quality.kappa", n=campaign.votes)
        metrics[kappa] = lambda: fleiss_kappa(*first, resamples=300)
    gaps = Gaps()
    rows: list[list[Cell]] = [[name, gaps.cell(name, compute)] for name, compute in metrics.items()]
    return Table(
        "agreement", Note("web.people.quality.title.agreement"), table_columns("metric", "value"), rows, gaps.notes
    )


def _further_alpha(counted_votes: Sequence[Vote], name: str, distance: Distance) -> Estimate:
    ratings = [
        (str(vote.task), float(vote.answer[name])) for vote in counted_votes if vote.answer.get(name) is not None
    ]
    return krippendorff_alpha(
        [unit for unit, _ in ratings], [mark for _, mark in ratings], distance=distance, resamples=300
    )


def _first_ratings(units: Sequence[str], marks: Sequence[float], count: int) -> tuple[list[str], list[float]]:
    """Return the first `count` ratings of each unit that has them; later ones exist because people disagreed."""
    marks_by_unit: dict[str, list[float]] = defaultdict(list)
    for unit, mark in zip(units, marks, strict=True):
        marks_by_unit[unit].append(mark)
    ratings = [
        (unit, mark)
        for unit, unit_marks in marks_by_unit.items()
        if len(unit_marks) >= count
        for mark in unit_marks[:count]
    ]
    return [unit for unit, _ in ratings], [mark for _, mark in ratings]


def _pairs_same(counted_votes: Sequence[Vote]) -> Estimate:
    """Pairs on one task are dependent, so tasks are the units."""
    tasks_same, tasks_pairs = [], []
    for labels in _by_task(counted_votes).values():
        if len(labels) > 1:
            tasks_pairs.append(len(labels) * (len(labels) - 1) // 2)
            tasks_same.append(sum(count * (count - 1) // 2 for count in Counter(labels).values()))
    same, pairs = np.array(tasks_same, dtype=np.float64), np.array(tasks_pairs, dtype=np.float64)
    return (
        item_clustered_means_and_shares.share_of_groups(same, pairs, np.arange(len(pairs)))
        if len(pairs)
        else wilson_interval(0, 0)
    )


def _by_task(counted_votes: Sequence[Vote]) -> dict[int, list[str]]:
    labels: dict[int, list[str]] = defaultdict(list)
    for vote in counted_votes:
        if vote.label is not None:
            labels[vote.task].append(vote.label)
    return labels


def annotator_table(counted_votes: Sequence[Vote], known_votes: Sequence[Vote], people: dict[str, str]) -> Table:
    """Return a row per person: votes, right known answers, agreement with the others' majority, time, hasty votes."""
    totals = {task: Counter(labels) for task, labels in _by_task(counted_votes).items()}
    times = [vote.seconds for vote in counted_votes if vote.seconds > 0]
    usual = median(times) if times else 0.0
    rows: list[list[Cell]] = []
    for person in sorted(
        {vote.person for vote in (*counted_votes, *known_votes)}, key=lambda who: people.get(who, who)
    ):
        own_votes = [vote for vote in counted_votes if vote.person == person]
        checks = [vote for vote in known_votes if vote.person == person]
        gold = wilson_interval(sum(bool(vote.right) for vote in checks), len(checks)) if checks else None
        seconds = [vote.seconds for vote in own_votes if vote.seconds > 0]
        hasty = sum(second < HASTE * usual for second in seconds) / len(seconds) if seconds else 0.0
        rows.append([
            people.get(person, person), len(own_votes), gold, _with_others(own_votes, totals),
            median(seconds) if seconds else None, round(100 * hasty), "look" if hasty > HASTY else "",
        ])  # fmt: skip
    notes = [
        Note("web.people.quality.known-answers-gold-and-trial"),
        Note("web.people.quality.hasty-votes-given-in-less", haste=HASTE, usual=usual),
    ]
    columns = table_columns(
        "person", "votes", "known answers right", "with the others", "median seconds", "hasty %", "speed"
    )
    return Table("people", Note("web.people.quality.title.people"), columns, rows, notes)


def _with_others(own_votes: Sequence[Vote], totals: dict[int, Counter[str]]) -> Cell:
    same = total = 0
    for vote in own_votes:
        if vote.label is None:
            continue
        most = (totals[vote.task] - Counter([vote.label])).most_common(2)
        if most and not (len(most) > 1 and most[0][1] == most[1][1]):
            total += 1
            same += vote.label == most[0][0]
    return wilson_interval(same, total) if total else None


@dataclass(frozen=True)
class JoinedVotes:
    """Joined votes of each task: majority and Dawid-Skene consensus."""

    majority: dict[int, str | None]
    votes: dict[int, int]
    consensus: Consensus | None

    def weighted(self, task: int) -> tuple[str, float] | None:
        """Return the label that the Dawid-Skene model gives a task, and its probability."""
        return None if self.consensus is None else self.consensus.label(str(task))


def join_votes(counted_votes: Sequence[Vote]) -> JoinedVotes:
    """Return the majority of each task (None on a draw), and Dawid-Skene over all of them."""
    labelled_votes = [(str(vote.task), vote.person, vote.label) for vote in counted_votes if vote.label is not None]
    if not labelled_votes:
        return JoinedVotes({}, {}, None)
    columns = tuple(zip(*labelled_votes, strict=True))
    most = majority_labels(columns[0], columns[2])
    counts = Counter(int(task) for task, _, _ in labelled_votes)
    return JoinedVotes(
        {int(task): labels[0] if len(labels) == 1 else None for task, labels in most.items()},
        dict(counts),
        dawid_skene(*columns),
    )
