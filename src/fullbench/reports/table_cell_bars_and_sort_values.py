"""Layout of a table for HTML: text, bar and sort value of each cell.

Reports and the site's pages both use it, and render headings, cells and notes with `templates/table.html`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table, sort_value
from fullbench.reports.cell_text import format_cell, is_fault, is_numeric_column, row_decimals
from fullbench.reports.display_names_of_judges_and_contestants import DisplayName
from fullbench.reports.logos_from_local_files import Logo

TEMPLATES = Path(__file__).parent / "templates"
LONG = 24
"""Tables with more rows than this are folded if they have a chart."""


@dataclass(frozen=True)
class LaidCell:
    """One cell: value, interval and n; `bar` is low, value and high in percent of the column's axis."""

    text: str
    classes: str
    sort: str
    interval: str = ""
    n: int | None = None
    bar: tuple[float, float, float] | None = None
    method: str = ""
    full: str = ""
    """Full name if another name is shown."""
    origin: str = ""
    """Organisation and date."""
    logo: Logo | None = None
    logo_src: str = ""
    href: str | None = None
    """URL of the verdicts behind the number."""
    shade: str = ""
    """CSS class in a heat map, which has no bars."""
    tip: str = ""
    """Tooltip of a number by tag."""
    counted: str = ""
    """Observations in words, such as "35 matches, 77 verdicts"; empty for "n=35"."""

    @property
    def n_in_words(self) -> str:
        """Return the observations in words, or as n."""
        return self.counted or ("" if self.n is None else f"n={self.n}")

    @property
    def title(self) -> str:
        """Tooltip of a number: observations and method."""
        return "" if self.n is None else "; ".join([f"n = {self.n}", *filter(None, [self.method])])


def with_origins(table: Table) -> bool:
    """Return True if names get origin and logo: in leaderboards and the table of judges."""
    return table.name.startswith("leaderboard") or table.name == "judges"


def column_heads(table: Table) -> list[tuple[str, bool]]:
    """Return the label of each column, and True if it holds numbers."""
    return [(str(label), is_numeric_column(table.cells(place))) for place, label in enumerate(table.columns)]


@dataclass(frozen=True)
class Axis:
    """Axis of the bars of a column: round numbers at both ends and steps between them."""

    low: float
    high: float
    steps: int

    @property
    def ticks(self) -> list[str]:
        """Texts at the ends, and in the middle if a step ends there."""
        tick_places = range(0, self.steps + 1, self.steps if self.steps % 2 else self.steps // 2)
        step = (self.high - self.low) / self.steps
        digits = next(count for count in range(12) if math.isclose(round(step, count), step, rel_tol=1e-6))
        return [f"{self.low + place * step:.{digits}f}" for place in tick_places]

    def place(self, value: float) -> float:
        """Return the position of a value in percent."""
        return round(100 * (value - self.low) / (self.high - self.low), 1)


def column_axes(table: Table) -> list[Axis | None]:
    """Return the axis of each column's bars, or None for a column without bars.

    >>> rows = ((Estimate(0.5, 0.4, 0.6, 9), 3), (Estimate(0.5, 0.5, 0.8, 9), 4))
    >>> won, none = column_axes(Table("t", "T", ("won", "n"), rows))
    >>> won, won.ticks, none
    (Axis(low=0.4, high=0.8, steps=4), ['0.4', '0.6', '0.8'], None)
    """
    if _has_several_units(table):
        return [None] * len(table.columns)
    return [shortest_axis(table.cells(place)) for place in range(len(table.columns))]


def _has_several_units(table: Table) -> bool:
    """Return True if rows have different units (shares, marks, bits), so that a shared axis is meaningless."""
    name = str(table.name)
    place = table.place("metric")
    is_mixed = name.startswith("biases") or name.endswith("shares and means")
    return is_mixed and place is not None and len({str(cell) for cell in table.cells(place)}) > 1


def shortest_axis(cells: Sequence[Cell]) -> Axis | None:
    """Return the shortest axis of three to six round steps that holds all intervals, or None if they are one point."""
    estimates = [cell for cell in cells if isinstance(cell, Estimate)]
    least = min((estimate.low for estimate in estimates), default=0.0)
    most = max((estimate.high for estimate in estimates), default=0.0)
    if most - least < 1e-9:
        return None
    size = 10.0 ** math.floor(math.log10((most - least) / 4))
    fitting = []
    for step in (size * factor for factor in (0.5, 1, 2, 2.5, 5, 10)):
        # 1e-9 absorbs rounding; otherwise an end on a round number could add a step.
        first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
        if 3 <= last - first <= 6:
            fitting.append(Axis(round(first * step, 12), round(last * step, 12), last - first))
    return min(fitting, key=lambda axis: (axis.high - axis.low, axis.steps))


def laid_column(
    table: Table, place: int, hrefs: Sequence[str | None] = (), logo_url: Callable[[Logo], str] | None = None
) -> list[LaidCell]:
    """Return the cells of one column, with links and URLs of logos if given.

    >>> table = Table("t", "T", ("won",), ((Estimate(0.5, 0.4, 0.6, 9),), (Estimate(0.5, 0.5, 0.8, 9),), (None,)))
    >>> [(cell.text, cell.interval, cell.bar, cell.classes) for cell in laid_column(table, 0)][1:]
    [('0.50', '[0.50, 0.80]', (25.0, 25.0, 100.0), 'number'), ('-', '', None, 'number gap')]
    """
    cells, column = table.cells(place), table.typed_columns[place]
    decimals = row_decimals(table, place)
    axis = None if _has_several_units(table) else shortest_axis(cells)
    kind = "number" if is_numeric_column(cells) else "words"
    laid_cells = []
    for cell, digits, href in zip(cells, decimals, hrefs or [None] * len(cells), strict=True):
        classes = " ".join([kind, *(["fault"] if is_fault(column, cell) else []), *(["gap"] if cell is None else [])])
        if not isinstance(cell, Estimate):
            plain = LaidCell(format_cell(cell, digits), classes, _sort_text(cell), href=href)
            if isinstance(cell, DisplayName):
                src = logo_url(cell.logo) if logo_url and cell.logo else ""
                plain = replace(plain, full=cell.full, origin=cell.origin, logo=cell.logo, logo_src=src)
            laid_cells.append(plain)
            continue
        value, interval = format_cell(cell, digits).split(" ", 1)
        laid_cells.append(
            LaidCell(
                value, classes, _sort_text(cell), interval, cell.n, _bar_places(cell, axis), cell.method, href=href
            )
        )
    return laid_cells


def _sort_text(cell: Cell) -> str:
    value = sort_value(cell)
    return "" if value is None else repr(float(value))


def _bar_places(cell: Estimate, axis: Axis | None) -> tuple[float, float, float] | None:
    return None if axis is None else (axis.place(cell.low), axis.place(cell.value), axis.place(cell.high))
