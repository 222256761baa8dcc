"""A table as text for a terminal: aligned, any width, any script."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from fullbench.core.table import Column, Table
from fullbench.reports.cell_text import is_fault, notes, numeric, plain, with_n

_GAP = 3
_WORDS = 28


def text(table: Table, *, width: int = 100, color: bool = False) -> str:
    """The table as lines. Too wide for the terminal, it is shown in parts, each with the columns that name a row."""
    out = io.StringIO()
    colors: Literal["standard"] | None = "standard" if color else None
    console = Console(
        file=out, width=width, color_system=colors, force_terminal=color, no_color=not color, emoji=False, markup=False
    )
    console.print(Text(plain(table.title), style="bold"))
    for part in _parts(table, width):
        console.print(part)
    for note in notes(table):
        console.print(Text(plain(note), style="dim"))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _parts(table: Table, width: int) -> Iterator[RenderableType]:
    """The whole table where it fits, else its columns in as many parts as it takes, else a block for each row."""
    columns, rows = with_n(table)
    needs = [_need(table, place, name, [row[place] for row in rows]) for place, name in enumerate(columns)]
    first = needs[0]
    if max(needs) + first + _GAP > width and sum(needs) + _GAP * (len(needs) - 1) > width:
        yield _blocks(table, columns, rows)
        return
    keys = _keys(table, needs, width)
    shown = [*keys]
    for place in range(len(keys), len(columns)):
        if len(shown) > len(keys) and sum(needs[i] + _GAP for i in shown) + needs[place] > width:
            yield _grid(table, (columns, rows), shown, needs, width)
            yield Text("")
            shown = [*keys]
        shown.append(place)
    yield _grid(table, (columns, rows), shown, needs, width)


def _keys(table: Table, needs: Sequence[int], width: int) -> list[int]:
    """The columns that name a row and stand in every part: those of words that come first, as far as all others fit
    beside them."""
    keys = [0]
    for place in range(1, len(table.columns) - 1):
        beside = sum(needs[key] + _GAP for key in [*keys, place])
        if numeric(table.cells(place)) or beside + max(needs[place + 1 :]) > width:
            break
        keys.append(place)
    return keys


def _need(table: Table, place: int, name: str, cells: Sequence[str]) -> int:
    """The least width of a column: figures are never broken, words may be, though not into crumbs."""
    whole = max(map(cell_len, [plain(name), *cells]), default=1)
    figures = place >= len(table.columns) or numeric(table.cells(place))
    return whole if figures else min(whole, _WORDS)


def _styles(table: Table, row: int, width: int) -> list[str]:
    styles = ["yellow" if is_fault(name, cell) else "" for name, cell in zip(table.typed, table.rows[row], strict=True)]
    return styles + [""] * (width - len(styles))


def _grid(
    table: Table, texts: tuple[Sequence[Column], Sequence[Sequence[str]]], shown: Sequence[int], needs: Sequence[int],
    width: int,
) -> RenderableType:  # fmt: skip
    columns, rows = texts
    right = [place >= len(table.columns) or numeric(table.cells(place)) for place in shown]
    names = [plain(columns[place]) for place in shown]
    whole = [
        max(map(cell_len, [name, *(row[place] for row in rows)])) for name, place in zip(names, shown, strict=True)
    ]
    if sum(whole) + _GAP * (len(whole) - 1) <= width:
        return _lines(table, [names, *([row[place] for place in shown] for row in rows)], shown, whole, right)
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for place, name, figures in zip(shown, names, right, strict=True):
        side: Literal["left", "right"] = "right" if figures else "left"
        grid.add_column(Text(name), justify=side, no_wrap=figures, overflow="fold", min_width=needs[place])
    for index, row in enumerate(rows):
        styles = _styles(table, index, len(columns))
        grid.add_row(*(Text(row[place], style=styles[place]) for place in shown))
    return grid


def _lines(
    table: Table, cells: Sequence[Sequence[str]], shown: Sequence[int], widths: Sequence[int], right: Sequence[bool]
) -> Text:
    """The same grid where nothing has to be folded: long tables are shown in a tenth of the time."""
    lines = Text(no_wrap=True)
    for index, row in enumerate(cells):
        styles = _styles(table, index - 1, max(shown) + 1) if index else ["bold"] * (max(shown) + 1)
        for number, (place, text) in enumerate(zip(shown, row, strict=True)):
            blank = " " * (widths[number] - cell_len(text))
            lines.append(" " * _GAP if number else "")
            lines.append(f"{blank}{text}" if right[number] else f"{text}{blank}", styles[place] or None)
        lines.append("\n" if index < len(cells) - 1 else "")
        if index == 0:
            lines.append("─" * (sum(widths) + _GAP * (len(widths) - 1)) + ("\n" if len(cells) > 1 else ""))
    return lines


def _blocks(table: Table, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Group:
    parts: list[RenderableType] = []
    for index, row in enumerate(rows):
        styles = _styles(table, index, len(columns))
        block = Grid.grid(padding=(0, 2))
        block.add_column(overflow="fold")
        block.add_column(overflow="fold")
        for name, cell, style in zip(columns, row, styles, strict=True):
            block.add_row(Text(plain(name), style="dim"), Text(cell, style=style))
        parts += [Text(""), block]
    return Group(*parts)
