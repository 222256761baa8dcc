"""Four kinds of contestants, by how well they answer and how steadily."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Literal

from fullbench.nouns.headings import headings
from fullbench.nouns.note import Note, word
from fullbench.nouns.table import Cell, EstimateLike, Table, sort_value

Quadrant = Literal["Robust Convergence", "Component-Centric", "Alignment-Driven", "Baseline Limited"]
Row = tuple[str, Cell, Cell]


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

    A contestant that lacks one of the two (the alignment score is infinite, or there is none) is in no quadrant.
    """
    known = [(name, average, aligned) for name, average, aligned in contestants if _both(average, aligned)]
    lines = split or _medians(known)
    rows: list[list[Cell]] = []
    for name, average, aligned in contestants:
        well, steady = sort_value(average), sort_value(aligned)
        where = None if well is None or steady is None or lines is None else quadrant(well, steady, lines)
        rows.append([name, average, aligned, where])
    notes = [] if lines is None else [_said(lines, chosen=split is not None, n=len(known))]
    hint = {"kind": "scatter", "x": "Avg", "y": "alignment", "label": "contestant", "split": lines}
    title: str = Note("align-mm.quadrants.title", "How well and how steadily")
    if source:
        title = Note("title.source", "{title} ({source})", title=title, source=source)
    columns = headings("contestant", "Avg", "alignment", "quadrant")
    return Table(f"quadrants {source}".strip(), title, columns, rows, notes, {}, hint if lines else None)


def _both(average: Cell | EstimateLike, aligned: Cell | EstimateLike) -> bool:
    return sort_value(average) is not None and sort_value(aligned) is not None


def _medians(known: Sequence[Row]) -> tuple[float, float] | None:
    if not known:
        return None
    return median(sort_value(row[1]) or 0.0 for row in known), median(sort_value(row[2]) or 0.0 for row in known)


def _said(lines: tuple[float, float], *, chosen: bool, n: int) -> str:
    medians = Note("align-mm.quadrants.medians", "the medians of these {n}", n=n)
    return Note(
        "align-mm.quadrants.split",
        "Split at Avg {average:.2f} and alignment {alignment:.2f} ({how}); on a line counts as above it.",
        average=lines[0], alignment=lines[1], how=word("given") if chosen else medians,
    )  # fmt: skip
