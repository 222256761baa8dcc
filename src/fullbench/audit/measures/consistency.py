"""Is the judge steady? The same pair in the other order, again, and with question or rubric in other words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fullbench.audit.cases.text_variants import CRITERION, CRITERION_ANEW
from fullbench.audit.measures.picture_use import plain_pairs
from fullbench.audit.measures.verdicts_with_truth import Heard, of, share
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, word
from fullbench.core.table import Cell, Table

WAYS = ("in the other order", "again", "question reworded", "rubric reworded")


def steadiness(rows: Sequence[Heard]) -> dict[str, Estimate]:
    """For each way of hearing a pair again, the share of rulings that stay."""
    first = plain_pairs(rows)
    again: dict[str, list[Heard]] = {way: [] for way in WAYS}
    for row in rows:
        if not row.ruled or row.base not in first:
            continue
        start = first[row.base].verdict
        if row.part == "reworded":
            again["question reworded"].append(row)
        elif row.part == "pairs" and row.verdict.criterion == CRITERION_ANEW:
            again["rubric reworded"].append(row)
        elif row.part == "pairs" and row.verdict.criterion == CRITERION and row.verdict.trial > 0:
            again["again"].append(row)
        elif row.part == "pairs" and row.verdict.contestants != start.contestants:
            again["in the other order"].append(row)
    shares = {}
    for way, those in again.items():
        same = [float(row.mark("right") == first[row.base].mark("right")) for row in those]
        if (held := share(same, [row.base for row in those])) is not None:
            shares[way] = held
    return shares


def steadiness_table(found: dict[str, Estimate]) -> Table:
    """The shares as a table."""
    return Table(
        "steadiness",
        Note("audit.steady.title", "Is it steady? The same pairs heard again"),
        headings("heard again", "same ruling"),
        [[word(way), held] for way, held in found.items()],
    )


def scale_table(rows: Sequence[Heard]) -> Table:
    """Which marks of the scale it uses, beside those that the truth would give."""
    scores = of(rows, "scores")
    used = Counter(round(row.verdict.marks[0]) for row in scores if row.verdict.marks)
    due = Counter(round(1 + 4 * row.qualities[0]) for row in scores)
    cells: list[list[Cell]] = [
        [str(mark), used[mark] / len(scores), due[mark] / len(scores)] for mark in range(1, 6) if scores
    ]
    return Table(
        "scale",
        Note("audit.scale.title", "Which marks it uses"),
        headings("mark given", "share given", "share due"),
        cells,
    )
