"""Consistency of a judge: the same pair in the other order, repeated, and with question or rubric reworded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fullbench.audit.cases.irrelevant_answer_changes_and_rewordings import CRITERION, REWORDED_CRITERION
from fullbench.audit.measures.picture_use import plain_pairs
from fullbench.audit.measures.verdicts_with_truth import JudgedCase, marked_cases, share_over_items
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note

VARIANTS = ("in the other order", "again", "question reworded", "rubric reworded")


def measure_steadiness(rows: Sequence[JudgedCase]) -> dict[str, Estimate]:
    """Return the share of verdicts that stay the same, by variant."""
    first_rows = plain_pairs(rows)
    rows_by_variant: dict[str, list[JudgedCase]] = {variant: [] for variant in VARIANTS}
    for row in rows:
        if not row.has_marks or row.base not in first_rows:
            continue
        first_verdict = first_rows[row.base].verdict
        if row.part == "reworded":
            rows_by_variant["question reworded"].append(row)
        elif row.part == "pairs" and row.verdict.criterion == REWORDED_CRITERION:
            rows_by_variant["rubric reworded"].append(row)
        elif row.part == "pairs" and row.verdict.criterion == CRITERION and row.verdict.trial > 0:
            rows_by_variant["again"].append(row)
        elif row.part == "pairs" and row.verdict.contestants != first_verdict.contestants:
            rows_by_variant["in the other order"].append(row)
    shares = {}
    for variant, repeated_rows in rows_by_variant.items():
        same = [float(row.mark("right") == first_rows[row.base].mark("right")) for row in repeated_rows]
        if (same_share := share_over_items(same, [row.base for row in repeated_rows])) is not None:
            shares[variant] = same_share
    return shares


def steadiness_table(shares: dict[str, Estimate]) -> Table:
    """Return the shares as a table."""
    return Table(
        "steadiness",
        Note("audit.steady.title"),
        table_columns("judged again", "same verdict"),
        [[word_note(variant), estimate] for variant, estimate in shares.items()],
    )


def scale_table(rows: Sequence[JudgedCase]) -> Table:
    """Return the marks that the judge uses, next to those that the truth would give."""
    scores = marked_cases(rows, "scores")
    mark_counts = Counter(round(row.verdict.marks[0]) for row in scores if row.verdict.marks)
    true_mark_counts = Counter(round(1 + 4 * row.qualities[0]) for row in scores)
    cells: list[list[Cell]] = [
        [str(mark), mark_counts[mark] / len(scores), true_mark_counts[mark] / len(scores)]
        for mark in range(1, 6)
        if scores
    ]
    return Table("scale", Note("audit.scale.title"), table_columns("mark given", "share given", "share due"), cells)
