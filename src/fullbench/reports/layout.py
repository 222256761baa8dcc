"""A table laid out for HTML: what stands in each cell, how wide its bar is, what it is sorted by.

Reports and the site's pages both start from here, and draw heads, cells and notes with `templates/table.html`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fullbench.nouns.estimate import Estimate
from fullbench.nouns.table import Cell, Table, sort_value
from fullbench.reports.cells import decimals, is_fault, numeric, show
from fullbench.reports.logos import Logo
from fullbench.reports.names import Named

TEMPLATES = Path(__file__).parent / "templates"
"""The templates of reports, `table.html` among them."""
LONG = 24
"""A table with more rows than this is folded when a chart shows it."""


@dataclass(frozen=True)
class LaidCell:
    """One cell: the figure, its interval and n; `bar` are low, value and high in percent of what the column spans."""

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


def axes(table: Table) -> list[tuple[str, str] | None]:
    """Where the bars of each column begin and end; None for a column without bars.

    >>> axes(Table("t", "T", ("won", "n"), ((Estimate(0.5, 0.4, 0.6, 9), 3), (Estimate(0.5, 0.5, 0.8, 9), 4))))
    [('0.40', '0.80'), None]
    """
    return [_axis(table.cells(place)) for place in range(len(table.columns))]


def _axis(cells: Sequence[Cell]) -> tuple[str, str] | None:
    least, most = _ends(cells)
    digits = decimals(cells)
    return (f"{least:.{digits}f}", f"{most:.{digits}f}") if least < most else None


def _ends(cells: Sequence[Cell]) -> tuple[float, float]:
    """What the intervals of a column span."""
    estimates = [cell for cell in cells if isinstance(cell, Estimate)]
    least = min((estimate.low for estimate in estimates), default=0.0)
    return least, max((estimate.high for estimate in estimates), default=0.0)


def laid_column(table: Table, place: int) -> list[LaidCell]:
    """The cells of one column.

    >>> table = Table("t", "T", ("won",), ((Estimate(0.5, 0.4, 0.6, 9),), (Estimate(0.5, 0.5, 0.8, 9),), (None,)))
    >>> [(cell.text, cell.interval, cell.bar, cell.classes) for cell in laid_column(table, 0)][1:]
    [('0.50', '[0.50, 0.80]', (25.0, 25.0, 100.0), 'number'), ('-', '', None, 'number gap')]
    """
    cells, column = table.cells(place), table.typed[place]
    digits = decimals(cells)
    least, most = _ends(cells)
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
        laid.append(LaidCell(figure, classes, _sort(cell), interval, cell.n, _bar(cell, least, most), cell.method))
    return laid


def _sort(cell: Cell) -> str:
    value = sort_value(cell)
    return "" if value is None else repr(float(value))


def _bar(cell: Estimate, least: float, most: float) -> tuple[float, float, float] | None:
    """Where the interval's ends and the figure lie between the column's extremes; None where all are one point."""
    if most <= least:
        return None
    low, value, high = (round(100 * (end - least) / (most - least), 1) for end in (cell.low, cell.value, cell.high))
    return low, value, high
