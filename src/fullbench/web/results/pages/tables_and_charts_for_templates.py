"""Tables as templates need them: cells with links, shades and logos; charts; rows shown at first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fullbench.analysis.summary.leading_contestants_in_tiers import parse_rank, tiers_of_ranks
from fullbench.analysis.summary.study_summary import leaders_note
from fullbench.core.estimate import Estimate
from fullbench.core.json_digests_and_cached_properties import once
from fullbench.core.table import Cell, Column, Table
from fullbench.core.translatable_note import Note
from fullbench.reports import translated_tables as tables
from fullbench.reports.charts import chart_specification_and_rendering
from fullbench.reports.table_cell_bars_and_sort_values import (
    LONG,
    Axis,
    LaidCell,
    column_axes,
    column_heads,
    laid_column,
    with_origins,
)
from fullbench.reports.words import Language
from fullbench.web.results.boards.board_store import LinkedTable
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.site.page_urls import PageUrls
from fullbench.web.words import key, translate_sentence


def translate_linked_table(linked_table: LinkedTable, language: Language) -> LinkedTable:
    """Translate a table and its charts. Links stay."""
    if language == "en":
        return linked_table
    charts = [tables.localise_hint(hint, language) for hint in linked_table.charts]
    return replace(linked_table, table=tables.localise_table(linked_table.table, language), charts=charts)


MANY = 10
"""A table with this many rows can be searched, cut and compared."""
TALL = 12
"""A table with more rows scrolls under its head."""
AT_ONCE = 40
"""Rows laid out at first: browsers take long for hundreds."""
MAX_CHART_ROWS = 30
"""Maximum number of rows in a chart with a line for each; more cannot be read."""
HREF = "where its mark leads"
"""Column that a table has for its chart only."""
FEW = 5
"""Contestants with fewer observations are listed separately, below a leaderboard's ranking."""
TAGS_SHOWN = 6
"""Columns by tag shown from the start, if there is room."""
FAMILY_HEADINGS = {
    "pair": key("From choices"), "score": key("From single marks"), "ranking": key("From rankings"),
}  # fmt: skip
TABS = ("Ranking", "Matches", "Tags", "People and correction", "Data")
HALF_COLOUR = 10
"""Number of observations at which a heat map cell has half the strength of its colour."""
SHADES = 4
"""Shades of a heat map to either side."""


@dataclass(frozen=True)
class ChartImage:
    """A chart: URL, SVGs for wide and narrow screens, text. `rows` is 0 if it shows all rows."""

    src: str
    wide: str
    narrow: str
    alt: str
    rows: int = 0
    all_rows: int = 0


@dataclass(frozen=True)
class TagHead:
    """Head of a column by tag: the tag's value and the unit of its numbers."""

    name: str
    unit: str


