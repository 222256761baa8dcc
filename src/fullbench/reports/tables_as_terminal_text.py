"""Tables as aligned text for a terminal of any width and in any script."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from fullbench.analysis.summary.study_summary import sentences_of, without_sentences
from fullbench.core.table import Column, Table
from fullbench.reports.cell_text import is_fault, is_numeric_column, plain_line, table_notes, with_n
from fullbench.reports.display_names_of_judges_and_contestants import NAME_COLUMNS
from fullbench.reports.names_shortened_for_narrow_tables import shorten_names

_GAP = 3
_NAME_KEYS = NAME_COLUMNS | {"shown name", "full name"}
_LEAST_NAME = 16  # shorter names say too little
_WORDS = 28  # text columns are not wrapped to less than this width


def render_texts(
    tables: Sequence[Table], *, width: int = 100, color: bool = False, selector: str = "--table {name!r}"
) -> Iterator[str]:
    """Yield the sentences of a summary, each table as lines, and all notes, each once.

    Args:
        tables: The tables; the summary is first if there is one.
        width: Columns of the terminal.
        color: Whether to use colours.
        selector: How a table of some name is selected; it comes below the table.
    """
    if sentences := sentences_of(tables):
        yield "\n".join(_fill(sentence, width) for sentence in sentences) + "\n"
    numbers: dict[str, int] = {}
    for table in map(without_sentences, tables):
        places = sorted({numbers.setdefault(note, len(numbers) + 1) for note in table_notes(table)})
        marks = f" [{_number_ranges(places)}]" if places else ""
        yield render_text(
            replace(table, title=f"{table.title}{marks}", notes=(selector.format(name=table.name),)),
            width=width, color=color, with_methods=False,
        )  # fmt: skip
    if numbers:
        digits = len(str(len(numbers))) + 3
        lines = [_fill(note, width, f"[{number}]".ljust(digits)) for note, number in numbers.items()]
        yield "\n".join(["Notes", *lines]) + "\n"


def _fill(text: str, width: int, head: str = "") -> str:
    """Return a paragraph that begins with `head`; words, and so names, are never broken."""
    return textwrap.fill(
        plain_line(text), max(width, 40), initial_indent=head, subsequent_indent=" " * len(head),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _number_ranges(numbers: Sequence[int]) -> str:
    """Return numbers with ranges.

    >>> _number_ranges([1, 2, 3, 7])
    '1-3, 7'
    """
    texts: list[str] = []
    start = previous = numbers[0]
    for number in [*numbers[1:], None]:
        if number is not None and number == previous + 1:
            previous = number
            continue
        texts.append(str(start) if start == previous else f"{start}-{previous}")
        if number is not None:
            start = previous = number
    return ", ".join(texts)


def render_text(table: Table, *, width: int = 100, color: bool = False, with_methods: bool = True) -> str:
    """Return the table as lines. A wide table is split into parts that repeat the columns naming a row.

    Args:
        table: The table.
        width: Columns of the terminal.
        color: Whether to use colours.
        with_methods: Whether a note says how the intervals were computed.
    """
    out = io.StringIO()
    colors: Literal["standard"] | None = "standard" if color else None
    console = Console(
        file=out, width=width, color_system=colors, force_terminal=color, no_color=not color, emoji=False, markup=False
    )
    console.print(Text(plain_line(table.title), style="bold"))
    for part in _table_parts(table, width):
        console.print(part)
    for note in table_notes(table) if with_methods else table.notes:
        console.print(Text(plain_line(note), style="dim"))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _table_parts(table: Table, width: int) -> Iterator[RenderableType]:
    columns, rows = with_n(table)
    needs = [_minimum_width(table, place, name, [row[place] for row in rows]) for place, name in enumerate(columns)]
    if sum(needs) + _GAP * (len(needs) - 1) <= width:
        yield _render_grid(table, (columns, rows), range(len(columns)), needs, width)
        return
    columns = _shorten_heads(columns)
    needs = [_minimum_width(table, place, name, [row[place] for row in rows]) for place, name in enumerate(columns)]
    keys = _key_columns(table, needs, width)
    widest = max((needs[place] for place in range(len(keys), len(columns))), default=0)
    short_rows, short_needs = _shorten_keys(table, rows, needs, keys, width - widest - _GAP * len(keys))
    if short_needs is None or sum(needs[key] + _GAP for key in keys) - _GAP > width:
        yield _row_blocks(table, columns, rows)
        return
    # The first part has whole names. Others repeat them, shortened if columns need the room.
    place = len(keys)
    part_rows: Sequence[Sequence[str]] = rows
    part_needs: Sequence[int] = needs
    while place < len(columns):
        places = [*keys]
        while place < len(columns) and sum(part_needs[i] + _GAP for i in places) + part_needs[place] <= width:
            places.append(place)
            place += 1
        yield _render_grid(table, (columns, part_rows), places, part_needs, width)
        if place < len(columns):
            yield Text("")
        part_rows, part_needs = short_rows, short_needs


def _shorten_heads(columns: Sequence[Column]) -> list[Column]:
    """Return the columns with shortened heads that are names from the data."""
    names = [plain_line(column) for column in columns if column.is_data_label]
    short = dict(zip(names, shorten_names(names, _WORDS), strict=True))
    return [column.with_label(short[plain_line(column)]) if column.is_data_label else column for column in columns]


def _key_columns(table: Table, needs: Sequence[int], width: int) -> list[int]:
    """Return the columns that name a row, which all parts repeat: up to the last name, and texts that leave room."""
    texts = next(
        (place for place in range(len(table.columns)) if is_numeric_column(table.cells(place))), len(table.columns)
    )
    names = [place for place in range(texts) if table.typed_columns[place].key in _NAME_KEYS]
    keys = list(range(max([0, *names]) + 1))
    for place in range(len(keys), min(texts, len(table.columns) - 1)):
        if sum(needs[key] + _GAP for key in [*keys, place]) + max(needs[place + 1 :]) > width:
            break
        keys.append(place)
    return keys


def _shorten_keys(
    table: Table, rows: Sequence[Sequence[str]], needs: Sequence[int], keys: Sequence[int], free: int
) -> tuple[Sequence[Sequence[str]], Sequence[int] | None]:
    """Return rows and widths with names that leave room for other columns; None if names would be unreadable."""
    if sum(needs[key] for key in keys) <= free:
        return rows, needs
    names = [key for key in keys if table.typed_columns[key].key in _NAME_KEYS]
    most = (free - sum(needs[key] for key in keys if key not in names)) // max(len(names), 1)
    if most < _LEAST_NAME or not names:
        return rows, None
    short_rows, short_needs = [list(row) for row in rows], list(needs)
    for key in names:
        cells = shorten_names([row[key] for row in rows], most, are_judges=table.typed_columns[key].key == "judge")
        short_needs[key] = max(map(cell_len, [plain_line(table.columns[key]), *cells]))
        for row, cell in zip(short_rows, cells, strict=True):
            row[key] = cell
    return short_rows, short_needs


def _minimum_width(table: Table, place: int, name: str, cells: Sequence[str]) -> int:
    """Numbers and names of judges and contestants are never wrapped; words are, but not too narrowly."""
    full_width = max(map(cell_len, [plain_line(name), *cells]), default=1)
    is_name = place < len(table.columns) and table.typed_columns[place].key in _NAME_KEYS
    values = is_name or place >= len(table.columns) or is_numeric_column(table.cells(place))
    return full_width if values else min(full_width, _WORDS)


def _cell_styles(table: Table, row: int, width: int) -> list[str]:
    styles = [
        "yellow" if is_fault(name, cell) else ""
        for name, cell in zip(table.typed_columns, table.rows[row], strict=True)
    ]
    return styles + [""] * (width - len(styles))


def _render_grid(
    table: Table, texts: tuple[Sequence[Column], Sequence[Sequence[str]]], places: Sequence[int], needs: Sequence[int],
    width: int,
) -> RenderableType:  # fmt: skip
    columns, rows = texts
    right = [place >= len(table.columns) or is_numeric_column(table.cells(place)) for place in places]
    names = [plain_line(columns[place]) for place in places]
    full_widths = [
        max(map(cell_len, [name, *(row[place] for row in rows)])) for name, place in zip(names, places, strict=True)
    ]
    if sum(full_widths) + _GAP * (len(full_widths) - 1) <= width:
        return _render_lines(
            table, [names, *([row[place] for place in places] for row in rows)], places, full_widths, right
        )
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for place, name, values in zip(places, names, right, strict=True):
        side: Literal["left", "right"] = "right" if values else "left"
        grid.add_column(Text(name), justify=side, no_wrap=values, overflow="fold", min_width=needs[place])
    for index, row in enumerate(rows):
        styles = _cell_styles(table, index, len(columns))
        grid.add_row(*(Text(row[place], style=styles[place]) for place in places))
    return grid


def _render_lines(
    table: Table, cells: Sequence[Sequence[str]], places: Sequence[int], widths: Sequence[int], right: Sequence[bool]
) -> Text:
    """Render the grid if nothing has to be wrapped, which takes a tenth of the time for long tables."""
    lines = Text(no_wrap=True)
    for index, row in enumerate(cells):
        styles = _cell_styles(table, index - 1, max(places) + 1) if index else ["bold"] * (max(places) + 1)
        for number, (place, text) in enumerate(zip(places, row, strict=True)):
            blank = " " * (widths[number] - cell_len(text))
            lines.append(" " * _GAP if number else "")
            lines.append(f"{blank}{text}" if right[number] else f"{text}{blank}", styles[place] or None)
        lines.append("\n" if index < len(cells) - 1 else "")
        if index == 0:
            lines.append("─" * (sum(widths) + _GAP * (len(widths) - 1)) + ("\n" if len(cells) > 1 else ""))
    return lines


def _row_blocks(table: Table, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Group:
    parts: list[RenderableType] = []
    for index, row in enumerate(rows):
        styles = _cell_styles(table, index, len(columns))
        block = Grid.grid(padding=(0, 2))
        block.add_column(no_wrap=True)
        block.add_column(overflow="fold")
        parts.append(Text(""))
        for place, (name, cell, style) in enumerate(zip(columns, row, styles, strict=True)):
            if place < len(table.columns) and table.typed_columns[place].key in _NAME_KEYS and not block.row_count:
                parts.append(Text(f"{plain_line(name)}: {cell}", no_wrap=True, overflow="ignore"))
            else:
                block.add_row(Text(plain_line(name), style="dim"), Text(cell, style=style))
        parts.append(block)
    return Group(*parts)
