"""A table as text for a terminal: aligned, any width, any script."""

from __future__ import annotations

import io
from typing import Literal

from rich import box
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table as Grid
from rich.text import Text

from fullbench.core.results import Table
from fullbench.reports.cells import is_fault, numeric, plain, with_n

_WIDE = 10_000


def text(table: Table, *, width: int = 100, color: bool = False) -> str:
    """The table as lines; when it is too wide for the terminal, each row becomes a block of `column  value` lines."""
    out = io.StringIO()
    colors: Literal["standard"] | None = "standard" if color else None
    console = Console(
        file=out, width=width, color_system=colors, force_terminal=color, no_color=not color, emoji=False, markup=False
    )
    body: RenderableType = _grid(table)
    if Measurement.get(console, console.options.update(width=_WIDE), body).minimum > width:
        body = _blocks(table)
    console.print(Text(plain(table.title), style="bold"))
    console.print(body)
    for note in table.notes:
        console.print(Text(plain(note), style="dim"))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _styles(table: Table, row: int, width: int) -> list[str]:
    styles = [
        "yellow" if is_fault(name, cell) else "" for name, cell in zip(table.columns, table.rows[row], strict=True)
    ]
    return styles + [""] * (width - len(styles))


def _grid(table: Table) -> Grid:
    columns, rows = with_n(table)
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for place, name in enumerate(columns):
        right = place >= len(table.columns) or numeric(table.column(name))
        grid.add_column(
            Text(plain(name)), justify="right" if right else "left", no_wrap=right, overflow="fold", min_width=4
        )
    for index, row in enumerate(rows):
        styles = _styles(table, index, len(columns))
        grid.add_row(*(Text(cell, style=style) for cell, style in zip(row, styles, strict=True)))
    return grid


def _blocks(table: Table) -> Group:
    columns, rows = with_n(table)
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