@dataclass(frozen=True)
class Sheet:
    """One table with its charts. Rows end with the cells of optional columns by tag."""

    id: str
    linked_table: LinkedTable
    heads: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[LaidCell]]
    charts: Sequence[ChartImage]
    tag_heads: Sequence[TagHead] = ()
    tag_columns: int = 0
    """Number of all columns by tag."""
    few: int = 0
    """Number of rows at the end with too few observations to be ranked."""

    @property
    def least(self) -> int:
        """Return the number of observations that a row needs to be ranked; 0 if no row is set apart."""
        return FEW if self.few else 0

    @property
    def visible(self) -> int:
        """Return the number of columns shown by default."""
        return len(self.heads) + min(TAGS_SHOWN, len(self.tag_heads))

    @property
    def aside(self) -> frozenset[int]:
        """Return the columns of a leaderboard that the choice of columns shows: the marginal rank, and a count of 0."""
        columns = self.linked_table.table.typed_columns
        return frozenset(
            place
            for place, column in enumerate(columns)
            if self.leading
            and (
                column.key == "rank alone"
                or (column.key == "unusable" and not any(row[place] for row in self.linked_table.table.rows))
            )
        )

    @property
    def leading(self) -> bool:
        """Return True for a leaderboard, whose table comes before its chart."""
        return self.linked_table.table.name.startswith("leaderboard")

    @property
    def tiers(self) -> Sequence[int | None]:
        """Return the tier of each row of a leaderboard by its rank range; empty for other tables."""
        if not self.leading:
            return ()
        ranks = [parse_rank(str(row[0].text)) if str(row[0].text)[:1].isdigit() else None for row in self.rows]
        return tiers_of_ranks(ranks)

    @property
    def of_family(self) -> str:
        """Return the heading of one of several leaderboards: the kind of verdicts that it ranks by."""
        return FAMILY_HEADINGS.get(self.linked_table.table.name.rpartition(", ")[2], "")

    @property
    def tab(self) -> str:
        """Return the tab of a board's page on which the table is shown."""
        name = self.linked_table.table.name
        if self.leading:
            return key("Ranking")
        if name.startswith("wins"):
            return key("Matches")
        if name.startswith("corrected"):
            return key("People and correction")
        return key("Tags") if self.heat else key("Data")

    @property
    def with_origins(self) -> bool:
        return with_origins(self.linked_table.table)

    @property
    def heat(self) -> str:
        """Return the kind of heat map: `square` for contestants against each other, `heat`, or empty."""
        if not any(hint.get("kind") == "matrix" for hint in self.linked_table.charts):
            return ""
        return "square" if self.linked_table.table.name.startswith("wins") else "heat"

    @property
    def is_folded(self) -> bool:
        return bool(self.charts) and not self.leading and not self.heat and len(self.rows) > LONG

    @once
    def axes(self) -> Sequence[Axis | None]:
        """Return the axis of each column's bars. A heat map has none."""
        return () if self.heat else column_axes(self.linked_table.table)

    @property
    def stacks(self) -> bool:
        """Return True if phones show the cells of a row below each other, with column names."""
        return not self.leading and not self.heat and len(self.rows) <= LONG

    @property
    def rich(self) -> bool:
        return len(self.rows) >= MANY and self.heat != "square"

    @property
    def tall(self) -> bool:
        return len(self.rows) > TALL

    @property
    def has_counts(self) -> bool:
        """Return True if numbers have an n."""
        return any(cell.n is not None for row in self.rows[:1] for cell in row)

    @property
    def named_by(self) -> int:
        """Return the column that names the row."""
        return 1 if self.leading else 0

    @property
    def parts(self) -> Sequence[Sequence[Sequence[LaidCell]]]:
        """Return the rows shown at once, and those shown on demand."""
        return [self.rows] if self.is_folded else split_rows(self.rows)


def split_rows(rows: Sequence[Any]) -> Sequence[Sequence[Any]]:
    """Split many rows into two parts. A few more than `AT_ONCE` are not split."""
    return [rows[:AT_ONCE], rows[AT_ONCE:]] if len(rows) > AT_ONCE * 5 // 4 else [rows]


def build_sheets(
    tables: Sequence[LinkedTable], source: tuple[str, str], urls: PageUrls, language: Language, *, start: int = 0,
    svg: Callable[[chart_specification_and_rendering.Chart], str] | None = None,
) -> list[Sheet]:  # fmt: skip
    """Build the sheets of tables.

    Args:
        tables: Tables with links.
        source: Name and stamp of their board or card.
        urls: URLs of this site or static copy.
        language: Language of the page.
        start: Number of the first table.
        svg: Renders a chart; None leaves charts out.
    """
    shown_sheets = []
    for number, translated_table in enumerate((translate_linked_table(table, language) for table in tables), start):
        chart_images = []
        for place, hint in enumerate(translated_table.charts):
            # A heat map needs no chart: the table itself is coloured, in light and dark mode.
            if svg is None or hint.get("kind") == "matrix":
                continue
            if (chart := chart_of(translated_table, place, urls)) is not None:
                src = urls.chart(*source, (number, place), language)
                wide, narrow = (
                    chart_specification_and_rendering.inline_svg(svg(variant))
                    for variant in (chart, chart_specification_and_rendering.narrow_chart(chart))
                )
                all_rows = len(translated_table.table.rows)
                rows = len(limit_chart_rows(translated_table.table, hint).rows)
                alt = translate_sentence(language, chart.alt)
                chart_images.append(ChartImage(src, wide, narrow, alt, rows if rows < all_rows else 0, all_rows))
        shown_sheets.append(build_sheet(translated_table, urls, f"table-{number}", language, chart_images))
    return shown_sheets


