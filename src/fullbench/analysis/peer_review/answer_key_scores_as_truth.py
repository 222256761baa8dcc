"""Contestants' scores by an answer key: the human-annotated list that a peer review is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.stats.intervals.share_intervals import share_estimate


class AnswerKeyScore(Protocol):
    """Results of one contestant on questions with an answer key."""

    @property
    def contestant(self) -> str: ...
    @property
    def right(self) -> Sequence[bool]: ...
    @property
    def images(self) -> Sequence[str]: ...
    @property
    def unread(self) -> int: ...


def truth_from_answer_key(contestant_scores: Sequence[AnswerKeyScore]) -> Truth:
    """Return the share of questions that each contestant answers correctly, as the truth."""
    scores = {entry.contestant: sum(entry.right) / len(entry.right) for entry in contestant_scores if entry.right}
    if not scores:
        return Truth({})
    note = Note("peers.benchmark.source", n=sum(len(entry.right) for entry in contestant_scores))
    return Truth(scores, note)


def answer_key_score_table(contestant_scores: Sequence[AnswerKeyScore]) -> Table:
    """Return each contestant's score by the answer key, clustered by picture."""
    rows: list[list[Cell]] = [
        [
            entry.contestant,
            share_estimate([float(hit) for hit in entry.right], cluster=list(entry.images)),
            entry.unread,
        ]
        for entry in contestant_scores
        if entry.right
    ]
    rows.sort(key=lambda row: -getattr(row[1], "value", 0.0))
    note = Note("peers.benchmark.unread")
    title = Note("peers.benchmark.title")
    return Table("benchmark", title, table_columns("contestant", "right", "unread"), rows, [note])
