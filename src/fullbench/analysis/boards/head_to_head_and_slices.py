"""Details of one leaderboard: head-to-head matrix, results by item tag, and distribution of marks.

All intervals are clustered by item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.boards.leaderboard import Board
from fullbench.analysis.boards.unusable_verdicts_and_bounds_by_contestant import unusable_counts, with_unusable_column
from fullbench.analysis.scope_suffixes_of_table_titles import mean_label
from fullbench.columns.verdict_columns import Columns
from fullbench.core.built_in_table_columns import data_column, table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note

RIVALS = 25
"""Number of best contestants in the head-to-head table."""
LINES = 6
"""Number of best contestants in charts with one line per contestant."""
GROUPS = 40
"""Tags with more values than this get no table."""
LEVELS = 20
"""Ballots with more distinct marks than this get no distribution table."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]
AGAINST_LABEL, WON_LABEL = Note("chart.against"), Note("chart.won")
"""Axis labels of charts of wide tables."""
Metric = Callable[[Floats, Ints], Estimate]


@dataclass(frozen=True)
class Slice:
    """A table and its chart hints. `labels` are the values of a tag in the order of its columns."""

    table: Table
    charts: Sequence[Mapping[str, Any]] = ()
    labels: Sequence[str] = ()


@dataclass(frozen=True)
class _ContestantValues:
    """Parallel arrays of values with the contestant and the item of each."""

    names: Sequence[str]
    items: Sequence[str]
    who: Ints
    item: Ints
    value: Floats

    def values_for(self, contestant: str, items: npt.NDArray[np.bool_] | None = None) -> tuple[Floats, Ints]:
        """Return one contestant's values on the selected items (default: all), and the item of each value."""
        selection = self.who == (self.names.index(contestant) if contestant in self.names else -1)
        if items is not None:
            selection &= items[self.item]
        return self.value[selection], self.item[selection]


def counted_verdicts(columns: Columns) -> Columns:
    """Return the latest verdict of each rater, without those that compare a contestant with itself."""
    latest = columns.latest()
    return latest.rows(~latest.self_matches())


def win_matrix(board: Board) -> Slice | None:
    """Return the share of matches that the row's contestant won against the column's, among the best ones."""
    rows, names = board.matches.rows, board.matches.names
    rivals = {names[who] for who in np.unique(np.concatenate([rows.first, rows.second])).tolist()}
    playing = [name for name in board.contestants if name in rivals]
    best_contestants = playing[:RIVALS]
    if len(best_contestants) < 2:
        return None
    cells: list[list[Cell]] = []
    for name in best_contestants:
        cells.append([name, *(_win_share_against(board, name, rival) for rival in best_contestants)])
    notes = [Note("slices.the-share-of-wins-of")]
    if len(playing) > len(best_contestants):
        notes.append(Note("slices.the-best-of-contestants", n=len(best_contestants), all=len(playing)))
    hint = {
        "kind": "matrix",
        "row": "contestant",
        "columns": list(best_contestants),
        "column": AGAINST_LABEL,
        "value": WON_LABEL,
    }
    columns = table_columns("contestant", *map(data_column, best_contestants))
    table = Table("wins", Note("slices.title.who-beats-whom"), columns, cells, notes, {}, hint)
    return Slice(with_unusable_column(table, unusable_counts(board.columns)), [hint], best_contestants)


def _win_share_against(board: Board, name: str, rival: str) -> Estimate | None:
    rows, places = board.matches.rows, board.matches.names
    row, column = places.index(name), places.index(rival)
    ahead, behind = (rows.first == row) & (rows.second == column), (rows.first == column) & (rows.second == row)
    values = np.concatenate([rows.outcome[ahead], 1 - rows.outcome[behind]])
    return (
        item_clustered_means_and_shares.share_estimate(values, np.concatenate([rows.item[ahead], rows.item[behind]]))
        if len(values)
        else None
    )


def _match_outcomes(board: Board) -> _ContestantValues:
    rows = board.matches.rows
    who, item = np.concatenate([rows.first, rows.second]), np.concatenate([rows.item, rows.item])
    outcome = np.concatenate([rows.outcome, 1 - rows.outcome])
    return _ContestantValues(board.matches.names, board.matches.items, who, item, outcome)


def _marks_by_ballot(board: Board) -> Iterator[tuple[str, _ContestantValues]]:
    part = board.columns
    single = np.flatnonzero((part.response_counts == 1) & (part.fault < 0))
    at = part.start.astype(np.int64)[single]
    names, items = part.names["contestant"], part.names["item"]
    for code in np.unique(part.ballot[single]).tolist():
        on_ballot = part.ballot[single] == code
        who, item = part.contestant[at[on_ballot]].astype(np.int64), part.item[single[on_ballot]].astype(np.int64)
        yield part.names["ballot"][code], _ContestantValues(names, items, who, item, part.mark[at[on_ballot]])


def slices_by_tag(board: Board, tag: str, groups: Mapping[str, str]) -> Iterator[Slice]:
    """Yield the leaderboard's numbers for each value of a tag. `groups` maps tagged items to their value."""
    if len(board.matches):
        yield from _tag_slices(
            board,
            (tag, groups),
            (WON_LABEL, Note("slices.title.won-by", tag=tag)),
            _match_outcomes(board),
            item_clustered_means_and_shares.share_estimate,
        )
    for ballot, mark_values in _marks_by_ballot(board):
        title = Note("slices.title.mean-by", ballot=ballot, tag=tag)
        if both_words := item_clustered_means_and_shares.two_words_of(ballot):
            title = Note("slices.title.share-by", word=both_words[1], tag=tag)
        words = (mean_label(ballot), title)
        metric = partial(_mean_as_shown, ballot)
        yield from _tag_slices(board, (tag, groups), words, mark_values, metric)


