"""Accuracy of each reviewer compared with the truth: figure 5 and table 7 of the paper."""

from __future__ import annotations

from collections import defaultdict

from fullbench.analysis.peer_review.ground_truth import outcome_for_first, pair_of, true_outcomes
from fullbench.analysis.peer_review.reviews_from_record import TRUTHS, match_judges_to_contestants, reviewer_of
from fullbench.core.column_labels import table_columns
from fullbench.core.note import Note, word_note
from fullbench.core.record import Record
from fullbench.core.rubric import CORRECTNESS, VISUAL
from fullbench.core.table import Cell, Table
from fullbench.stats.intervals.share_intervals import share_estimate

_ALL = ""
"""Key of the row of all reviewers. No contestant has an empty name."""


def reviewer_accuracy_table(record: Record) -> Table:
    """Return the share of each reviewer's verdicts that equal the truth, including ties, clustered by picture."""
    contestant_by_judge = match_judges_to_contestants(record)
    hits: dict[tuple[str, str], tuple[list[float], list[str]]] = defaultdict(lambda: ([], []))
    for criterion in (CORRECTNESS, VISUAL):
        truth = true_outcomes(record, criterion)
        for verdict in record.where(criterion=criterion, fault=None) if truth else ():
            reviewer = reviewer_of(record, verdict, contestant_by_judge)
            true = truth.get(pair_of(verdict)) if len(verdict.contestants) == 2 else None
            if verdict.judge in TRUTHS or true is None or not reviewer or reviewer in verdict.contestants:
                continue
            image = record.tag(verdict, "image") or verdict.item
            for who in (reviewer, _ALL):
                hit, clusters = hits[who, criterion]
                hit.append(float(outcome_for_first(verdict) == true))
                clusters.append(image)
    names = sorted({who for who, _ in hits if who})
    rows: list[list[Cell]] = [_reviewer_accuracy_row(hits, name, name) for name in names]
    rows.sort(key=lambda row: -getattr(row[1], "value", -1.0))
    if rows:
        rows.append(_reviewer_accuracy_row(hits, word_note("all reviewers"), _ALL))
    notes = [Note("peers.accuracy.the-share-of-rulings")]
    hint = {"kind": "intervals", "label": "reviewer", "columns": ["correctness right", "visual right"]}
    title = Note("peers.accuracy.title")
    columns = table_columns("reviewer", "correctness right", "visual right")
    return Table("accuracy", title, columns, rows, notes, {}, hint)


def _reviewer_accuracy_row(
    hits: dict[tuple[str, str], tuple[list[float], list[str]]], label: str, who: str
) -> list[Cell]:
    cells: list[Cell] = [label]
    for criterion in (CORRECTNESS, VISUAL):
        hit, clusters = hits.get((who, criterion), ([], []))
        cells.append(share_estimate(hit, cluster=clusters) if hit else None)
    return cells
