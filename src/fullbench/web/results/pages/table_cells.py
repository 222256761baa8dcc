"""Tables as templates see them: what stands in each cell, and where it leads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fullbench.core.digests import once
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Column, Table
from fullbench.reports.charts import vega_lite
from fullbench.reports.html_table_layout import LONG, Axis, LaidCell, axes, heads, laid_column, with_origins
from fullbench.web.results.boards.board_store import Linked
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.pages.translated_tables import localised
from fullbench.web.results.site.page_urls import Places
from fullbench.web.words import Language, translate

MANY = 10
"""A table with so many rows can be searched, cut and compared."""
TALL = 12
"""A table with more rows has a height of its own, in which its head stays in sight."""
AT_ONCE = 40
"""So many rows of a table are laid out at first: browsers take long over hundreds."""
DRAWN = 30
"""So many rows have a place in a chart with a line for each; more cannot be read."""
HREF = "where its mark leads"
"""The column that a table has for its chart alone."""
FEW = 5
"""Whoever has fewer observations behind it stands apart, below a leaderboard's ranking."""
TAGS_SHOWN = 6
"""So many columns by tag are shown from the start, where there is room."""
SHADES = 4
"""So many shades a heat map has to either side."""


@dataclass(frozen=True)
class LinkedCell(LaidCell):
    """A cell, and where it leads.

    A cell of a heat map has a `shade` in place of its bar, and says its interval when somebody points at it.
    """

    href: str | None = None
    shade: str = ""
    tip: str = ""
    """What a figure by tag says to whoever points at it."""
    logo_src: str = ""


@dataclass(frozen=True)
class Drawn:
    """A chart: its address, the chart itself and the same for phones as SVG, and in words what it shows; of how many
    rows it shows the first `rows` where not all."""

    src: str
    wide: str
    narrow: str
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
    rows: Sequence[Sequence[LinkedCell]]
    charts: Sequence[Drawn]
    tag_heads: Sequence[TagHead] = ()
    tag_columns: int = 0
    """How many figures by tag there are in all."""
    few: int = 0
    """How many rows at its end stand apart: there is not enough behind them to rank them."""

    @property
    def least(self) -> int:
        """How many observations a row needs to stand in the ranking; 0 where all have enough, or none has."""
        return FEW if self.few else 0

    @property
    def visible(self) -> int:
        """How many columns are shown before a reader chooses others."""
        return len(self.heads) + min(TAGS_SHOWN, len(self.tag_heads))

    @property
    def leading(self) -> bool:
        """Whether it is a leaderboard, whose table comes before its chart."""
        return self.linked.table.name.startswith("leaderboard")

    @property
    def with_origins(self) -> bool:
        return with_origins(self.linked.table)

    @property
    def heat(self) -> str:
        """The kind of heat map that the table is: of contestants against each other, or of any figures."""
        if not any(hint.get("kind") == "matrix" for hint in self.linked.charts):
            return ""
        return "square" if self.linked.table.name.startswith("wins") else "heat"

    @property
    def folded(self) -> bool:
        return bool(self.charts) and not self.leading and not self.heat and len(self.rows) > LONG

    @once
    def axes(self) -> Sequence[Axis | None]:
        """What the bars of each column lie on; a heat map has none."""
        return () if self.heat else axes(self.linked.table)

    @property
    def stacks(self) -> bool:
        """Whether a phone shows the cells of a row one below the other, each with the name of its column."""
        return not self.leading and not self.heat and len(self.rows) <= LONG

    @property
    def rich(self) -> bool:
        return len(self.rows) >= MANY and self.heat != "square"

    @property
    def tall(self) -> bool:
        return len(self.rows) > TALL

    @property
    def counted(self) -> bool:
        """Whether figures say how many rows of data are behind them."""
        return any(cell.n is not None for row in self.rows[:1] for cell in row)

    @property
    def named_by(self) -> int:
        """The column whose words say whose row it is."""
        return 1 if self.leading else 0

    @property
    def parts(self) -> Sequence[Sequence[Sequence[LinkedCell]]]:
        """The rows that are laid out at once, and those that are when somebody asks."""
        return [self.rows] if self.folded else cut(self.rows)


def cut(rows: Sequence[Any]) -> Sequence[Sequence[Any]]:
    """Rows in two parts where they are many; a handful more than fit are shown at once."""
    return [rows[:AT_ONCE], rows[AT_ONCE:]] if len(rows) > AT_ONCE * 5 // 4 else [rows]


