"""Closer looks at one leaderboard: who beats whom, each group of items apart, how often each mark was given.

All of them count items, not rows: rows on one item are kept together in every interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from fullbench.analysis import estimate_cells
from fullbench.analysis.boards.leaderboard import Board
from fullbench.analysis.scope_text import mean_of
from fullbench.columns.verdict_columns import Columns
from fullbench.core.column_labels import headings, named
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table

RIVALS = 25
"""So many contestants, the best ones, stand in the table of who beats whom."""
LINES = 6
"""So many contestants, the best ones, are drawn where each has a line of its own."""
GROUPS = 40
"""A tag with more values than this has no table."""
LEVELS = 20
"""Marks of more kinds than this have no table of how often each was given."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]
AGAINST, WON = Note("chart.against", "against"), Note("chart.won", "won")
"""What a chart of a wide table calls its columns and its figures."""
Figure = Callable[[Floats, Ints], Estimate]


@dataclass(frozen=True)
class Slice:
    """A table and the ways to draw it; `labels` are the values of a tag in the order of its columns."""

    table: Table
    charts: Sequence[Mapping[str, Any]] = ()
    labels: Sequence[str] = ()


@dataclass(frozen=True)
class _Observed:
    """Numbers of contestants: whose, on which item, which number."""

    names: Sequence[str]
    items: Sequence[str]
    who: Ints
    item: Ints
    value: Floats

    def of(self, contestant: str, items: npt.NDArray[np.bool_] | None = None) -> tuple[Floats, Ints]:
        """The numbers of one contestant, on the items chosen or all, and the item of each."""
        chosen = self.who == (self.names.index(contestant) if contestant in self.names else -1)
        if items is not None:
            chosen &= items[self.item]
        return self.value[chosen], self.item[chosen]


def counted(columns: Columns) -> Columns:
    """The verdicts that figures count: the latest of each rater, and none that shows a contestant beside itself."""
    latest = columns.latest()
    return latest.rows(~latest.meeting_themselves())


def faults(columns: Columns) -> dict[str, int]:
    """How many verdicts that show each contestant are faults."""
    part = counted(columns)
    counts: dict[str, int] = {}
    for row in np.flatnonzero(part.fault >= 0).tolist():
        for code in np.unique(part.contestant[int(part.start[row]) : int(part.start[row + 1])]).tolist():
            name = part.names["contestant"][code]
            counts[name] = counts.get(name, 0) + 1
    return counts


def wins(board: Board) -> Slice | None:
    """Who beats whom, among the best: the row's share of matches won against the column."""
    rows, names = board.matches.rows, board.matches.names
    rivals = {names[who] for who in np.unique(np.concatenate([rows.one, rows.two])).tolist()}
    playing = [line.contestant for line in board.lines if line.contestant in rivals]
    shown = playing[:RIVALS]
    if len(shown) < 2:
        return None
    cells: list[list[Cell]] = []
    for name in shown:
        cells.append([name, *(_against(board, name, other) for other in shown)])
    notes = [Note("slices.the-share-of-wins-of", "The share of wins of the row over the column, ties half.")]
    if len(playing) > len(shown):
        notes.append(
            Note("slices.the-best-of-contestants", "The best {n} of {all} contestants.", n=len(shown), all=len(playing))
        )
    hint = {"kind": "matrix", "row": "contestant", "columns": list(shown), "column": AGAINST, "value": WON}
    return Slice(
        Table(
            "wins",
            Note("slices.title.who-beats-whom", "Who beats whom"),
            headings("contestant", *map(named, shown)),
            cells,
            notes,
            {},
            hint,
        ),
        [hint],
        shown,
    )


def _against(board: Board, name: str, other: str) -> Estimate | None:
    rows, places = board.matches.rows, board.matches.names
    row, column = places.index(name), places.index(other)
    ahead, behind = (rows.one == row) & (rows.two == column), (rows.one == column) & (rows.two == row)
    values = np.concatenate([rows.outcome[ahead], 1 - rows.outcome[behind]])
    return estimate_cells.share(values, np.concatenate([rows.item[ahead], rows.item[behind]])) if len(values) else None


def _won(board: Board) -> _Observed:
    """What each contestant won in each match."""
    rows = board.matches.rows
    who, item = np.concatenate([rows.one, rows.two]), np.concatenate([rows.item, rows.item])
    outcome = np.concatenate([rows.outcome, 1 - rows.outcome])
    return _Observed(board.matches.names, board.matches.items, who, item, outcome)


def _marks(board: Board) -> Iterator[tuple[str, _Observed]]:
    """The marks of single responses on each ballot."""
    part = board.columns
    single = np.flatnonzero((part.shown == 1) & (part.fault < 0))
    at = part.start.astype(np.int64)[single]
    names, items = part.names["contestant"], part.names["item"]
    for code in np.unique(part.ballot[single]).tolist():
        on_ballot = part.ballot[single] == code
        who, item = part.contestant[at[on_ballot]].astype(np.int64), part.item[single[on_ballot]].astype(np.int64)
        yield part.names["ballot"][code], _Observed(names, items, who, item, part.mark[at[on_ballot]])


