"""The first screen of a result: the summary on at most 40 lines, and how to see the rest.

Tables are shown in a short form: numbers without intervals but for the first one, columns dropped from the right until
the rest fits, no cell on two lines.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from rich.cells import cell_len, set_cell_size

from fullbench.analysis.summary.study_summary import CONTESTANTS, JUDGES, MAIN_TABLE, sentences_of
from fullbench.core.estimate import Estimate
from fullbench.core.language_and_words import resolve_prefix
from fullbench.core.table import Cell, Column, Table
from fullbench.errors import InputError
from fullbench.reports.cell_text import column_decimals, format_cell, is_numeric_column, plain_line

HEIGHT = 40
MOST_ROWS = 12
"""Rows of a table that are shown; the others are counted."""
LEAST_ROWS = 4
_MOST_LISTED = 5
_GAP = 2
_NAME_SHARE = 0.45
"""Longest share of the width for a name; longer names are cut in their middle."""


@dataclass(frozen=True)
class Selection:
    """What a user asked to see: every table, one table, or the rows of one judge."""

    all_tables: bool = False
    table: str | None = None
    judge: str | None = None

    @property
    def is_default(self) -> bool:
        """True if the first screen is wanted."""
        return not (self.all_tables or self.table or self.judge)


def select_tables(tables: Sequence[Table], view: Selection) -> list[Table]:
    """Return the tables that a user asked for; all if nothing was asked. Raise if there is none of the name."""
    selected = list(tables)
    if view.judge is not None:
        names = _judge_names(tables)
        judge = resolve_prefix(view.judge, names, "judge")
        selected = [part for table in selected if (part := _rows_about(table, judge)) is not None]
    if view.table is not None:
        names = [table.name for table in selected]
        found = [name for name in names if name == view.table] or [
            name for name in names if name.lower().startswith(view.table.lower())
        ]
        if not found:
            near = get_close_matches(view.table, names, n=3, cutoff=0.4) or names[:_MOST_LISTED]
            raise InputError(
                f"there is no table {view.table!r}. Near it: {', '.join(map(repr, near))}; "
                f"--all prints all {len(names)} tables with their names"
            )
        selected = [table for table in selected if table.name in found]
    return selected


def _judge_names(tables: Sequence[Table]) -> list[str]:
    names = [str(table.source["judge"]) for table in tables if "judge" in table.source]
    for table in tables:
        place = table.place("judge")
        names += [] if place is None else [str(cell) for cell in table.cells(place)]
    return list(dict.fromkeys(names))


def _rows_about(table: Table, judge: str) -> Table | None:
    """Return the table if it is about this judge, its rows of this judge, or None."""
    if table.source.get("judge") == judge:
        return table
    place = table.place("judge")
    rows = [] if place is None else [row for row in table.rows if str(row[place]) == judge]
    return replace(table, rows=rows, chart=None) if rows else None


def render_first_screen(
    tables: Sequence[Table], *, width: int = 80, height: int = HEIGHT, hint: str = ""
) -> str:
    """Return the first screen of these tables.

    Args:
        tables: The tables; the summary is first if there is one.
        width: Columns of the terminal.
        height: Lines that may be printed.
        hint: How to see more, instead of the usual sentence.
    """
    sentences = sentences_of(tables)
    main = [table for table in tables if MAIN_TABLE in table.source] or [
        table for table in tables if table.name == CONTESTANTS
    ]
    shown = main[:1] + [table for table in tables if table.name == JUDGES] or list(tables[:2])
    lines: list[str] = []
    for sentence in sentences:
        lines += textwrap.wrap(plain_line(sentence), width)
    others = [table.name for table in tables if table not in shown and table.name not in {CONTESTANTS, JUDGES}]
    footer = _footer_lines(tables, others, width, hint)
    parts = [_ShortTable.from_table(table, width) for table in shown]
    free = height - len(lines) - len(footer) - sum(part.fixed_lines for part in parts)
    for part, rows in zip(parts, _share_rows([len(part.rows) for part in parts], free), strict=True):
        lines += ["", *part.lines(rows)]
    return "\n".join(line.rstrip() for line in [*lines, *footer]).strip("\n") + "\n"


def _share_rows(wanted: Sequence[int], free: int) -> list[int]:
    """Return the rows that each table may show: at most 12, and so many that all fit.

    >>> _share_rows([6, 30], 40), _share_rows([30, 30], 14), _share_rows([3, 30], 14)
    ([6, 12], [7, 7], [3, 11])
    """
    shares = [min(count, MOST_ROWS) for count in wanted]
    while sum(shares) > max(free, LEAST_ROWS * len(shares)) and max(shares, default=0) > LEAST_ROWS:
        shares[max(range(len(shares)), key=lambda place: (shares[place], place))] -= 1
    return shares


def _footer_lines(tables: Sequence[Table], others: Sequence[str], width: int, hint: str) -> list[str]:
    if hint:
        return ["", *textwrap.wrap(hint, width)]
    count = len(tables)
    if not others:
        return []
    text = f"{count} tables in all: --all prints them, --table NAME one of them, such as {_quoted(others[0])}."
    return ["", *textwrap.wrap(text, width)]


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name


@dataclass(frozen=True)
class _ShortTable:
    """A table cut to a width: heads and rows as texts of equal widths, and what was left out."""

    title: str
    name: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[bool]
    widths: Sequence[int]
    left_out_columns: int

    @classmethod
    def from_table(cls, table: Table, width: int) -> _ShortTable:
        columns = table.typed_columns
        with_interval = _place_of_interval(table)
        texts = [
            [
                _cut_name(text, int(width * _NAME_SHARE)) if columns[place].kind == "name" else text
                for text in _short_cells(table, place, with_interval=place == with_interval)
            ]
            for place in range(len(columns))
        ]
        heads = [_cut_name(plain_line(column), 14) if column.is_data_label else plain_line(column) for column in columns]
        widths = [
            max(map(cell_len, [head, *cells]), default=1) for head, cells in zip(heads, texts, strict=True)
        ]
        places = _fitting_places(table, widths, width)
        rows = [[texts[place][row] for place in places] for row in range(len(table.rows))]
        return cls(
            plain_line(table.title), table.name, [heads[place] for place in places], rows,
            [is_numeric_column(table.cells(place)) for place in places], [widths[place] for place in places],
            sum(_is_informative(table, place) for place in range(len(columns)) if place not in places),
        )  # fmt: skip

    @property
    def fixed_lines(self) -> int:
        """Lines besides the rows: a blank line, title, heads, rule, and what was left out."""
        return 5

    def lines(self, most_rows: int) -> list[str]:
        """Return title, heads, a rule, the first rows, and a line that counts what is not shown."""
        lines = [self.title, self._line(self.heads), "─" * (sum(self.widths) + _GAP * (len(self.widths) - 1))]
        lines += [self._line(row) for row in self.rows[:most_rows]]
        left_out = [f"+{count:,} more rows" for count in [len(self.rows) - most_rows] if count > 0]
        left_out += [f"+{self.left_out_columns} columns"] if self.left_out_columns else []
        if left_out:
            lines.append(f"{', '.join(left_out)}: --table {_quoted(self.name)}")
        return lines

    def _line(self, cells: Sequence[str]) -> str:
        return (" " * _GAP).join(
            " " * (size - cell_len(cell)) + cell if is_right else cell + " " * (size - cell_len(cell))
            for cell, size, is_right in zip(cells, self.widths, self.right, strict=True)
        )


def _short_cells(table: Table, place: int, *, with_interval: bool) -> list[str]:
    cells = table.cells(place)
    decimals = column_decimals(cells)
    return [_short_cell(table.typed_columns[place], cell, decimals, with_interval=with_interval) for cell in cells]


def _short_cell(column: Column, cell: Cell, decimals: int, *, with_interval: bool) -> str:
    if isinstance(cell, Estimate) and column.key == "share unusable":
        return f"{cell.value:.0%}"
    if isinstance(cell, Estimate) and not (with_interval and not cell.why):
        return format_cell(cell.value, decimals)
    return format_cell(cell, decimals)


def _place_of_interval(table: Table) -> int | None:
    """Return the first column of estimates, the only one with intervals."""
    return next(
        (
            place
            for place in range(len(table.columns))
            if any(isinstance(cell, Estimate) for cell in table.cells(place))
            and table.typed_columns[place].key != "share unusable"
        ),
        None,
    )


_LAST_KEYS = ("biases", "items", "people agree", "why")
"""Columns that are dropped before all others: sentence and reason say the same."""


def _is_informative(table: Table, place: int) -> bool:
    return any(cell is not None for cell in table.cells(place))


def _fitting_places(table: Table, widths: Sequence[int], width: int) -> list[int]:
    """Return the columns that fit, in their order; first those that name a row, then from the left."""
    columns = table.typed_columns
    places = [place for place in range(len(columns)) if _is_informative(table, place)]
    order = sorted(
        places,
        key=lambda place: (
            columns[place].kind not in {"name", "rank"} or columns[place].is_data_label,
            _LAST_KEYS.index(columns[place].key) + 1 if columns[place].key in _LAST_KEYS[:3] else 0,
            place,
        ),
    )
    chosen: list[int] = []
    for place in order:
        if sum(widths[each] + _GAP for each in chosen) + widths[place] <= width or not chosen:
            chosen.append(place)
    return sorted(chosen)


def _cut_name(name: str, most: int) -> str:
    """Return a name of at most so many cells, cut in its middle: names often differ at their ends.

    >>> _cut_name("a-model-with-a-long-name-v2", 15)
    'a-model…name-v2'
    """
    if cell_len(name) <= most or most < 5:
        return name
    tail = (most - 1) // 2
    while cell_len(name[-tail:]) > (most - 1) // 2:
        tail -= 1
    return set_cell_size(name, most - 1 - cell_len(name[-tail:])).rstrip() + "…" + name[-tail:]
