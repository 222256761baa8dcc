"""Compute one judge's board: the tables of the analysis package, with a filter behind each cell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from fullbench.analysis.boards import (
    head_to_head_and_slices,
    leaderboard,
    rank_history_by_contestant_arrival,
    votes_to_decide,
)
from fullbench.analysis.boards.head_to_head_and_slices import Slice
from fullbench.analysis.people import corrected_leaderboards
from fullbench.analysis.people.voted_rows_check import CaseFacts
from fullbench.analysis.pooled_single_item_criteria import POOLED
from fullbench.analysis.scope_suffixes_of_table_titles import ballot_of, family_suffix, title_with_scope
from fullbench.columns.column_builder import case_numbers
from fullbench.columns.verdict_columns import Columns, Family
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.web.results.boards.board_store import Board, LinkedTable, Links
from fullbench.web.results.catalogue.disagreement_flags import is_panel, is_person
from fullbench.web.results.lists.verdict_filters import Filter

FAMILY_FILTER_WORDS: Mapping[Family, str] = {"score": "one", "pair": "choice", "ranking": "ranking"}
FAMILY_ORDER: tuple[Family, ...] = ("pair", "ranking", "score")
Tags = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Subject:
    """Study, judge and criterion of a board. `link` is the study's name in filters: empty for the first study."""

    study: str
    judge: str
    criterion: str
    link: str = ""


@dataclass(frozen=True)
class VerdictTimes:
    """Times of a judge's verdicts: sorted case numbers, and the time of each case's first verdict."""

    cases: npt.NDArray[np.uint64]
    at: npt.NDArray[np.float64]

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[Any, ...]]) -> VerdictTimes:
        """Build from pairs of case key and verdict time."""
        keys, at = zip(*rows, strict=True) if (rows := list(rows)) else ((), ())
        cases, first = case_numbers(keys) if keys else np.zeros(0, dtype=np.uint64), np.array(at, dtype=np.float64)
        order = np.lexsort((first, cases))  # the last key is the primary one
        return cls(cases[order], first[order])

    def times_for(self, columns: Columns) -> npt.NDArray[np.float64] | None:
        """Return the times of the verdicts in `columns`, or None if some are unknown."""
        if not len(self.cases):
            return None
        place = np.minimum(np.searchsorted(self.cases, columns.case), len(self.cases) - 1)
        return self.at[place] if (self.cases[place] == columns.case).all() else None


def compute_board(
    columns: Columns,
    subject: Subject,
    tags: Tags,
    times: VerdictTimes | None = None,
    facts: CaseFacts | None = None,
) -> Board:
    """Compute all non-empty tables of a board; with `times` also the history of its ranks.

    `facts` are tags and lengths on which corrected boards compare voted with unvoted pairs.
    """
    verdicts = columns.where(study=subject.study, judge=subject.judge, criterion=subject.criterion)
    parts = {cast("Family", family): part for (family,), part in verdicts.by("family")}
    judged_families = [family for family in FAMILY_ORDER if family in parts and (parts[family].fault < 0).any()]
    leaderboards: list[LinkedTable] = []
    detail_tables: list[LinkedTable] = []
    for family in judged_families:
        key = leaderboard.Key(subject.study, subject.judge, subject.criterion, family)
        board = leaderboard.build_board(parts[family], key)
        has_several_families = len(judged_families) > 1
        leaderboards.append(_link_leaderboard(board, subject, has_several_families=has_several_families))
        detail_tables += _detail_tables(board, subject, tags, has_several_families=has_several_families)
        at = None if times is None else times.times_for(parts[family])
        if (
            at is not None
            and (history := rank_history_by_contestant_arrival.daily_history_table(parts[family], key, at)) is not None
        ):
            history_table = _link_contestants(history, _board_filter(subject, family))
            detail_tables.append(_name_family(history_table, family) if has_several_families else history_table)
    if not is_panel(subject.judge):
        leaderboards = _add_corrections(columns, subject, leaderboards, facts)
    return Board(
        subject.study, subject.judge, subject.criterion, len(verdicts.latest()), [*leaderboards, *detail_tables]
    )


def _add_corrections(
    columns: Columns, subject: Subject, leaderboards: Sequence[LinkedTable], facts: CaseFacts | None
) -> list[LinkedTable]:
    annotated_tables = corrected_leaderboards.add_opinion_notes(columns, [leader.table for leader in leaderboards])
    scope_columns = columns.where(study=subject.study, criterion=subject.criterion)
    for_all_judges = is_person(subject.judge)
    corrections = corrected_leaderboards.corrected_tables(
        scope_columns, judges=[] if for_all_judges else [subject.judge], together=for_all_judges, facts=facts
    )
    return [
        *(replace(leader, table=table) for leader, table in zip(leaderboards, annotated_tables, strict=True)),
        *(
            _link_contestants(table, _correction_filter(table, subject, for_all_judges=for_all_judges))
            for table in corrections
        ),
    ]


def _correction_filter(table: Table, subject: Subject, *, for_all_judges: bool) -> partial[Filter]:
    make_filter = partial(
        Filter, study=subject.link, criterion=subject.criterion, judge="" if for_all_judges else subject.judge
    )
    family = cast("Family | None", table.source.get("family"))
    return make_filter if family is None else partial(make_filter, shown=FAMILY_FILTER_WORDS[family])


