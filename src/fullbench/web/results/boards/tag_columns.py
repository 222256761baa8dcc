"""A leaderboard's figures by tag as columns of its own rows, for readers to choose.

The figures are the cells of the board's tables by tag, so that both always say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fullbench.web.results.boards.board_store import Linked
from fullbench.web.results.boards.first_page_matrix import UNIT_WON
from fullbench.web.results.pages.table_cells import LinkedCell, Sheet, TagHead, column_cells
from fullbench.web.results.pages.translated_tables import localised
from fullbench.web.results.site.page_urls import Places
from fullbench.web.words import Language, translate

MOST = 12
"""So many columns by tag can be chosen: each is sent with every row of a board, whether it is looked at or not."""
MISSING = LinkedCell("", "number gap", "")


@dataclass(frozen=True)
class _Source:
    """One value's column in a table by tag."""

    linked: Linked
    place: int
    tag: str


def with_tags(sheets: Sequence[Sheet], tables: Sequence[Linked], places: Places, language: Language) -> list[Sheet]:
    """The sheets of a board, its leaderboards with columns by tag where there are any."""
    return [_widened(sheet, tables, places, language) if sheet.leading else sheet for sheet in sheets]


def _widened(sheet: Sheet, tables: Sequence[Linked], places: Places, language: Language) -> Sheet:
    every = _sources(sheet.linked, [localised(linked, language) for linked in tables])
    heads: list[TagHead] = []
    columns: list[list[LinkedCell]] = []
    for source in every[:MOST]:
        table = source.linked.table
        value = str(table.columns[source.place])
        unit = str(table.source.get("ballot", "")) or translate(language, UNIT_WON)
        heads.append(TagHead(value.removeprefix(f"{source.tag}: "), f"{source.tag}, {unit}"))
        named = zip((str(row[0]) for row in table.rows), column_cells(source.linked, source.place, places), strict=True)
        by_contestant = dict(named)
        cells = [(row[sheet.named_by].text, by_contestant.get(row[sheet.named_by].text)) for row in sheet.rows]
        columns.append([MISSING if cell is None else _said(cell, name, heads[-1]) for name, cell in cells])
    if not heads:
        return sheet
    rows = [[*row, *more] for row, more in zip(sheet.rows, zip(*columns, strict=True), strict=True)]
    return replace(sheet, rows=rows, tag_heads=heads, tag_columns=len(every))


def _said(cell: LinkedCell, name: str, head: TagHead) -> LinkedCell:
    """A cell with what it says to whoever points at it."""
    tip = f"{name}, {head.name} ({head.unit}): {cell.text} {cell.interval} · n={cell.n}" if cell.interval else ""
    return replace(cell, tip=tip)


def _sources(leader: Linked, tables: Sequence[Linked]) -> list[_Source]:
    """All columns by tag of one leaderboard: tags with few values first, so that the most tags have a place."""
    # Where a board has several families of ballots, its tables' names end with theirs.
    _, several, family = leader.table.name.partition(", ")
    chosen: list[tuple[int, str, bool, Linked]] = []
    for linked in tables:
        tag = str(linked.table.source.get("tag", ""))
        if tag and (not several or linked.table.name.endswith(f", {family}")):
            # Marks are read by their mean first: what they would win against each other comes after it.
            chosen.append((_values(linked), tag, "ballot" not in linked.table.source, linked))
    chosen.sort(key=lambda entry: entry[:3])
    return [_Source(linked, 1 + place, tag) for count, tag, _, linked in chosen for place in range(count)]


def _values(linked: Linked) -> int:
    """How many values of its tag a table has: a column for each stands between the contestant, and all and worst."""
    return len(linked.table.columns) - 3
