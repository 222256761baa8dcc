"""Tables as templates see them: what stands in each cell, and where it leads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fullbench.nouns.table import Cell, Column, EstimateLike, sort_value
from fullbench.reports import charts
from fullbench.reports.cells import decimals, is_fault, numeric, show
from fullbench.web.results.boards import Linked
from fullbench.web.results.filters import Filter
from fullbench.web.results.localised import localised
from fullbench.web.results.places import Places
from fullbench.web.words import Language, translate

LONG = 24
"""A table with more rows than this is folded when a chart shows it."""


@dataclass(frozen=True)
class Shown:
    """One cell: the figure, its interval and n, where it leads; `bar` are low, value and high in percent."""

    text: str
    classes: str
    sort: str
    href: str | None = None
    interval: str = ""
    n: int | None = None
    bar: tuple[float, float, float] | None = None


@dataclass(frozen=True)
class Drawn:
    """A chart: its address, and in words what it shows."""

    src: str
    alt: str


@dataclass(frozen=True)
class Sheet:
    """One table with its charts."""

    id: str
    linked: Linked
    heads: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[Shown]]
    charts: Sequence[Drawn]

    @property
    def folded(self) -> bool:
        return bool(self.charts) and not self.linked.table.name.startswith("leaderboard") and len(self.rows) > LONG


def sheets(
    tables: Sequence[Linked], source: tuple[str, str], places: Places, language: Language, *, start: int = 0,
    drawing: bool = True,
) -> list[Sheet]:  # fmt: skip
    """Tables with their charts if these are drawn; `source` are name and stamp of the board or card they are of.

    `start` is the number of the first among all tables of that board or card.
    """
    shown_sheets = []
    for number, linked in enumerate(tables, start):
        shown = localised(linked, language)
        drawn = [
            Drawn(places.chart(*source, (number, place), language), translate(language, chart.alt))
            for place, hint in enumerate(shown.charts)
            if drawing and (chart := charts.chart(shown.table, hint)) is not None
        ]
        shown_sheets.append(sheet(linked, places, f"table-{number}", language, drawn))
    return shown_sheets


def sheet(linked: Linked, places: Places, name: str, language: Language, drawn: Sequence[Drawn] = ()) -> Sheet:
    """One table."""
    shown = localised(linked, language)
    columns = [_column(shown, place, places) for place in range(len(shown.table.columns))]
    heads = [(str(name), numeric(shown.table.cells(place))) for place, name in enumerate(shown.table.columns)]
    return Sheet(name, shown, heads, list(zip(*columns, strict=True)), drawn)


def _column(linked: Linked, place: int, places: Places) -> list[Shown]:
    """The cells of one column."""
    cells, column = linked.table.cells(place), linked.table.typed[place]
    digits = decimals(cells)
    known = [cell for cell in cells if isinstance(cell, EstimateLike)]
    least, most = min((cell.low for cell in known), default=0.0), max((cell.high for cell in known), default=0.0)
    kind = "number" if numeric(cells) else "words"
    return [
        _cell(cell, digits, (column, kind), (least, most), _href(linked.link(row, place), places))
        for row, cell in enumerate(cells)
    ]


def _href(link: Filter | None, places: Places) -> str | None:
    return None if link is None else places.verdicts(link)


def _cell(cell: Cell, digits: int, typed: tuple[Column, str], ends: tuple[float, float], href: str | None) -> Shown:
    column, kind = typed
    value = sort_value(cell)
    classes = " ".join([kind, *(["fault"] if is_fault(column, cell) else []), *(["gap"] if cell is None else [])])
    sort = "" if value is None else repr(float(value))
    if isinstance(cell, int) and not cell:
        href = None
    if not isinstance(cell, EstimateLike):
        return Shown(show(cell, digits), classes, sort, href)
    figure, interval = show(cell, digits).split(" ", 1)
    least, most = ends
    bar = None
    if most > least:
        low, middle, high = (
            round(100 * (end - least) / (most - least), 1) for end in (cell.low, cell.value, cell.high)
        )
        bar = (low, middle, high)
    return Shown(figure, classes, sort, href, interval, cell.n, bar)
