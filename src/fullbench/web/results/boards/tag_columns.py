"""Columns by tag that readers can add to a leaderboard.

The cells come from the board's tables by tag, so both always show the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fullbench.reports.table_cell_bars_and_sort_values import LaidCell
from fullbench.web.results.boards.board_store import LinkedTable
from fullbench.web.results.boards.contestants_by_judges_matrix import UNIT_WON
from fullbench.web.results.pages.tables_and_charts_for_templates import (
    Sheet,
    TagHead,
    column_cells,
    translate_linked_table,
)
from fullbench.web.results.site.page_urls import PageUrls
from fullbench.web.words import Language, translate_sentence

MAX_TAG_COLUMNS = 12
"""Each column is sent with every row of a board, whether it is shown or not."""
MISSING = LaidCell("", "number gap", "")


@dataclass(frozen=True)
class _TagColumn:
    linked_table: LinkedTable
    place: int
    tag: str


def with_tags(
    sheets: Sequence[Sheet], tables: Sequence[LinkedTable], urls: PageUrls, language: Language
) -> list[Sheet]:
    """Return the sheets of a board, with columns by tag added to its leaderboards."""
    return [_add_tag_columns(sheet, tables, urls, language) if sheet.leading else sheet for sheet in sheets]


def _add_tag_columns(sheet: Sheet, tables: Sequence[LinkedTable], urls: PageUrls, language: Language) -> Sheet:
    all_columns = _find_tag_columns(
        sheet.linked_table, [translate_linked_table(linked_table, language) for linked_table in tables]
    )
    heads: list[TagHead] = []
    columns: list[list[LaidCell]] = []
    for source in all_columns[:MAX_TAG_COLUMNS]:
        table = source.linked_table.table
        value = str(table.columns[source.place])
        unit = str(table.source.get("ballot", "")) or translate_sentence(language, UNIT_WON)
        heads.append(TagHead(value.removeprefix(f"{source.tag}: "), f"{source.tag}, {unit}"))
        named_cells = zip(
            (str(row[0]) for row in table.rows),
            column_cells(source.linked_table, source.place, urls, language),
            strict=True,
        )
        by_contestant = dict(named_cells)
        cells = [(row[sheet.named_by].text, by_contestant.get(row[sheet.named_by].text)) for row in sheet.rows]
        columns.append([MISSING if cell is None else _with_tip(cell, name, heads[-1]) for name, cell in cells])
    if not heads:
        return sheet
    rows = [[*row, *tag_cells] for row, tag_cells in zip(sheet.rows, zip(*columns, strict=True), strict=True)]
    return replace(sheet, rows=rows, tag_heads=heads, tag_columns=len(all_columns))


def _with_tip(cell: LaidCell, name: str, head: TagHead) -> LaidCell:
    tip = f"{name}, {head.name} ({head.unit}): {cell.text} {cell.interval} · {cell.n_in_words}" if cell.interval else ""
    return replace(cell, tip=tip)


def _find_tag_columns(leader: LinkedTable, tables: Sequence[LinkedTable]) -> list[_TagColumn]:
    """Tags with few values come first, so that more tags fit."""
    # If a board has several families of ballots, the names of its tables end with the family.
    _, separator, family = leader.table.name.partition(", ")
    entries: list[tuple[int, str, bool, LinkedTable]] = []
    for linked_table in tables:
        tag = str(linked_table.table.source.get("tag", ""))
        if tag and (not separator or linked_table.table.name.endswith(f", {family}")):
            # For scores the table of means (it has a ballot) comes before that of wins derived from scores.
            entries.append(
                (_count_tag_values(linked_table), tag, "ballot" not in linked_table.table.source, linked_table)
            )
    entries.sort(key=lambda entry: entry[:3])
    return [
        _TagColumn(linked_table, 1 + place, tag) for count, tag, _, linked_table in entries for place in range(count)
    ]


def _count_tag_values(linked_table: LinkedTable) -> int:
    """The other three columns are the contestant, all, and worst."""
    return len(linked_table.table.columns) - 3
