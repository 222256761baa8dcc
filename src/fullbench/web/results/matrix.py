"""The first page's answer: every contestant under every judge, people first, from the boards that are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from fullbench.nouns.table import EstimateLike, Table
from fullbench.reports.cells import decimals, show
from fullbench.web.results.boards import Board, Linked
from fullbench.web.results.filters import Filter
from fullbench.web.results.rulings import is_panel, is_person

SHADES = 6
"""Ranks are shaded in so many steps, from first to last."""


@dataclass(frozen=True)
class Placed:
    """One contestant on one judge's board: rank set, figure, its interval and n, the verdicts behind it."""

    rank: str
    figure: str
    interval: str
    n: int
    sort: float
    shade: int
    """0 (first) to `SHADES` - 1 (last); -1 where the board ranks nobody."""
    link: Filter | None


@dataclass(frozen=True)
class Bench:
    """One column: whose board, under which name it is found, and in which unit its figures are."""

    judge: str
    board: str
    unit: str
    people: bool
    panel: bool


@dataclass(frozen=True)
class Matrix:
    """Contestants by judges for one criterion and one family of ballots."""

    id: str
    criterion: str
    family: str
    columns: Sequence[Bench]
    rows: Sequence[tuple[str, Sequence[Placed | None]]]
    by_people: bool
    """Whether people's board orders the rows; else the mean of the judges' ranks does."""


def matrices(boards: Iterable[Board]) -> list[Matrix]:
    """All matrices of a study: those with the most judges first."""
    groups: dict[tuple[str, str], list[tuple[Board, Linked]]] = {}
    for board in boards:
        for linked in board.tables:
            if linked.table.name.split(",")[0] == "leaderboard" and linked.table.rows:
                family = str(linked.table.source.get("family", ""))
                groups.setdefault((board.criterion, family), []).append((board, linked))
    unordered = [_matrix(place, key, some) for place, (key, some) in enumerate(groups.items())]
    return sorted(unordered, key=lambda matrix: -len(matrix.columns))


def _matrix(place: int, key: tuple[str, str], some: Sequence[tuple[Board, Linked]]) -> Matrix:
    criterion, family = key
    ordered = sorted(some, key=lambda pair: (not is_person(pair[0].judge), not is_panel(pair[0].judge), pair[0].judge))
    columns: list[Bench] = []
    cells: list[Mapping[str, Placed]] = []
    for board, linked in ordered:
        figure = main_figure(linked.table)
        unit = "" if figure is None else str(linked.table.typed[figure])
        columns.append(Bench(board.judge, board.name, unit, is_person(board.judge), is_panel(board.judge)))
        cells.append(_placed(linked, figure))
    by_people = columns[0].people
    deciding = cells[:1] if by_people else cells
    names = list(dict.fromkeys(name for column in cells for name in column))
    worst = float(len(names) + 1)

    def mean_place(name: str) -> float:
        return fmean(_place(column, name, worst) for column in deciding)

    names.sort(key=lambda name: (mean_place(name), fmean(_place(column, name, worst) for column in cells), name))
    rows = [(name, [column.get(name) for column in cells]) for name in names]
    return Matrix(f"matrix-{place}", criterion, family, columns, rows, by_people)


def _place(column: Mapping[str, Placed], name: str, worst: float) -> float:
    """The middle of a rank set; who was not ranked stands behind all others."""
    middle = middle_rank(column[name].rank) if name in column else None
    return worst if middle is None else middle


def middle_rank(shown: str) -> float | None:
    """The middle of a rank set as tables show it; None where nothing is ranked.

    >>> middle_rank("2-5"), middle_rank("1"), middle_rank("-")
    (3.5, 1.0, None)
    """
    ends = [float(end) for end in shown.split("-") if end.isdigit()]
    return fmean(ends) if ends else None


def main_figure(table: Table) -> int | None:
    """The figure that a board is read by: the first that most of its rows have."""
    places = [place for place, column in enumerate(table.typed) if column.kind not in {"rank", "name", "fault", "n"}]
    return max(places, key=lambda place: sum(row[place] is not None for row in table.rows), default=None)


def _placed(linked: Linked, figure: int | None) -> dict[str, Placed]:
    table, by_contestant = linked.table, {}
    digits = 2 if figure is None else decimals(table.cells(figure))
    count = max(1, len(table.rows) - 1)
    for number, row in enumerate(table.rows):
        cell = None if figure is None else row[figure]
        shown, _, interval = ("" if cell is None else show(cell, digits)).partition(" ")
        estimated = cell if isinstance(cell, EstimateLike) else None
        rank = show(row[0])
        middle = middle_rank(rank)
        by_contestant[str(row[1])] = Placed(
            rank=rank,
            figure=shown,
            interval=interval,
            n=0 if estimated is None else estimated.n,
            sort=float("-inf") if estimated is None else estimated.value,
            shade=-1 if middle is None else round((SHADES - 1) * min(1.0, (middle - 1) / count)),
            link=None if figure is None else linked.link(number, figure),
        )
    return by_contestant
