"""Quadrants of contestants by quality (Avg) and consistency (alignment score)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal, get_args

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table, sort_value
from fullbench.core.translatable_note import Note, word_note

Quadrant = Literal["Robust Convergence", "Component-Centric", "Alignment-Driven", "Baseline Limited"]
Row = tuple[str, Cell, Cell]
INFINITE = "∞"
"""Alignment score of a contestant whose marks never differ between wordings of a question."""
CONTROL = " without image"
"""Suffix of the name of a contestant that gets no picture; it is listed for comparison, in no quadrant."""


def assign_quadrant(average: float, alignment: float, split: tuple[float, float]) -> Quadrant:
    """Return the quadrant of a contestant; a value on a line counts as above it.

    >>> assign_quadrant(6.5, 1.54, (5.0, 1.08)), assign_quadrant(6.5, 0.9, (5.0, 1.08))
    ('Robust Convergence', 'Component-Centric')
    """
    is_good, is_steady = average >= split[0], alignment >= split[1]
    if is_good:
        return "Robust Convergence" if is_steady else "Component-Centric"
    return "Alignment-Driven" if is_steady else "Baseline Limited"


def build_quadrant_table(
    contestants: Sequence[Row], *, split: tuple[float, float] | None = None, source: str = ""
) -> Table:
    """Assign contestants to quadrants, split at the given values or at the medians.

    A perfectly consistent contestant has an infinite alignment score, above all others. A contestant that lacks one of
    the two scores, and a control without pictures, is in no quadrant and does not affect the medians.
    """
    scores_by_name = {
        name: (average_number, alignment_number)
        for name, average, alignment in contestants
        if (average_number := sort_value(average)) is not None
        and (alignment_number := alignment_as_number(alignment)) is not None
        and not name.endswith(CONTROL)
    }
    lines = split or _median_split(list(scores_by_name.values()))
    rows: list[list[Cell]] = [
        [
            name,
            average,
            alignment,
            assign_quadrant(*scores_by_name[name], lines) if name in scores_by_name and lines else None,
        ]
        for name, average, alignment in contestants
    ]
    notes = [] if lines is None else [_split_note(lines, is_custom_split=split is not None, n=len(scores_by_name))]
    if any(name.endswith(CONTROL) for name, *_ in contestants):
        notes.append(Note("align-mm.quadrants.control"))
    chart_split = None if lines is None else (lines[0], None if math.isinf(lines[1]) else lines[1])
    hint = {"kind": "scatter", "x": "Avg", "y": "alignment", "label": "contestant", "split": chart_split,
            "corners": list(get_args(Quadrant)) if chart_split and chart_split[1] is not None else [],
            "infinite": INFINITE}  # fmt: skip
    title: str = Note("align-mm.quadrants.title")
    if source:
        title = Note("title.source", title=title, source=source)
    columns = table_columns("contestant", "Avg", "alignment", "quadrant")
    return Table(f"quadrants {source}".strip(), title, columns, rows, notes, {}, hint if lines else None)


def alignment_as_number(alignment: Cell) -> float | None:
    """Return an alignment score as a number, including infinity.

    >>> alignment_as_number("∞"), alignment_as_number(1.5), alignment_as_number(None)
    (inf, 1.5, None)
    """
    return math.inf if alignment == INFINITE else sort_value(alignment)


def _median_split(scores: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    if not scores:
        return None
    return median(average for average, _ in scores), _finite_median([alignment for _, alignment in scores])


def _finite_median(values: Sequence[float]) -> float:
    """Between a number and infinity, return the number, so that a line can be drawn."""
    sorted_values = sorted(values)
    lower, upper = sorted_values[(len(sorted_values) - 1) // 2], sorted_values[len(sorted_values) // 2]
    return lower if math.isinf(upper) and not math.isinf(lower) else (lower + upper) / 2


def _split_note(lines: tuple[float, float], *, is_custom_split: bool, n: int) -> str:
    medians = Note("align-mm.quadrants.medians", n=n)
    return Note(
        "align-mm.quadrants.split",
        average=lines[0], alignment=INFINITE if math.isinf(lines[1]) else f"{lines[1]:.2f}",
        how=word_note("given") if is_custom_split else medians,
    )  # fmt: skip
