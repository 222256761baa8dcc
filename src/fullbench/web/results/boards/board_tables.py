"""One judge's board from the figures that every door shows; what is added here is where each cell leads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from fullbench.analysis.boards import head_to_head_and_slices, leaderboard, rank_history
from fullbench.analysis.boards.head_to_head_and_slices import Slice
from fullbench.analysis.people import corrected_leaderboards
from fullbench.analysis.scope_text import ballot_of, from_family, placed
from fullbench.columns.column_builder import case_numbers
from fullbench.columns.verdict_columns import Columns, Family
from fullbench.core.column_labels import headings
from fullbench.core.table import Cell, Table
from fullbench.web.results.boards.board_store import Board, Linked, Links
from fullbench.web.results.catalogue.disagreement import is_panel, is_person
from fullbench.web.results.lists.verdict_filters import Filter

SHOWN: Mapping[Family, str] = {"score": "one", "pair": "choice", "ranking": "ranking"}
"""How a filter calls each family of ballots."""
ORDER: tuple[Family, ...] = ("pair", "ranking", "score")
Tags = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Subject:
    """Whose board it is. `link` is how a filter names the study: empty for the first one."""

    study: str
    judge: str
    criterion: str
    link: str = ""


@dataclass(frozen=True)
class Times:
    """When a judge ruled on its cases: their numbers in rising order, and when it first ruled on each."""

    cases: npt.NDArray[np.uint64]
    at: npt.NDArray[np.float64]

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, ...]]) -> Times:
        """From the keys of cases and the times of verdicts on them."""
        keys, at = zip(*rows, strict=True) if (rows := list(rows)) else ((), ())
        cases, first = case_numbers(keys) if keys else np.zeros(0, dtype=np.uint64), np.array(at, dtype=np.float64)
        order = np.lexsort((first, cases))
        return cls(cases[order], first[order])

    def behind(self, columns: Columns) -> npt.NDArray[np.float64] | None:
        """When the verdicts of these columns were given; None where that is not known of all of them."""
        if not len(self.cases):
            return None
        place = np.minimum(np.searchsorted(self.cases, columns.case), len(self.cases) - 1)
        return self.at[place] if (self.cases[place] == columns.case).all() else None


def compute(columns: Columns, subject: Subject, tags: Tags, times: Times | None = None) -> Board:
    """All tables of a board that there is something for; `tags` has the items' values of each tag.

    With the times of its verdicts, how the ranks went is one of them.
    """
    verdicts = columns.of(study=subject.study, judge=subject.judge, criterion=subject.criterion)
    parts = {cast("Family", family): part for (family,), part in verdicts.by("family")}
    ruled = [family for family in ORDER if family in parts and (parts[family].fault < 0).any()]
    linked: list[Linked] = []
    closer: list[Linked] = []
    for family in ruled:
        key = leaderboard.Key(subject.study, subject.judge, subject.criterion, family)
        board = leaderboard.board(parts[family], key)
        several = len(ruled) > 1
        linked.append(_leaderboard(board, parts[family], subject, several=several))
        closer += _closer(board, subject, tags, several=several)
        at = None if times is None else times.behind(parts[family])
        if at is not None and (went := rank_history.daily(parts[family], key, at)) is not None:
            went_by = _of_contestants(went, _asked(subject, family))
            closer.append(_named(went_by, family) if several else went_by)
    if not is_panel(subject.judge):
        linked = _signed(columns, subject, linked)
    return Board(subject.study, subject.judge, subject.criterion, len(verdicts.latest()), [*linked, *closer])


def _signed(columns: Columns, subject: Subject, linked: Sequence[Linked]) -> list[Linked]:
    """Leaderboards, then what people's votes make of them: of this judge, or on people's own board of all judges."""
    signed = corrected_leaderboards.opinions(columns, [leader.table for leader in linked])
    where = columns.of(study=subject.study, criterion=subject.criterion)
    together = is_person(subject.judge)
    corrections = corrected_leaderboards.tables(where, judges=[] if together else [subject.judge], together=together)
    return [
        *(replace(leader, table=table) for leader, table in zip(linked, signed, strict=True)),
        *(_of_contestants(table, _behind(table, subject, together=together)) for table in corrections),
    ]


def _behind(table: Table, subject: Subject, *, together: bool) -> partial[Filter]:
    """Makes filters of the verdicts behind a correction: the judge's, or those of all judges together."""
    asked = partial(Filter, study=subject.link, criterion=subject.criterion, judge="" if together else subject.judge)
    family = cast("Family | None", table.source.get("family"))
    return asked if family is None else partial(asked, shown=SHOWN[family])


