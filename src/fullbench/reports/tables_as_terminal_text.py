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

from fullbench.core.table import Column, Table
from fullbench.reports.cell_text import is_fault, is_numeric_column, plain_line, table_notes, with_n
from fullbench.reports.display_names_of_judges_and_contestants import NAME_COLUMNS

_GAP = 3
_WORDS = 28  # text columns are not wrapped to less than this width


def render_texts(tables: Sequence[Table], *, width: int = 100, color: bool = False) -> Iterator[str]:
    """Yield each table as lines, with its name and the numbers of its notes, then all notes, each once."""
    numbers: dict[str, int] = {}
    for table in tables:
        places = sorted({numbers.setdefault(note, len(numbers) + 1) for note in table_notes(table)})
        marks = f" [{_number_ranges(places)}]" if places else ""
        yield render_text(
            replace(table, title=f"{table.title}{marks}", notes=(f"--table '{table.name}'",)),
            width=width, color=color, with_methods=False,
        )  # fmt: skip
    if numbers:
        digits = len(str(len(numbers))) + 3
        lines = [
            textwrap.fill(
                plain_line(note), max(width, 40), initial_indent=f"[{number}]".ljust(digits),
                subsequent_indent=" " * digits,
            )
            for note, number in numbers.items()
        ]  # fmt: skip
        yield "\n".join(["Notes", *lines]) + "\n"


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
    first = needs[0]
    if max(needs) + first + _GAP > width and sum(needs) + _GAP * (len(needs) - 1) > width:
        yield _row_blocks(table, columns, rows)
        return
    keys = _key_columns(table, needs, width)
    places = [*keys]
    for place in range(len(keys), len(columns)):
        if len(places) > len(keys) and sum(needs[i] + _GAP for i in places) + needs[place] > width:
            yield _render_grid(table, (columns, rows), places, needs, width)
            yield Text("")
            places = [*keys]
        places.append(place)
    yield _render_grid(table, (columns, rows), places, needs, width)


def _key_columns(table: Table, needs: Sequence[int], width: int) -> list[int]:
    keys = [0]
    for place in range(1, len(table.columns) - 1):
        needed_width = sum(needs[key] + _GAP for key in [*keys, place])
        if is_numeric_column(table.cells(place)) or needed_width + max(needs[place + 1 :]) > width:
            break
        keys.append(place)
    return keys


def _minimum_width(table: Table, place: int, name: str, cells: Sequence[str]) -> int:
    """Numbers and names of judges and contestants are never wrapped; words are, but not too narrowly."""
    full_width = max(map(cell_len, [plain_line(name), *cells]), default=1)
    is_name = place < len(table.columns) and table.typed_columns[place].key in NAME_COLUMNS
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
        block.add_column(overflow="fold")
        block.add_column(overflow="fold")
        for name, cell, style in zip(columns, row, styles, strict=True):
            block.add_row(Text(plain_line(name), style="dim"), Text(cell, style=style))
        parts += [Text(""), block]
    return Group(*parts)