def _link_contestants(table: Table, make_filter: partial[Filter]) -> LinkedTable:
    """Only names are linked, because no list of verdicts matches such numbers exactly."""
    name_column = table.place("contestant")
    links: Links = [
        [make_filter(contestant=str(cell)) if place == name_column else None for place, cell in enumerate(row)]
        for row in table.rows
    ]
    return LinkedTable(table, () if name_column is None else links, [] if table.chart is None else [table.chart])


def _board_filter(subject: Subject, family: Family) -> partial[Filter]:
    return partial(
        Filter, study=subject.link, judge=subject.judge, criterion=subject.criterion, shown=FAMILY_FILTER_WORDS[family]
    )


def _link_leaderboard(board: leaderboard.Board, subject: Subject, *, has_several_families: bool) -> LinkedTable:
    family = board.key.family
    table = board.table(
        f"leaderboard, {family}" if has_several_families else "leaderboard", family=has_several_families
    )
    make_filter = _board_filter(subject, family)
    if table.place("unusable") is None:  # links of every row lead to its unusable verdicts, even if there are none
        rows_with_counts = [[*row, 0] for row in table.rows]
        table = replace(table, columns=(*table.columns, *table_columns("unusable")), rows=rows_with_counts)
    links: list[list[Filter | None]] = []
    for row in table.rows:
        name = str(row[1])
        make_marked_filter = partial(make_filter, contestant=name, fault="none")
        row_links: list[Filter | None] = [None, make_filter(contestant=name)]
        for column, cell in zip(table.typed_columns[2:-1], row[2:-1], strict=True):
            has_verdicts = cell is not None and column.key != votes_to_decide.COLUMN
            row_links.append(make_marked_filter(ballot=ballot_of(column)) if has_verdicts else None)
        links.append([*row_links, make_filter(contestant=name, fault="any")])
    charts = [] if table.chart is None else [table.chart]
    return LinkedTable(table, links, charts)


def _detail_tables(
    board: leaderboard.Board, subject: Subject, tags: Tags, *, has_several_families: bool
) -> Sequence[LinkedTable]:
    family = board.key.family
    make_filter = partial(_board_filter(subject, family), fault="none")
    tables: list[LinkedTable] = []
    pairs = head_to_head_and_slices.win_matrix(board)
    if pairs is not None:
        tables.append(_link_slice(pairs, [_win_links(pairs, row, make_filter, family) for row in pairs.table.rows]))
    for tag, groups in tags.items():
        for slice_ in head_to_head_and_slices.slices_by_tag(board, tag, groups):
            make_tag_filter = partial(make_filter, ballot=str(slice_.table.source.get("ballot", "")), tag=tag)
            tables.append(_link_slice(slice_, [_tag_links(slice_, row, make_tag_filter) for row in slice_.table.rows]))
    for slice_ in head_to_head_and_slices.mark_distributions(board):
        spec = str(slice_.table.source["ballot"])
        row_links = [[None, None, make_filter(contestant=str(row[0]), ballot=spec)] for row in slice_.table.rows]
        tables.append(_link_slice(slice_, row_links))
    return [_name_family(linked_table, family) for linked_table in tables] if has_several_families else tables


def _name_family(linked_table: LinkedTable, family: Family) -> LinkedTable:
    """Needed if the board has several families."""
    table = linked_table.table
    title = title_with_scope(table.title, family_suffix(family))
    return replace(linked_table, table=replace(table, name=f"{table.name}, {family}", title=title))


def _link_slice(slice_: Slice, links: Sequence[Sequence[Filter | None]]) -> LinkedTable:
    """Link the cells of a table; last columns without links, such as unusable verdicts, need none."""
    cell_links = [
        [link if cell is not None else None for cell, link in zip_longest(row, row_links)]
        for row, row_links in zip(slice_.table.rows, links, strict=True)
    ]
    return LinkedTable(slice_.table, cell_links, slice_.charts)


def _win_links(slice_: Slice, row: Sequence[Cell], make_filter: partial[Filter], family: Family) -> list[Filter | None]:
    """Separate scores never show two contestants together, so their matches have no link."""
    of_contestant = partial(make_filter, contestant=str(row[0]))
    return [
        of_contestant(),
        *(None if family == "score" else of_contestant(other=opponent) for opponent in slice_.labels),
    ]


def _tag_links(slice_: Slice, row: Sequence[Cell], make_filter: partial[Filter]) -> list[Filter | None]:
    of_contestant = partial(make_filter, contestant=str(row[0]))
    return [of_contestant(), *(of_contestant(value=value) for value in slice_.labels), of_contestant()]


def link_faults(table: Table, link: str) -> LinkedTable:
    """Link every count of unusable verdicts to its verdicts."""
    links: list[list[Filter | None]] = []
    for row in table.rows:
        keys = [column.key for column in table.typed_columns]
        cells = dict(zip(keys, row, strict=True))
        make_filter = partial(Filter, study=link, judge=str(cells["judge"]), criterion=str(cells.get("criterion", "")))
        filters_by_key = {
            "verdicts": make_filter(),
            "share unusable": make_filter(),
            "judged": make_filter(fault="none"),
        }
        filters_by_key |= {fault: make_filter(fault=fault) for fault in ("refused", "unreadable", "abstained")}
        has_list = cells.get("criterion") != POOLED  # no filter selects all criteria of items' own rubrics
        links.append([filters_by_key.get(key) if has_list else None for key in keys])
    return LinkedTable(table, links, [] if table.chart is None else [table.chart])