def chart_of(linked_table: LinkedTable, place: int, urls: PageUrls) -> chart_specification_and_rendering.Chart | None:
    """Build a chart whose marks link to the verdicts behind their numbers."""
    hint = linked_table.charts[place]
    table = linked_table.table
    if linked_table.links:
        places_of = (table.place(hint[name]) for name in ("value", "y", "x", "label") if name in hint)
        drawn_from = [column for column in places_of if column is not None]
        rows = [
            (
                *row,
                next((href for column in drawn_from if (href := _cell_href(links[column], row[column], urls))), None),
            )
            for row, links in zip(table.rows, linked_table.links, strict=True)
        ]
        table = replace(table, columns=(*table.columns, Column(HREF)), rows=rows)
        hint = {**hint, "href": HREF}
    return chart_specification_and_rendering.build_chart(limit_chart_rows(table, hint), hint)


def limit_chart_rows(table: Table, hint: Mapping[str, Any]) -> Table:
    """Return the table, cut to its first rows if a chart with one line per row would be unreadable."""
    if hint.get("kind") not in {"intervals", "bars", "stacked"} or len(table.rows) <= MAX_CHART_ROWS * 4 // 3:
        return table
    return replace(table, rows=table.rows[:MAX_CHART_ROWS])


def build_sheet(
    linked_table: LinkedTable, urls: PageUrls, name: str, language: Language, chart_images: Sequence[ChartImage] = ()
) -> Sheet:
    """Build the sheet of one translated table. Leaderboard rows with few observations move to the end."""
    columns = [column_cells(linked_table, place, urls, language) for place in range(len(linked_table.table.columns))]
    page_sheet = Sheet(
        name, linked_table, column_heads(linked_table.table), list(zip(*columns, strict=True)), chart_images
    )
    few = [row for row in page_sheet.rows if max((cell.n for cell in row if cell.n is not None), default=0) < FEW]
    if not page_sheet.leading or len(few) == len(page_sheet.rows):
        return page_sheet
    return replace(page_sheet, rows=[*(row for row in page_sheet.rows if row not in few), *few], few=len(few))


def leading_sentence(linked_tables: Sequence[LinkedTable]) -> tuple[Note | None, int]:
    """Return who leads by the first leaderboard of these tables, and its number of tiers."""
    table = next((one.table for one in linked_tables if one.table.name.startswith("leaderboard")), None)
    if table is None or len(table.rows) < 2:
        return None, 0
    ranked = [(str(row[1]), parse_rank(str(row[0]))) for row in table.rows if str(row[0])[:1].isdigit()]
    tiers = tiers_of_ranks([rank for _, rank in ranked])
    count = max((tier for tier in tiers if tier), default=0)
    if count == 1 and len(ranked) > 1:
        return Note("summary.leads", text=Note("summary.no-difference", n=len(ranked), by="")), count
    first = [name for (name, _), tier in zip(ranked, tiers, strict=True) if tier == 1]
    return (Note("summary.leads", text=leaders_note(first, "")) if first else None), count


def group_by_tab(sheets: Sequence[Sheet]) -> list[tuple[str, list[Sheet]]]:
    """Return the tabs of a board that have tables, each with its tables."""
    groups = [(tab, [sheet for sheet in sheets if sheet.tab == tab]) for tab in TABS]
    return [(tab, some) for tab, some in groups if some]


def with_cards(judge_sheet: Sheet, judges: Collection[str], urls: PageUrls, study: str) -> Sheet:
    """Link the judges' names of a table to their cards."""

    def link_to_card(cell: LaidCell) -> LaidCell:
        judge = cell.full or cell.text
        return replace(cell, href=urls.judge(judge, study)) if judge in judges else cell

    return replace(judge_sheet, rows=[(link_to_card(row[0]), *row[1:]) for row in judge_sheet.rows])


