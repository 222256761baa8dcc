"""Progress of a campaign, agreement of annotators, quality of each annotator, and joined votes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from sqlalchemy import Connection, func, select

from fullbench.analysis.agreement.with_single_votes import agreement_of_people
from fullbench.analysis.item_clustered_means_and_shares import Gaps
from fullbench.core.ballot import is_graded
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.stats.agreement.many_raters import Distance, alpha_of_choices, fleiss_kappa, krippendorff_alpha
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


def task_items(connection: Connection, campaign: Campaign) -> dict[int, str]:
    """Return the item of every task with several votes, by the number of the task."""
    query = select(tasks.c.id, tasks.c.content["item"]["id"].as_string())
    rows = connection.execute(query.where(tasks.c.study == campaign.id, tasks.c.voted > 1))
    return {task: item for task, item in rows if item is not None}


def agreement_table(campaign: Campaign, counted_votes: Sequence[Vote], items: Mapping[int, str] | None = None) -> Table:
    """Return Krippendorff's alpha, Fleiss' kappa, and the share of agreeing pairs of votes.

    Args:
        campaign: Campaign of the votes.
        counted_votes: Votes on its tasks.
        items: Item of each task; tasks on one item stay together in all intervals. Default: each task is an item.
    """
    item_of_task = items or {}
    units, marks = _rated_units(campaign, counted_votes)
    distance: Distance = "ordinal" if _is_ordered(campaign) else "nominal"
    first = _first_ratings(units, marks, campaign.votes)
    metrics = {
        word_note(f"Krippendorff's alpha ({distance})"): lambda: (
            _alpha_of_choices(campaign, counted_votes, item_of_task)
            if campaign.kind_name == "pair" and distance == "nominal"
            else _alpha(units, marks, distance, item_of_task)
        ),
        word_note("pairs of votes that say the same"): lambda: _pairs_same(counted_votes, item_of_task),
    }
    for name, further_distance in FURTHER.get(campaign.kind_name, {}).items():
        what = Note("web.people.quality.alpha-of",
                    figure=word_note(f"Krippendorff's alpha ({further_distance})"), what=word_note(name))  # fmt: skip
        metrics[what] = partial(_further_alpha, counted_votes, name, further_distance, item_of_task)
    if campaign.votes > 1:
        kappa = Note("web.people.quality.kappa", n=campaign.votes)
        metrics[kappa] = lambda: fleiss_kappa(*first, resamples=300, cluster=_unit_items(first[0], item_of_task))
    gaps = Gaps()
    rows: list[list[Cell]] = [[name, gaps.cell(name, compute)] for name, compute in metrics.items()]
    return Table(
        "agreement", Note("web.people.quality.title.agreement"), table_columns("metric", "value"), rows, gaps.notes
    )


def _unit_items(units: Sequence[str], item_of_task: Mapping[int, str]) -> list[str]:
    """Return the item of each unit, in the sorted order of the units. A unit begins with its task's number."""
    numbers = [int(unit.partition(".")[0]) for unit in sorted(set(units))]
    return [item_of_task.get(number, f"task {number}") for number in numbers]


def _alpha(
    units: Sequence[str], marks: Sequence[float], distance: Distance, item_of_task: Mapping[int, str]
) -> Estimate:
    cluster = _unit_items(units, item_of_task)
    return krippendorff_alpha(units, marks, distance=distance, resamples=300, cluster=cluster)


def _alpha_of_choices(campaign: Campaign, counted_votes: Sequence[Vote], item_of_task: Mapping[int, str]) -> Estimate:
    votes_by_task: dict[int, list[tuple[float, ...]]] = defaultdict(list)
    for vote in counted_votes:
        marks = campaign.kind.marks(vote.label, campaign.rules, len(vote.display_order)) if vote.label else None
        if marks:
            votes_by_task[vote.task].append(marks)
    several = {task: vote_list for task, vote_list in votes_by_task.items() if len(vote_list) > 1}
    cluster = [item_of_task.get(task, f"task {task}") for task in several]
    return alpha_of_choices(list(several.values()), cluster, resamples=300)


def _further_alpha(
    counted_votes: Sequence[Vote], name: str, distance: Distance, item_of_task: Mapping[int, str]
) -> Estimate:
    ratings = [
        (str(vote.task), float(vote.answer[name])) for vote in counted_votes if vote.answer.get(name) is not None
    ]
    return _alpha([unit for unit, _ in ratings], [mark for _, mark in ratings], distance, item_of_task)


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


def _pairs_same(counted_votes: Sequence[Vote], item_of_task: Mapping[int, str]) -> Estimate:
    """Return the share of vote pairs that are equal, as reports of the votes do."""
    several = {task: labels for task, labels in _by_task(counted_votes).items() if len(labels) > 1}
    items = [item_of_task.get(task, f"task {task}") for task in several]
    return agreement_of_people(list(several.values()), items) if several else wilson_interval(0, 0)


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
