"""Judge and people vote by vote: how often a judge says what one person says, beside how often two people say the same.

Nothing is joined here, so a split among people counts as what it is: whoever sides with either half agrees with half of
them. Only responses with two votes or more take part, the same for the judge and for people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.analysis.agreement.judges_with_people import FIGURES, Met, order, shape, winner
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import Verdict

Place = tuple[str, str, frozenset[tuple[str, int]]]


def one_by_one(meetings: Met, judges: Sequence[str] | None = None) -> Table:
    """For each judge and shape of ruling: agreement with one person, that of two people, and the difference."""
    rows: list[list[Cell]] = []
    votes = _votes(meetings)
    split = sum(len(set(ruled)) > 1 for ruled in votes.values())
    for judge in meetings.judges if judges is None else judges:
        by_shape: dict[str, list[tuple[float, float, str]]] = {}
        for verdict in meetings.record.where(judge=judge, fault=None):
            ruled = votes.get(_place(verdict))
            if ruled is not None:
                same = sum(vote == _ruling(verdict) for vote in ruled) / len(ruled)
                by_shape.setdefault(shape(verdict), []).append((same, _alike(ruled), verdict.item))
        for kind in FIGURES:
            if kind in by_shape:
                rows.append([judge, kind, *_compared(by_shape[kind]), len(by_shape[kind])])
    notes = [
        Note(
            "one-by-one.what",
            "The share of single votes of {people} that say what the judge says, and of pairs of votes that say the "
            "same: the same mark, the same winner, the same order. Only responses with two votes or more; items are "
            "kept together.",
            people=meetings.people,
        ),
        Note(
            "one-by-one.split", "{split:,} of {n:,} such responses have votes that differ; all of them count here.",
            split=split, n=len(votes),
        ),
    ]  # fmt: skip
    columns = headings("judge", "ruling", "with one person", "people with each other", "difference", "cases")
    title = Note("one-by-one.title", "Vote by vote, beside people with each other")
    return Table("votes", title, columns, rows, notes, {"against": meetings.people})


def _place(verdict: Verdict) -> Place:
    return verdict.item, verdict.ballot, frozenset(verdict.shown)


def _ruling(verdict: Verdict) -> object:
    """What a verdict says, whatever the order shown: a mark, the winner's name, or the names in order."""
    marks = verdict.marks or ()
    if len(marks) == 1:
        return marks[0]
    if verdict.ballot == "ranking":
        places = {letter: place for place, letter in enumerate(sorted(order(marks)))}
        return tuple(verdict.shown[places[letter]] for letter in order(marks))
    first = winner(marks)
    return None if first is None else verdict.shown[first]


def _votes(meetings: Met) -> dict[Place, list[object]]:
    """People's rulings on responses that have two votes or more."""
    votes: dict[Place, list[object]] = {}
    for verdict in meetings.record.where(judge=meetings.people, fault=None):
        if meetings.counts(verdict):
            votes.setdefault(_place(verdict), []).append(_ruling(verdict))
    return {place: ruled for place, ruled in votes.items() if len(ruled) > 1}


def _alike(ruled: Sequence[object]) -> float:
    """The share of pairs of votes that say the same.

    >>> _alike(["a", "a", "b"])
    0.3333333333333333
    """
    return sum(n * (n - 1) for n in Counter(ruled).values()) / (len(ruled) * (len(ruled) - 1))


def _compared(rows: Sequence[tuple[float, float, str]]) -> list[Cell]:
    ours, theirs = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    _, item = np.unique([row[2] for row in rows], return_inverse=True)
    gap = estimate_cells.difference(ours - theirs, item, (-1.0, 1.0))
    return [estimate_cells.share(ours, item), estimate_cells.share(theirs, item), gap]