def column_cells(linked_table: LinkedTable, place: int, urls: PageUrls, language: Language) -> list[LaidCell]:
    """Return the cells of one column."""
    cells = linked_table.table.cells(place)
    links = [linked_table.link(row, place) for row in range(len(cells))]
    hrefs = [_cell_href(link, cell, urls) for link, cell in zip(links, cells, strict=True)]
    is_of_matches = _counts_matches(linked_table.table, place)
    laid_cells = [
        laid_cell
        if laid_cell.n is None or link is None or link not in linked_table.verdict_counts
        else replace(
            laid_cell,
            counted=count_in_words(
                language, laid_cell.n, linked_table.verdict_counts[link], is_of_matches=is_of_matches
            ),
        )
        for laid_cell, link in zip(laid_column(linked_table.table, place, hrefs, urls.logo), links, strict=True)
    ]
    hint = next((hint for hint in linked_table.charts if hint.get("kind") == "matrix"), None)
    if hint is None or str(linked_table.table.columns[place]) not in map(str, hint["columns"]):
        return laid_cells
    middle, reach = _heat_scale(linked_table, hint)
    return [
        replace(laid_cell, bar=None, shade=_shade_class(cell.value, middle, reach, laid_cell.n))
        if isinstance(cell, Estimate)
        else laid_cell
        for laid_cell, cell in zip(laid_cells, cells, strict=True)
    ]


def _counts_matches(table: Table, place: int) -> bool:
    """Return True if n of a column counts matches. Otherwise it counts responses, items or verdicts."""
    if table.name.startswith("wins"):
        return True
    if "tag" in table.source:
        return "ballot" not in table.source
    return table.typed_columns[place].key in {"rating", "matches won"}


def count_in_words(language: Language, n: int, verdicts: int, *, is_of_matches: bool) -> str:
    """Return n and the number of verdicts that a number's link leads to.

    >>> count_in_words("en", 35, 77, is_of_matches=True), count_in_words("en", 25, 25, is_of_matches=False)
    ('35 matches, 77 verdicts', '25 verdicts')
    """
    if is_of_matches:
        words = key("{n} matches, {verdicts} verdicts")
    else:
        words = key("{verdicts} verdicts") if n == verdicts else key("n={n}, {verdicts} verdicts")
    return translate_sentence(language, words, n=n, verdicts=verdicts)


def _heat_scale(linked_table: LinkedTable, hint: Mapping[str, Any]) -> tuple[float, float]:
    """Middle of the numbers and their largest distance from it; 0.5 and 0.5 for win rates."""
    if linked_table.table.name.startswith("wins"):
        return 0.5, 0.5
    heads = {str(name) for name in hint["columns"]}
    values = [
        cell.value
        for row in linked_table.table.rows
        for head, cell in zip(linked_table.table.columns, row, strict=True)
        if str(head) in heads and isinstance(cell, Estimate)
    ]
    lowest, highest = min(values, default=0.0), max(values, default=0.0)
    return (lowest + highest) / 2, (highest - lowest) / 2


def _shade_class(value: float, middle: float, reach: float, n: int | None = None) -> str:
    """Return the CSS class of a heat map cell. Colours fade with n; below `FEW` observations there is none.

    >>> _shade_class(1.0, 0.5, 0.5), _shade_class(0.5, 0.5, 0.5), _shade_class(0.3, 0.5, 0.5)
    ('more-4', '', 'less-2')
    >>> [_shade_class(1.0, 0.5, 0.5, n) for n in (4, 5, 10, 30, 90)]
    ['', 'more-1', 'more-2', 'more-3', 'more-4']
    """
    if n is not None and n < FEW:
        return ""
    strength = 1.0 if n is None else n / (n + HALF_COLOUR)
    steps = round(SHADES * strength * (value - middle) / reach) if reach > 0 else 0
    return "" if steps == 0 else f"{'more' if steps > 0 else 'less'}-{abs(steps)}"


def _cell_href(link: Filter | None, cell: Cell, urls: PageUrls) -> str | None:
    """A count of zero has no link."""
    is_zero_count = isinstance(cell, int) and not cell
    return None if link is None or is_zero_count else urls.verdicts(link)
