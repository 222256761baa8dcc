"""Tables as templates see them: what stands in each cell, and where it leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fullbench.nouns.table import Cell, Column, EstimateLike, Table, sort_value
from fullbench.reports import charts
from fullbench.reports.cells import decimals, is_fault, numeric, show
from fullbench.web.results.boards import Linked
from fullbench.web.results.filters import Filter
from fullbench.web.results.localised import localised
from fullbench.web.results.places import Places
from fullbench.web.words import Language, translate

LONG = 24
"""A table with more rows than this is folded when a chart shows it."""
MANY = 10
"""A table with so many rows can be searched, cut and compared."""
AT_ONCE = 40
"""So many rows of a table are laid out at first: browsers take long over hundreds."""
DRAWN = 30
"""So many rows have a place in a chart with a line for each; more cannot be read."""
SHADES = 4
"""So many shades a heat map has to either side."""


@dataclass(frozen=True)
class Shown:
    """One cell: the figure, its interval and n, where it leads; `bar` are low, value and high in percent.

    A cell of a heat map has a `shade` instead, and says its interval when somebody points at it.
    """

    text: str
    classes: str
    sort: str
    href: str | None = None
    interval: str = ""
    n: int | None = None
    bar: tuple[float, float, float] | None = None
    shade: str = ""
    tip: str = ""
    """What a figure by tag says to whoever points at it."""


@dataclass(frozen=True)
class Drawn:
    """A chart: its address, and in words what it shows; of how many rows it shows the first `rows` where not all."""

    src: str
    alt: str
    rows: int = 0
    of: int = 0


@dataclass(frozen=True)
class TagHead:
    """The head of a column by tag: the tag's value, and what its figures are."""

    name: str
    unit: str


@dataclass(frozen=True)
class Sheet:
    """One table with its charts; the cells of columns by tag, which a reader may choose, end its rows."""

    id: str
    linked: Linked
    heads: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[Shown]]
    charts: Sequence[Drawn]
    tag_heads: Sequence[TagHead] = ()
    tag_columns: int = 0
    """How many figures by tag there are in all."""

    @property
    def leading(self) -> bool:
        """Whether it is a leaderboard, whose table comes before its chart."""
        return self.linked.table.name.startswith("leaderboard")

    @property
    def heat(self) -> str:
        """The kind of heat map that the table is: of contestants against each other, or of any figures."""
        if not any(hint.get("kind") == "matrix" for hint in self.linked.charts):
            return ""
        return "square" if self.linked.table.name.startswith("wins") else "heat"

    @property
    def folded(self) -> bool:
        return bool(self.charts) and not self.leading and not self.heat and len(self.rows) > LONG

    @property
    def rich(self) -> bool:
        return len(self.rows) >= MANY and self.heat != "square"

    @property
    def counted(self) -> bool:
        """Whether figures say how many rows of data are behind them."""
        return any(cell.n is not None for row in self.rows[:1] for cell in row)

    @property
    def named_by(self) -> int:
        """The column whose words say whose row it is."""
        return 1 if self.leading else 0

    @property
    def parts(self) -> Sequence[Sequence[Sequence[Shown]]]:
        """The rows that are laid out at once, and those that are when somebody asks."""
        return [self.rows] if self.folded else cut(self.rows)


def cut(rows: Sequence[Any]) -> Sequence[Sequence[Any]]:
    """Rows in two parts where they are many; a handful more than fit are shown at once."""
    return [rows[:AT_ONCE], rows[AT_ONCE:]] if len(rows) > AT_ONCE * 5 // 4 else [rows]


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
        drawn = []
        for place, hint in enumerate(shown.charts):
            # A heat map is the table itself, in colours that follow light and dark.
            if not drawing or hint.get("kind") == "matrix":
                continue
            table = drawable(shown.table, hint)
            if (chart := charts.chart(table, hint)) is not None:
                rows = len(table.rows) if table is not shown.table else 0
                address = places.chart(*source, (number, place), language)
                drawn.append(Drawn(address, translate(language, chart.alt), rows, len(shown.table.rows)))
        shown_sheets.append(sheet(linked, places, f"table-{number}", language, drawn))
    return shown_sheets


def drawable(table: Table, hint: Mapping[str, Any]) -> Table:
    """The table, or its first rows where a chart has a line for each and they are too many to be read."""
    if hint.get("kind") not in {"intervals", "bars", "stacked"} or len(table.rows) <= DRAWN * 4 // 3:
        return table
    return replace(table, rows=table.rows[:DRAWN])


def sheet(linked: Linked, places: Places, name: str, language: Language, drawn: Sequence[Drawn] = ()) -> Sheet:
    """One table."""
    shown = localised(linked, language)
    columns = [column_cells(shown, place, places) for place in range(len(shown.table.columns))]
    heads = [(str(name), numeric(shown.table.cells(place))) for place, name in enumerate(shown.table.columns)]
    return Sheet(name, shown, heads, list(zip(*columns, strict=True)), drawn)


def column_cells(linked: Linked, place: int, places: Places) -> list[Shown]:
    """The cells of one column."""
    cells, column = linked.table.cells(place), linked.table.typed[place]
    digits = decimals(cells)
    known = [cell for cell in cells if isinstance(cell, EstimateLike)]
    least, most = min((cell.low for cell in known), default=0.0), max((cell.high for cell in known), default=0.0)
    kind = "number" if numeric(cells) else "words"
    shown = [
        _cell(cell, digits, (column, kind), (least, most), _href(linked.link(row, place), places))
        for row, cell in enumerate(cells)
    ]
    hint = next((hint for hint in linked.charts if hint.get("kind") == "matrix"), None)
    if hint is None or str(linked.table.columns[place]) not in map(str, hint["columns"]):
        return shown
    middle, reach = _scale(linked, hint)
    return [
        replace(one, bar=None, shade=_shade(cell.value, middle, reach)) if isinstance(cell, EstimateLike) else one
        for one, cell in zip(shown, cells, strict=True)
    ]


def _scale(linked: Linked, hint: Mapping[str, Any]) -> tuple[float, float]:
    """The middle of a heat map's figures and how far they reach from it: half the matches for shares of wins."""
    if linked.table.name.startswith("wins"):
        return 0.5, 0.5
    heads = {str(name) for name in hint["columns"]}
    values = [
        cell.value
        for row in linked.table.rows
        for head, cell in zip(linked.table.columns, row, strict=True)
        if str(head) in heads and isinstance(cell, EstimateLike)
    ]
    least, most = min(values, default=0.0), max(values, default=0.0)
    return (least + most) / 2, (most - least) / 2


def _shade(value: float, middle: float, reach: float) -> str:
    """The class of a cell of a heat map.

    >>> _shade(1.0, 0.5, 0.5), _shade(0.5, 0.5, 0.5), _shade(0.3, 0.5, 0.5)
    ('more-4', '', 'less-2')
    """
    steps = round(SHADES * (value - middle) / reach) if reach > 0 else 0
    return "" if steps == 0 else f"{'more' if steps > 0 else 'less'}-{abs(steps)}"


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