def by_tag(board: Board, tag: str, groups: Mapping[str, str]) -> Iterator[Slice]:
    """The board's figures on the items of each value of a tag; `groups` has the value of each item that bears it."""
    if len(board.matches):
        yield from _grouped(
            board,
            (tag, groups),
            (WON, Note("slices.title.won-by", "Won, by {tag}", tag=tag)),
            _won(board),
            estimate_cells.share,
        )
    for ballot, observed in _marks(board):
        words = (
            mean_of(ballot),
            Note("slices.title.mean-by", "Mean {ballot}, by {tag}", ballot=ballot, tag=tag),
        )
        figure = partial(estimate_cells.mean, within=estimate_cells.scale_of(ballot))
        yield from _grouped(board, (tag, groups), words, observed, figure)


def _grouped(
    board: Board, tagged: tuple[str, Mapping[str, str]], words: tuple[Note, str], observed: _Observed, figure: Figure
) -> Iterator[Slice]:
    (tag, groups), (what, title) = tagged, words
    there = {observed.items[code]: code for code in np.unique(observed.item).tolist()}
    values = sorted({groups[item] for item in there if item in groups})
    if not 2 <= len(values) <= GROUPS:
        return
    heads = [_head(tag, value, what) for value in values]
    members = {value: np.zeros(len(observed.items), dtype=np.bool_) for value in values}
    for item, code in there.items():
        if item in groups:
            members[groups[item]][code] = True
    every = np.logical_or.reduce(list(members.values()))
    rows: list[list[Cell]] = []
    for name in (line.contestant for line in board.lines):
        cells = [_cell(observed.of(name, members[value]), figure) for value in values]
        known = [cell.value for cell in cells if cell is not None]
        if known:
            worst = min(known) if len(known) == len(values) else None
            rows.append([name, *cells, _cell(observed.of(name, every), figure), worst])
    notes = [
        Note("slices.won-in-each", "Won on the items of each {tag}; worst: the least of them.", tag=tag)
        if what == WON
        else Note(
            "slices.mean-in-each", "Mean {ballot} on the items of each {tag}; worst: the least of them.",
            ballot=what.values["ballot"], tag=tag,
        )
    ]  # fmt: skip
    columns = headings("contestant", *map(named, heads), "all", "worst")
    charts = list(_drawn(rows, heads, tag, what))
    yield Slice(
        Table(f"{what} by {tag}", title, columns, rows, notes, {"tag": tag, **what.values}, charts[0]), charts, values
    )


def _head(tag: str, value: str, what: str) -> str:
    """The head of a value's column; one that is called like another column is named with its tag."""
    return f"{tag}: {value}" if value in {"contestant", "all", "worst", what} else value


def _cell(observed: tuple[Floats, Ints], figure: Figure) -> Estimate | None:
    values, items = observed
    return figure(values, items) if len(values) else None


def _drawn(rows: Sequence[Sequence[Cell]], heads: list[str], tag: str, what: Note) -> Iterator[dict[str, Any]]:
    """Heat map, radar, and the quadrants of all items beside the worst group."""
    yield {"kind": "matrix", "row": "contestant", "columns": heads, "column": tag, "value": what}
    if len(heads) > 2:
        yield {"kind": "radar", "label": "contestant", "axes": heads, "most": LINES}
    whole = [(row[-2].value, row[-1]) for row in rows if isinstance(row[-2], Estimate) and isinstance(row[-1], float)]
    if 2 < len(whole) <= GROUPS:
        split = [float(np.median([pair[side] for pair in whole])) for side in (0, 1)]
        yield {"kind": "scatter", "x": "all", "y": "worst", "label": "contestant", "split": split}


def densities(board: Board) -> Iterator[Slice]:
    """How often each mark was given, and what share of marks reaches each threshold, ballot by ballot."""
    for ballot, observed in _marks(board):
        levels = [float(level) for level in np.unique(observed.value)]
        if not 2 <= len(levels) <= LEVELS:
            continue
        shares: list[list[Cell]] = []
        reached: list[list[Cell]] = []
        marked = [line.contestant for line in board.lines if len(observed.of(line.contestant)[0])]
        for name in marked[:LINES]:
            values, items = observed.of(name)
            for level in levels:
                shares.append([name, level, estimate_cells.share((values == level).astype(np.float64), items)])
                reached.append([name, level, estimate_cells.share((values >= level).astype(np.float64), items)])
        notes = [
            Note(
                "slices.the-best-contestants-at-most",
                "The best {n} contestants at most; n is all marks of the contestant.",
                n=LINES,
            )
        ]
        spread = {"kind": "densities", "label": "contestant", "x": "mark", "value": "share"}
        curve = {"kind": "curves", "label": "contestant", "x": "threshold", "value": "reached"}
        source = {"ballot": ballot}
        yield Slice(
            Table(
                f"densities {ballot}",
                Note("slices.title.marks-given", "Marks given, {ballot}", ballot=ballot),
                headings("contestant", "mark", "share"),
                shares,
                notes,
                source,
                spread,
            ),
            [spread],
        )
        yield Slice(
            Table(
                f"thresholds {ballot}",
                Note(
                    "slices.title.share-of-marks-that-reach",
                    "Share of marks that reach a threshold, {ballot}",
                    ballot=ballot,
                ),
                headings("contestant", "threshold", "reached"),
                reached,
                notes,
                source,
                curve,
            ),
            [curve],
        )
