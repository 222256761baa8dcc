"""How often each reviewer rules as the truth does: figure 5 and table 7 of the paper."""

from __future__ import annotations

from collections import defaultdict

from fullbench.analysis.peer_review.ground_truth import outcome, pair_of, true_rulings
from fullbench.analysis.peer_review.reviews_from_record import TRUTHS, reviewer_of, reviewers
from fullbench.core.column_labels import headings
from fullbench.core.note import Note, word
from fullbench.core.record import Record
from fullbench.core.rubric import CORRECTNESS, VISUAL
from fullbench.core.table import Cell, Table
from fullbench.stats.intervals.share_intervals import share

_ALL = ""
"""The row of all reviewers together; no contestant has an empty name."""


def accuracy(record: Record) -> Table:
    """The share of each reviewer's rulings that are the truth's, ties among them; pictures are the clusters."""
    known = reviewers(record)
    hits: dict[tuple[str, str], tuple[list[float], list[str]]] = defaultdict(lambda: ([], []))
    for criterion in (CORRECTNESS, VISUAL):
        truth = true_rulings(record, criterion)
        for verdict in record.where(criterion=criterion, fault=None) if truth else ():
            reviewer = reviewer_of(record, verdict, known)
            true = truth.get(pair_of(verdict)) if len(verdict.contestants) == 2 else None
            if verdict.judge in TRUTHS or true is None or not reviewer or reviewer in verdict.contestants:
                continue
            image = record.tag(verdict, "image") or verdict.item
            for who in (reviewer, _ALL):
                hit, clusters = hits[who, criterion]
                hit.append(float(outcome(verdict) == true))
                clusters.append(image)
    names = sorted({who for who, _ in hits if who})
    rows: list[list[Cell]] = [_row(hits, name, name) for name in names]
    rows.sort(key=lambda row: -getattr(row[1], "value", -1.0))
    if rows:
        rows.append(_row(hits, word("all reviewers"), _ALL))
    notes = [
        Note(
            "peers.accuracy.the-share-of-rulings",
            "The share of rulings that are the truth's own, a tie for a tie; by pairs whose truth is known.",
        )
    ]
    hint = {"kind": "intervals", "label": "reviewer", "columns": ["correctness right", "visual right"]}
    title = Note("peers.accuracy.title", "How often each reviewer is right")
    columns = headings("reviewer", "correctness right", "visual right")
    return Table("accuracy", title, columns, rows, notes, {}, hint)


def _row(hits: dict[tuple[str, str], tuple[list[float], list[str]]], label: str, who: str) -> list[Cell]:
    cells: list[Cell] = [label]
    for criterion in (CORRECTNESS, VISUAL):
        hit, clusters = hits.get((who, criterion), ([], []))
        cells.append(share(hit, cluster=clusters) if hit else None)
    return cells