def sheets(
    tables: Sequence[Linked], source: tuple[str, str], places: Places, language: Language, *, start: int = 0,
    svg: Callable[[vega_lite.Chart], str] | None = None,
) -> list[Sheet]:  # fmt: skip
    """Tables with their charts where `svg` draws them; `source` are name and stamp of the board or card they are of.

    `start` is the number of the first among all tables of that board or card.
    """
    shown_sheets = []
    for number, linked in enumerate(tables, start):
        shown = localised(linked, language)
        drawn = []
        for place, hint in enumerate(shown.charts):
            # A heat map is the table itself, in colours that follow light and dark.
            if svg is None or hint.get("kind") == "matrix":
                continue
            if (chart := chart_of(shown, place, places)) is not None:
                src = places.chart(*source, (number, place), language)
                wide, narrow = (vega_lite.inline(svg(one)) for one in (chart, vega_lite.narrowed(chart)))
                all_rows = len(shown.table.rows)
                rows = len(drawable(shown.table, hint).rows)
                alt = translate(language, chart.alt)
                drawn.append(Drawn(src, wide, narrow, alt, rows if rows < all_rows else 0, all_rows))
        shown_sheets.append(sheet(linked, places, f"table-{number}", language, drawn))
    return shown_sheets


def chart_of(linked: Linked, place: int, places: Places) -> vega_lite.Chart | None:
    """A chart of a table whose marks lead to the verdicts behind the figures that they are drawn from."""
    hint = linked.charts[place]
    table = linked.table
    if linked.links:
        places_of = (table.place(hint[name]) for name in ("value", "y", "x", "label") if name in hint)
        drawn_from = [column for column in places_of if column is not None]
        rows = [
            (*row, next((href for column in drawn_from if (href := _href(links[column], row[column], places))), None))
            for row, links in zip(table.rows, linked.links, strict=True)
        ]
        table = replace(table, columns=(*table.columns, Column(HREF)), rows=rows)
        hint = {**hint, "href": HREF}
    return vega_lite.chart(drawable(table, hint), hint)


def drawable(table: Table, hint: Mapping[str, Any]) -> Table:
    """The table, or its first rows where a chart has a line for each and they are too many to be read."""
    if hint.get("kind") not in {"intervals", "bars", "stacked"} or len(table.rows) <= DRAWN * 4 // 3:
        return table
    return replace(table, rows=table.rows[:DRAWN])


def sheet(linked: Linked, places: Places, name: str, language: Language, drawn: Sequence[Drawn] = ()) -> Sheet:
    """One table."""
    shown = localised(linked, language)
    columns = [column_cells(shown, place, places) for place in range(len(shown.table.columns))]
    laid = Sheet(name, shown, heads(shown.table), list(zip(*columns, strict=True)), drawn)
    few = [row for row in laid.rows if max((cell.n for cell in row if cell.n is not None), default=0) < FEW]
    if not laid.leading or len(few) == len(laid.rows):
        return laid
    return replace(laid, rows=[*(row for row in laid.rows if row not in few), *few], few=len(few))


def with_cards(shown: Sheet, judges: Collection[str], places: Places, study: str) -> Sheet:
    """A table of judges whose names lead to their cards."""

    def led(cell: LinkedCell) -> LinkedCell:
        judge = cell.full or cell.text
        return replace(cell, href=places.judge(judge, study)) if judge in judges else cell

    return replace(shown, rows=[(led(row[0]), *row[1:]) for row in shown.rows])


def column_cells(linked: Linked, place: int, places: Places) -> list[LinkedCell]:
    """The cells of one column."""
    cells = linked.table.cells(place)
    shown = [
        LinkedCell(
            **vars(laid),
            href=_href(linked.link(row, place), cell, places),
            logo_src=places.logo(laid.logo) if laid.logo else "",
        )
        for row, (cell, laid) in enumerate(zip(cells, laid_column(linked.table, place), strict=True))
    ]
    hint = next((hint for hint in linked.charts if hint.get("kind") == "matrix"), None)
    if hint is None or str(linked.table.columns[place]) not in map(str, hint["columns"]):
        return shown
    middle, reach = _scale(linked, hint)
    return [
        replace(linked_cell, bar=None, shade=_shade(cell.value, middle, reach))
        if isinstance(cell, Estimate)
        else linked_cell
        for linked_cell, cell in zip(shown, cells, strict=True)
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
        if str(head) in heads and isinstance(cell, Estimate)
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


def _href(link: Filter | None, cell: Cell, places: Places) -> str | None:
    """Where a cell leads; a count of nothing leads nowhere."""
    nothing = isinstance(cell, int) and not cell
    return None if link is None or nothing else places.verdicts(link)
