"""Contestants' scores by the key of the questions: the human-annotated list that a peer review is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.stats.intervals.share_intervals import share


class Scored(Protocol):
    """One contestant on questions with a key."""

    @property
    def contestant(self) -> str: ...
    @property
    def right(self) -> Sequence[bool]: ...
    @property
    def images(self) -> Sequence[str]: ...
    @property
    def unread(self) -> int: ...


def by_key(scored: Sequence[Scored]) -> Truth:
    """The share of questions that each contestant answers right, as the truth."""
    scores = {entry.contestant: sum(entry.right) / len(entry.right) for entry in scored if entry.right}
    if not scores:
        return Truth({})
    note = Note(
        "peers.benchmark.source",
        "Truth: contestants' scores on these questions by their key, {n:,} answers.",
        n=sum(len(entry.right) for entry in scored),
    )
    return Truth(scores, note)


def benchmark(scored: Sequence[Scored]) -> Table:
    """Each contestant's score by the key; pictures are the clusters."""
    rows: list[list[Cell]] = [
        [entry.contestant, share([float(hit) for hit in entry.right], cluster=list(entry.images)), entry.unread]
        for entry in scored
        if entry.right
    ]
    rows.sort(key=lambda row: -getattr(row[1], "value", 0.0))
    note = Note(
        "peers.benchmark.unread",
        "Right: the option that the answer settles on is the right one. Unread: it settles on none, and counts as "
        "wrong.",
    )
    title = Note("peers.benchmark.title", "Scores by the questions' key")
    return Table("benchmark", title, headings("contestant", "right", "unread"), rows, [note])