def _mean_as_shown(ballot: str, values: npt.NDArray[np.float64], items: npt.NDArray[Any]) -> Estimate:
    within = item_clustered_means_and_shares.scale_of(ballot)
    mean = item_clustered_means_and_shares.mean_estimate(values, items, within)
    return item_clustered_means_and_shares.mean_as_shown(ballot, mean)


def _tag_slices(
    board: Board,
    tag_groups: tuple[str, Mapping[str, str]],
    words: tuple[Note, str],
    contestant_values: _ContestantValues,
    metric: Metric,
) -> Iterator[Slice]:
    (tag, groups), (what, title) = tag_groups, words
    there = {contestant_values.items[code]: code for code in np.unique(contestant_values.item).tolist()}
    values = sorted({groups[item] for item in there if item in groups})
    if not 2 <= len(values) <= GROUPS:
        return
    heads = [_value_heading(tag, value, what) for value in values]
    members = {value: np.zeros(len(contestant_values.items), dtype=np.bool_) for value in values}
    for item, code in there.items():
        if item in groups:
            members[groups[item]][code] = True
    every = np.logical_or.reduce(list(members.values()))
    rows: list[list[Cell]] = []
    for name in board.contestants:
        cells = [_estimate_cell(contestant_values.values_for(name, members[value]), metric) for value in values]
        cell_values = [cell.value for cell in cells if cell is not None]
        if cell_values:
            worst = min(cell_values) if len(cell_values) == len(values) else None
            rows.append([name, *cells, _estimate_cell(contestant_values.values_for(name, every), metric), worst])
    notes = [
        Note("slices.won-in-each", tag=tag)
        if what == WON_LABEL
        else Note("slices.share-in-each", word=what.values["word"], tag=tag)
        if "word" in what.values
        else Note("slices.mean-in-each", ballot=what.values["ballot"], tag=tag)
    ]
    columns = table_columns("contestant", *map(data_column, heads), "all", "worst")
    charts = list(_chart_hints(rows, heads, tag, what))
    table = Table(f"{what} by {tag}", title, columns, rows, notes, {"tag": tag, **what.values}, charts[0])
    is_tagged = np.array([name in groups for name in board.columns.names["item"]] or [False])
    counts = unusable_counts(board.columns.rows(is_tagged[board.columns.item.astype(np.int64)]))
    yield Slice(with_unusable_column(table, counts), charts, values)


def _value_heading(tag: str, value: str, what: str) -> str:
    """Return the heading of a value's column, prefixed with the tag if another column has that name."""
    return f"{tag}: {value}" if value in {"contestant", "all", "worst", what} else value


def _estimate_cell(values_and_items: tuple[Floats, Ints], metric: Metric) -> Estimate | None:
    values, items = values_and_items
    return metric(values, items) if len(values) else None


def _chart_hints(rows: Sequence[Sequence[Cell]], heads: list[str], tag: str, what: Note) -> Iterator[dict[str, Any]]:
    """Yield hints for a heat map, a radar, and a scatter of all items against the worst group."""
    yield {"kind": "matrix", "row": "contestant", "columns": heads, "column": tag, "value": what}
    if len(heads) > 2:
        yield {"kind": "radar", "label": "contestant", "axes": heads, "most": LINES}
    contestant_points = [
        (row[-2].value, row[-1]) for row in rows if isinstance(row[-2], Estimate) and isinstance(row[-1], float)
    ]
    if 2 < len(contestant_points) <= GROUPS:
        split = [float(np.median([pair[side] for pair in contestant_points])) for side in (0, 1)]
        yield {"kind": "scatter", "x": "all", "y": "worst", "label": "contestant", "split": split}


def mark_distributions(board: Board) -> Iterator[Slice]:
    """Yield per ballot how often each mark was given, and the share of marks that reach each threshold."""
    for ballot, mark_values in _marks_by_ballot(board):
        counts = unusable_counts(board.columns.where(ballot=ballot))
        levels = [float(level) for level in np.unique(mark_values.value)]
        if not 2 <= len(levels) <= LEVELS:
            continue
        shares: list[list[Cell]] = []
        reached: list[list[Cell]] = []
        marked_contestants = [name for name in board.contestants if len(mark_values.values_for(name)[0])]
        for name in marked_contestants[:LINES]:
            values, items = mark_values.values_for(name)
            for level in levels:
                shares.append(
                    [
                        name,
                        level,
                        item_clustered_means_and_shares.share_estimate((values == level).astype(np.float64), items),
                    ]
                )
                reached.append(
                    [
                        name,
                        level,
                        item_clustered_means_and_shares.share_estimate((values >= level).astype(np.float64), items),
                    ]
                )
        notes = [Note("slices.the-best-contestants-at-most", n=LINES)]
        for name, title, kind, x, value, rows in (
            ("densities", Note("slices.title.marks-given", ballot=ballot), "densities", "mark", "share", shares),
            (
                "thresholds",
                Note("slices.title.share-of-marks-that-reach", ballot=ballot),
                "curves",
                "threshold",
                "reached",
                reached,
            ),
        ):
            hint = {"kind": kind, "label": "contestant", "x": x, "value": value}
            columns = table_columns("contestant", x, value)
            table = Table(f"{name} {ballot}", title, columns, rows, notes, {"ballot": ballot}, hint)
            yield Slice(with_unusable_column(table, counts), [hint])
