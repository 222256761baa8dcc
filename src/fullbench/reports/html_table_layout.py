"""A table laid out for HTML: what stands in each cell, how wide its bar is, what it is sorted by.

Reports and the site's pages both start from here, and draw heads, cells and notes with `templates/table.html`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table, sort_value
from fullbench.reports.cell_text import decimals, is_fault, numeric, show
from fullbench.reports.display_names import Named
from fullbench.reports.logos import Logo

TEMPLATES = Path(__file__).parent / "templates"
"""The templates of reports, `table.html` among them."""
LONG = 24
"""A table with more rows than this is folded when a chart shows it."""


@dataclass(frozen=True)
class LaidCell:
    """One cell: the figure, its interval and n; `bar` are low, value and high in percent of the column's axis."""

    text: str
    classes: str
    sort: str
    interval: str = ""
    n: int | None = None
    bar: tuple[float, float, float] | None = None
    method: str = ""
    full: str = ""
    """The full name of whom another name is shown of."""
    origin: str = ""
    """From whom somebody is and since when."""
    logo: Logo | None = None

    @property
    def title(self) -> str:
        """What a figure says when somebody points at it: how many observations are behind it, and how it was made."""
        return "" if self.n is None else "; ".join([f"n = {self.n}", *filter(None, [self.method])])


def with_origins(table: Table) -> bool:
    """Whether names say from whom they are and since when, with their logos: those who stand in a leaderboard."""
    return table.name.startswith("leaderboard") or table.name == "judges"


def heads(table: Table) -> list[tuple[str, bool]]:
    """The columns' labels, and whether each holds numbers."""
    return [(str(label), numeric(table.cells(place))) for place, label in enumerate(table.columns)]


@dataclass(frozen=True)
class Axis:
    """What the bars of a column lie on: round numbers at both ends, and some steps between them."""

    low: float
    high: float
    steps: int

    @property
    def ticks(self) -> list[str]:
        """The words at its ends, and in its middle where a step ends there."""
        shown = range(0, self.steps + 1, self.steps if self.steps % 2 else self.steps // 2)
        step = (self.high - self.low) / self.steps
        digits = next(count for count in range(12) if math.isclose(round(step, count), step, rel_tol=1e-6))
        return [f"{self.low + place * step:.{digits}f}" for place in shown]

    def place(self, value: float) -> float:
        """Where a value lies, in percent."""
        return round(100 * (value - self.low) / (self.high - self.low), 1)


def axes(table: Table) -> list[Axis | None]:
    """The axis of each column's bars; None for a column without bars.

    >>> rows = ((Estimate(0.5, 0.4, 0.6, 9), 3), (Estimate(0.5, 0.5, 0.8, 9), 4))
    >>> won, none = axes(Table("t", "T", ("won", "n"), rows))
    >>> won, won.ticks, none
    (Axis(low=0.4, high=0.8, steps=4), ['0.4', '0.6', '0.8'], None)
    """
    if _in_several_units(table):
        return [None] * len(table.columns)
    return [_axis(table.cells(place)) for place in range(len(table.columns))]


def _in_several_units(table: Table) -> bool:
    """Whether the rows are different figures, such as shares, marks and bits: on one axis their bars would say
    nothing."""
    name = str(table.name)
    place = table.place("figure")
    mixed = name.startswith("biases") or name.endswith("shares and means")
    return mixed and place is not None and len({str(cell) for cell in table.cells(place)}) > 1


def _axis(cells: Sequence[Cell]) -> Axis | None:
    """The shortest axis of three to six round steps that holds all intervals; None where all are one point."""
    estimates = [cell for cell in cells if isinstance(cell, Estimate)]
    least = min((estimate.low for estimate in estimates), default=0.0)
    most = max((estimate.high for estimate in estimates), default=0.0)
    if most - least < 1e-9:
        return None
    size = 10.0 ** math.floor(math.log10((most - least) / 4))
    fitting = []
    for step in (size * factor for factor in (0.5, 1, 2, 2.5, 5, 10)):
        first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
        if 3 <= last - first <= 6:
            fitting.append(Axis(round(first * step, 12), round(last * step, 12), last - first))
    return min(fitting, key=lambda axis: (axis.high - axis.low, axis.steps))


def laid_column(table: Table, place: int) -> list[LaidCell]:
    """The cells of one column.

    >>> table = Table("t", "T", ("won",), ((Estimate(0.5, 0.4, 0.6, 9),), (Estimate(0.5, 0.5, 0.8, 9),), (None,)))
    >>> [(cell.text, cell.interval, cell.bar, cell.classes) for cell in laid_column(table, 0)][1:]
    [('0.50', '[0.50, 0.80]', (25.0, 25.0, 100.0), 'number'), ('-', '', None, 'number gap')]
    """
    cells, column = table.cells(place), table.typed[place]
    digits = decimals(cells)
    axis = None if _in_several_units(table) else _axis(cells)
    kind = "number" if numeric(cells) else "words"
    laid = []
    for cell in cells:
        classes = " ".join([kind, *(["fault"] if is_fault(column, cell) else []), *(["gap"] if cell is None else [])])
        if not isinstance(cell, Estimate):
            plain = LaidCell(show(cell, digits), classes, _sort(cell))
            if isinstance(cell, Named):
                plain = replace(plain, full=cell.full, origin=cell.origin, logo=cell.logo)
            laid.append(plain)
            continue
        figure, interval = show(cell, digits).split(" ", 1)
        laid.append(LaidCell(figure, classes, _sort(cell), interval, cell.n, _bar(cell, axis), cell.method))
    return laid


def _sort(cell: Cell) -> str:
    value = sort_value(cell)
    return "" if value is None else repr(float(value))


def _bar(cell: Estimate, axis: Axis | None) -> tuple[float, float, float] | None:
    """Where the interval's ends and the figure lie on the axis; None where there is none."""
    return None if axis is None else (axis.place(cell.low), axis.place(cell.value), axis.place(cell.high))
