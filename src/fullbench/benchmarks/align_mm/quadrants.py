"""Four kinds of contestants, by how well they answer and how steadily."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal, get_args

from fullbench.core.column_labels import headings
from fullbench.core.note import Note, word
from fullbench.core.table import Cell, Table, sort_value

Quadrant = Literal["Robust Convergence", "Component-Centric", "Alignment-Driven", "Baseline Limited"]
Row = tuple[str, Cell, Cell]
INFINITE = "∞"
"""The alignment score of a contestant whose marks never differ between the wordings of a question."""
CONTROL = " without image"
"""How the name of a contestant ends that is shown no picture: it is compared with, and is none of those split."""


def quadrant(average: float, alignment: float, split: tuple[float, float]) -> Quadrant:
    """The quadrant of a contestant; whoever stands on a line counts as above it.

    >>> quadrant(6.5, 1.54, (5.0, 1.08)), quadrant(6.5, 0.9, (5.0, 1.08))
    ('Robust Convergence', 'Component-Centric')
    """
    well, steadily = average >= split[0], alignment >= split[1]
    if well:
        return "Robust Convergence" if steadily else "Component-Centric"
    return "Alignment-Driven" if steadily else "Baseline Limited"


def quadrants(contestants: Sequence[Row], *, split: tuple[float, float] | None = None, source: str = "") -> Table:
    """Contestants by average and alignment score, split at given values or at the medians of those shown.

    One that is perfectly steady, whose alignment score is infinite, is steadier than all others. A contestant that
    lacks one of the two scores, and a control without pictures, is in no quadrant and moves no median.
    """
    known = {
        name: (well, steady)
        for name, average, aligned in contestants
        if (well := sort_value(average)) is not None
        and (steady := steadiness(aligned)) is not None
        and not name.endswith(CONTROL)
    }
    lines = split or _medians(list(known.values()))
    rows: list[list[Cell]] = [
        [name, average, aligned, quadrant(*known[name], lines) if name in known and lines else None]
        for name, average, aligned in contestants
    ]
    notes = [] if lines is None else [_said(lines, chosen=split is not None, n=len(known))]
    if any(name.endswith(CONTROL) for name, *_ in contestants):
        notes.append(
            Note("align-mm.quadrants.control", "A control without pictures is in no quadrant and moves no median.")
        )
    drawn = None if lines is None else (lines[0], None if math.isinf(lines[1]) else lines[1])
    hint = {"kind": "scatter", "x": "Avg", "y": "alignment", "label": "contestant", "split": drawn,
            "corners": list(get_args(Quadrant)) if drawn and drawn[1] is not None else [],
            "infinite": INFINITE}  # fmt: skip
    title: str = Note("align-mm.quadrants.title", "How well and how steadily")
    if source:
        title = Note("title.source", "{title} ({source})", title=title, source=source)
    columns = headings("contestant", "Avg", "alignment", "quadrant")
    return Table(f"quadrants {source}".strip(), title, columns, rows, notes, {}, hint if lines else None)


def steadiness(aligned: Cell) -> float | None:
    """An alignment score as a number, infinity where it is infinite.

    >>> steadiness("∞"), steadiness(1.5), steadiness(None)
    (inf, 1.5, None)
    """
    return math.inf if aligned == INFINITE else sort_value(aligned)


def _medians(known: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    if not known:
        return None
    return median(well for well, _ in known), _middle([steady for _, steady in known])


def _middle(values: Sequence[float]) -> float:
    """The median; between a number and infinity it is the number, so that a line can be drawn."""
    ranked = sorted(values)
    lower, upper = ranked[(len(ranked) - 1) // 2], ranked[len(ranked) // 2]
    return lower if math.isinf(upper) and not math.isinf(lower) else (lower + upper) / 2


def _said(lines: tuple[float, float], *, chosen: bool, n: int) -> str:
    medians = Note("align-mm.quadrants.medians", "the medians of these {n}", n=n)
    return Note(
        "align-mm.quadrants.split",
        "Split at Avg {average:.2f} and alignment {alignment} ({how}); on a line counts as above it.",
        average=lines[0], alignment=INFINITE if math.isinf(lines[1]) else f"{lines[1]:.2f}",
        how=word("given") if chosen else medians,
    )  # fmt: skip
