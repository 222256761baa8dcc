"""How a study stands: progress, how far people agree, how careful each is, and what they say together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np
from sqlalchemy import Connection, func, select

from fullbench.analysis import estimate_cells
from fullbench.analysis.estimate_cells import Gaps
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, word
from fullbench.core.table import Cell, Table
from fullbench.stats.agreement.many_raters import Distance, fleiss_kappa, krippendorff_alpha
from fullbench.stats.agreement.vote_consensus import Consensus, dawid_skene, majority
from fullbench.stats.intervals.share_intervals import wilson
from fullbench.web.campaigns.campaign_tables import members, slots, tasks, votes
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.votes.counted_votes import Vote

HASTE = 0.3
"""A vote that took less than this share of everybody's median is called hasty."""
HASTY = 0.25
"""Above this share of hasty votes a person's speed is suspicious."""
ORDERED = {"score", "rate", "rank"}
FURTHER: Mapping[str, Mapping[str, Distance]] = {"agree": {"grade": "ordinal", "hallucination": "nominal"}}
"""What else than the label people say in tasks of a kind, and how far apart two of its values are."""


@dataclass(frozen=True)
class Progress:
    """How far a study is. `pace` is votes an hour over the last hour."""

    tasks: int
    settled: int
    voted: int
    wanted: int
    people: int
    held: int
    pace: int


def progress(connection: Connection, study: Study, now: float) -> Progress:
    work = (tasks.c.study == study.id, tasks.c.role == "work")
    row = connection.execute(
        select(
            func.count(), func.coalesce(func.sum(tasks.c.voted), 0), func.coalesce(func.sum(tasks.c.wanted), 0)
        ).where(*work)
    ).one()
    settled = connection.execute(select(func.count()).where(*work, tasks.c.voted >= tasks.c.wanted)).scalar_one()
    people = connection.execute(select(func.count()).where(members.c.study == study.id)).scalar_one()
    held = connection.execute(
        select(func.count()).where(slots.c.study == study.id, slots.c.revision == 0, slots.c.expires >= now)
    ).scalar_one()
    pace = connection.execute(
        select(func.count()).where(votes.c.study == study.id, votes.c.revision == 1, votes.c.at >= now - 3600)
    ).scalar_one()
    return Progress(row[0], settled, int(row[1]), int(row[2]), people, held, pace)


def _units(study: Study, counted_votes: Sequence[Vote]) -> tuple[list[str], list[float]]:
    """What was rated and how: each response on its own where marks have an order, else the answer as a code."""
    labelled = [vote for vote in counted_votes if vote.label is not None]
    if study.kind_name in ORDERED:
        marks = [(vote, study.kind.marks(vote.label or "", study.rules, len(vote.shown)) or ()) for vote in labelled]
        rows = [(f"{vote.task}.{place}", mark) for vote, each in marks for place, mark in enumerate(each)]
    else:
        codes = {label: float(code) for code, label in enumerate(sorted({vote.label or "" for vote in labelled}))}
        rows = [(str(vote.task), codes[vote.label or ""]) for vote in labelled]
    return [unit for unit, _ in rows], [mark for _, mark in rows]


def agreement(study: Study, counted_votes: Sequence[Vote]) -> Table:
    """Krippendorff's alpha, Fleiss' kappa, and the share of pairs of votes that say the same."""
    units, marks = _units(study, counted_votes)
    distance: Distance = "ordinal" if study.kind_name in ORDERED else "nominal"
    first = _first(units, marks, study.votes)
    figures = {
        word(f"Krippendorff's alpha ({distance})"): lambda: krippendorff_alpha(
            units, marks, distance=distance, resamples=300
        ),
        word("pairs of votes that say the same"): lambda: _pairs_same(counted_votes),
    }
    for name, apart in FURTHER.get(study.kind_name, {}).items():
        what = Note("web.people.quality.alpha-of", "{figure}, {what}",
                    figure=word(f"Krippendorff's alpha ({apart})"), what=word(name))  # fmt: skip
        figures[what] = partial(_further, counted_votes, name, apart)
    if study.votes > 1:
        kappa = Note("web.people.quality.kappa", "Fleiss' kappa (first {n} votes of each task)", n=study.votes)
        figures[kappa] = lambda: fleiss_kappa(*first, resamples=300)
    gaps = Gaps()
    rows: list[list[Cell]] = [[name, gaps.cell(name, compute)] for name, compute in figures.items()]
    return Table(
        "agreement",
        Note("web.people.quality.title.agreement", "Agreement"),
        headings("figure", "value"),
        rows,
        gaps.notes,
    )


def _further(counted_votes: Sequence[Vote], name: str, distance: Distance) -> Estimate:
    """Krippendorff's alpha of one more thing that people said."""
    rated = [(str(vote.task), float(vote.answer[name])) for vote in counted_votes if vote.answer.get(name) is not None]
    return krippendorff_alpha(
        [unit for unit, _ in rated], [mark for _, mark in rated], distance=distance, resamples=300
    )