def _of_contestants(table: Table, asked: partial[Filter]) -> Linked:
    """A table of figures that no list of verdicts is exactly behind: names lead to all verdicts on their answers."""
    named = table.place("contestant")
    links: Links = [
        [asked(contestant=str(cell)) if place == named else None for place, cell in enumerate(row)]
        for row in table.rows
    ]
    return Linked(table, () if named is None else links, [] if table.chart is None else [table.chart])


def _asked(subject: Subject, family: Family) -> partial[Filter]:
    """Makes filters of this board's verdicts."""
    return partial(Filter, study=subject.link, judge=subject.judge, criterion=subject.criterion, shown=SHOWN[family])


def _leaderboard(board: leaderboard.Board, part: Columns, subject: Subject, *, several: bool) -> Linked:
    family = board.key.family
    table = board.table(f"leaderboard, {family}" if several else "leaderboard", family=several)
    lost, asked = head_to_head_and_slices.faults(part), _asked(subject, family)
    rows: list[list[Cell]] = []
    links: list[list[Filter | None]] = []
    for row in table.rows:
        name = str(row[1])
        ruled = partial(asked, contestant=name, fault="none")
        behind: list[Filter | None] = [None, asked(contestant=name)]
        for column, cell in zip(table.typed[2:], row[2:], strict=True):
            behind.append(None if cell is None else ruled(ballot=ballot_of(column)))
        rows.append([*row, lost.get(name, 0)])
        links.append([*behind, asked(contestant=name, fault="any")])
    charts = [] if table.chart is None else [table.chart]
    return Linked(replace(table, columns=(*table.columns, *headings("faults")), rows=rows), links, charts)


def _closer(board: leaderboard.Board, subject: Subject, tags: Tags, *, several: bool) -> Sequence[Linked]:
    family = board.key.family
    asked = partial(_asked(subject, family), fault="none")
    tables: list[Linked] = []
    pairs = head_to_head_and_slices.wins(board)
    if pairs is not None:
        tables.append(_linked(pairs, [_wins(pairs, row, asked, family) for row in pairs.table.rows]))
    for tag, groups in tags.items():
        for slice_ in head_to_head_and_slices.by_tag(board, tag, groups):
            grouped = partial(asked, ballot=str(slice_.table.source.get("ballot", "")), tag=tag)
            tables.append(_linked(slice_, [_grouped(slice_, row, grouped) for row in slice_.table.rows]))
    for slice_ in head_to_head_and_slices.densities(board):
        spec = str(slice_.table.source["ballot"])
        behind = [[None, None, asked(contestant=str(row[0]), ballot=spec)] for row in slice_.table.rows]
        tables.append(_linked(slice_, behind))
    return [_named(linked, family) for linked in tables] if several else tables


def _named(linked: Linked, family: Family) -> Linked:
    """A table of one family beside those of others."""
    table = linked.table
    title = placed(table.title, from_family(family))
    return replace(linked, table=replace(table, name=f"{table.name}, {family}", title=title))


def _linked(slice_: Slice, links: Sequence[Sequence[Filter | None]]) -> Linked:
    filled = [
        [link if cell is not None else None for cell, link in zip(row, behind, strict=True)]
        for row, behind in zip(slice_.table.rows, links, strict=True)
    ]
    return Linked(slice_.table, filled, slice_.charts)


def _wins(slice_: Slice, row: Sequence[Cell], asked: partial[Filter], family: Family) -> list[Filter | None]:
    """Marks given apart show no two together: there is no list of verdicts behind their matches."""
    of_contestant = partial(asked, contestant=str(row[0]))
    return [of_contestant(), *(None if family == "score" else of_contestant(other=other) for other in slice_.labels)]


def _grouped(slice_: Slice, row: Sequence[Cell], asked: partial[Filter]) -> list[Filter | None]:
    of_contestant = partial(asked, contestant=str(row[0]))
    return [of_contestant(), *(of_contestant(value=value) for value in slice_.labels), of_contestant(), None]


def faults(table: Table, link: str) -> Linked:
    """What judges did not rule on; every count leads to its verdicts."""
    links: list[list[Filter | None]] = []
    for row in table.rows:
        keys = [column.key for column in table.typed]
        cells = dict(zip(keys, row, strict=True))
        asked = partial(Filter, study=link, judge=str(cells["judge"]), criterion=str(cells.get("criterion", "")))
        words = {"verdicts": asked(), "faulty": asked(), "ruled": asked(fault="none")}
        words |= {fault: asked(fault=fault) for fault in ("refused", "unreadable", "recused")}
        links.append([words.get(key) for key in keys])
    return Linked(table, links, [] if table.chart is None else [table.chart])
