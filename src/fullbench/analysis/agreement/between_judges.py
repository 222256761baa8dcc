"""Agreement between judges: how often two of them rule alike on the same responses."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from fullbench.analysis import estimate_cells
from fullbench.analysis.agreement.judges_with_people import SHAPES
from fullbench.analysis.scope_text import OVERALL
from fullbench.columns.verdict_columns import Columns, Ints, grouped
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Rulings:
    """One judge's rulings: how often it ruled what in which meeting, and the sums of its marks there."""

    ruled: Ints
    times: Ints
    heard: Floats
    marks: Floats
    squares: Floats


def between(columns: Columns) -> Table:
    """Each two judges on the same responses: the same mark, or the same winner; every ruling beside every other."""
    rows: list[list[Cell]] = []
    counted = columns.latest()
    counted = counted.rows((counted.fault < 0) & ~counted.meeting_themselves())
    split = any(name != OVERALL for name in (columns.names["criterion"][code] for code in np.unique(counted.criterion)))
    for (criterion, family), part in counted.by("criterion", "family"):
        meeting, item, ruling = _meetings(part)
        own = {judge: _rulings(meeting, ruling, part, part.judge == code) for code, judge in _judges(part)}
        for judge, other in combinations(sorted(own), 2):
            cells = _compared(own[judge], own[other], item, int(ruling.max()) + 1, scores=family == "score")
            if cells is not None:
                rows.append([judge, other, *([criterion] if split else []), SHAPES[family], *cells])
    rows.sort(key=lambda row: [str(cell) for cell in row[:4]])
    notes = [
        Note(
            "between.the-same-mark-for-scores",
            "The same mark for scores, the same winner otherwise; r is Pearson's, for scores. Items are kept together.",
        )
    ]
    head = headings("judge", "other", *(["criterion"] if split else []), "on", "same ruling", "r")
    return Table(
        "between judges", Note("between.title.agreement-between-judges", "Agreement between judges"), head, rows, notes
    )


def _judges(part: Columns) -> list[tuple[int, str]]:
    return [(int(code), part.names["judge"][code]) for code in np.unique(part.judge)]


def _meetings(part: Columns) -> tuple[Ints, Ints, Ints]:
    """Which responses each verdict is on (a number), the item of each such number, and what was ruled (a number)."""
    meeting, ruling = np.zeros(len(part), dtype=np.int64), np.zeros(len(part), dtype=np.int64)
    sizes, start, most, kinds = part.shown, part.start.astype(np.int64), 0, 0
    samples = int(part.sample.max(initial=0)) + 1
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        at = start[rows][:, None] + np.arange(size)
        shown = part.contestant[at].astype(np.int64) * samples + part.sample[at]
        code, _ = grouped(part.study[rows], part.item[rows], part.ballot[rows], *np.sort(shown, axis=1).T)
        meeting[rows] = code + most
        most += int(code.max()) + 1
        marks = part.mark[at]
        best = marks.max(axis=1, keepdims=True)
        winner = np.where((marks == best).sum(axis=1) == 1, shown[np.arange(len(rows)), marks.argmax(axis=1)] + 1, 0)
        mark_codes, _ = grouped(marks[:, 0] if size == 1 else winner)
        ruling[rows] = (mark_codes if size == 1 else winner) + kinds
        kinds = int(ruling[rows].max()) + 1
    item = np.zeros(most, dtype=np.int64)
    item[meeting] = part.item
    return meeting, item, ruling


def _rulings(meeting: Ints, ruling: Ints, part: Columns, rows: npt.NDArray[np.bool_]) -> _Rulings:
    size, kinds = int(meeting.max()) + 1, int(ruling.max()) + 1
    ruled, times = np.unique(meeting[rows] * kinds + ruling[rows], return_counts=True)
    marks = part.mark[part.start.astype(np.int64)[:-1]][rows]
    heard, sums, squares = (
        np.bincount(meeting[rows], weights, size).astype(np.float64) for weights in (None, marks, marks**2)
    )
    return _Rulings(ruled, times, heard, sums, squares)


def _compared(ours: _Rulings, theirs: _Rulings, item: Ints, kinds: int, *, scores: bool) -> list[Cell] | None:
    """The share of rulings alike, and Pearson's r of scores; None for judges that never met."""
    meetings = ours.heard * theirs.heard
    shared = meetings > 0
    if not shared.any():
        return None
    both, here, there = np.intersect1d(ours.ruled, theirs.ruled, assume_unique=True, return_indices=True)
    times = (ours.times[here] * theirs.times[there]).astype(np.float64)
    alike: Floats = np.bincount(both // kinds, times, len(item)).astype(np.float64)
    same = estimate_cells.share_of(alike[shared], meetings[shared], item[shared])
    return [same, _r(ours, theirs) if scores else None]


def _r(ours: _Rulings, theirs: _Rulings) -> float | None:
    """Pearson's r over every ruling of one judge beside every ruling of the other; None where one does not vary."""
    n = float((ours.heard * theirs.heard).sum())
    x, y = float((ours.marks * theirs.heard).sum()) / n, float((theirs.marks * ours.heard).sum()) / n
    across = float((ours.squares * theirs.heard).sum()) / n - x * x
    up = float((theirs.squares * ours.heard).sum()) / n - y * y
    if min(across, up) <= 1e-12 * max(1.0, x * x, y * y):
        return None
    return (float((ours.marks * theirs.marks).sum()) / n - x * y) / float(np.sqrt(across * up))