def _first(units: Sequence[str], marks: Sequence[float], count: int) -> tuple[list[str], list[float]]:
    """The first ratings of each unit that has so many: later ones were asked for because people disagreed."""
    seen: dict[str, list[float]] = defaultdict(list)
    for unit, mark in zip(units, marks, strict=True):
        seen[unit].append(mark)
    ratings = [
        (unit, mark) for unit, unit_marks in seen.items() if len(unit_marks) >= count for mark in unit_marks[:count]
    ]
    return [unit for unit, _ in ratings], [mark for _, mark in ratings]


def _pairs_same(counted_votes: Sequence[Vote]) -> Estimate:
    """The share of pairs of votes that say the same; pairs on one task are not independent, so tasks are the units."""
    tasks_same, tasks_pairs = [], []
    for labels in _by_task(counted_votes).values():
        if len(labels) > 1:
            tasks_pairs.append(len(labels) * (len(labels) - 1) // 2)
            tasks_same.append(sum(count * (count - 1) // 2 for count in Counter(labels).values()))
    same, pairs = np.array(tasks_same, dtype=np.float64), np.array(tasks_pairs, dtype=np.float64)
    return estimate_cells.share_of(same, pairs, np.arange(len(pairs))) if len(pairs) else wilson(0, 0)


def _by_task(counted_votes: Sequence[Vote]) -> dict[int, list[str]]:
    labels: dict[int, list[str]] = defaultdict(list)
    for vote in counted_votes:
        if vote.label is not None:
            labels[vote.task].append(vote.label)
    return labels


def quality(counted_votes: Sequence[Vote], known: Sequence[Vote], people: dict[str, str]) -> Table:
    """Each person: votes, known answers right, agreement with the others' majority, time, and what looks hasty."""
    totals = {task: Counter(labels) for task, labels in _by_task(counted_votes).items()}
    times = [vote.seconds for vote in counted_votes if vote.seconds > 0]
    usual = median(times) if times else 0.0
    rows: list[list[Cell]] = []
    for person in sorted({vote.person for vote in (*counted_votes, *known)}, key=lambda who: people.get(who, who)):
        own_votes = [vote for vote in counted_votes if vote.person == person]
        checks = [vote for vote in known if vote.person == person]
        gold = wilson(sum(bool(vote.right) for vote in checks), len(checks)) if checks else None
        seconds = [vote.seconds for vote in own_votes if vote.seconds > 0]
        hasty = sum(second < HASTE * usual for second in seconds) / len(seconds) if seconds else 0.0
        rows.append([
            people.get(person, person), len(own_votes), gold, _with_others(own_votes, totals),
            median(seconds) if seconds else None, round(100 * hasty), "look" if hasty > HASTY else "",
        ])  # fmt: skip
    notes = [
        Note(
            "web.people.quality.known-answers-gold-and-trial",
            "Known answers: gold and trial tasks. With the others: how often a person says what most of the others "
            "say.",
        ),
        Note(
            "web.people.quality.hasty-votes-given-in-less",
            "Hasty: votes given in less than {haste:.0%} of everybody's median of {usual:.1f} seconds.",
            haste=HASTE,
            usual=usual,
        ),
    ]
    columns = headings(
        "person", "votes", "known answers right", "with the others", "median seconds", "hasty %", "speed"
    )
    return Table("people", Note("web.people.quality.title.people", "People"), columns, rows, notes)


def _with_others(own_votes: Sequence[Vote], totals: dict[int, Counter[str]]) -> Cell:
    same = total = 0
    for vote in own_votes:
        if vote.label is None:
            continue
        most = (totals[vote.task] - Counter([vote.label])).most_common(2)
        if most and not (len(most) > 1 and most[0][1] == most[1][1]):
            total += 1
            same += vote.label == most[0][0]
    return wilson(same, total) if total else None


@dataclass(frozen=True)
class Together:
    """What people say of each task, counted and weighted."""

    majority: dict[int, str | None]
    votes: dict[int, int]
    consensus: Consensus | None

    def weighted(self, task: int) -> tuple[str, float] | None:
        """The label that Dawid and Skene's model gives a task, and its chance."""
        return None if self.consensus is None else self.consensus.label(str(task))


def together(counted_votes: Sequence[Vote]) -> Together:
    """The majority of each task (None where it is a draw), and Dawid-Skene over all of them."""
    labelled = [(str(vote.task), vote.person, vote.label) for vote in counted_votes if vote.label is not None]
    if not labelled:
        return Together({}, {}, None)
    columns = tuple(zip(*labelled, strict=True))
    most = majority(columns[0], columns[2])
    counts = Counter(int(task) for task, _, _ in labelled)
    return Together(
        {int(task): labels[0] if len(labels) == 1 else None for task, labels in most.items()},
        dict(counts),
        dawid_skene(*columns),
    )
