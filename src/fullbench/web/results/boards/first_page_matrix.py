"""The first page's answer: every contestant under every judge, people first, from the boards that are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from fullbench.core.estimate import Estimate
from fullbench.core.table import Table
from fullbench.reports.cell_text import decimals, show
from fullbench.web.results.boards.board_store import Board, Linked
from fullbench.web.results.catalogue.disagreement import is_panel, is_person
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.pages.table_cells import MANY, TALL, cut
from fullbench.web.words import key

UNIT_WON = key("share won")
SHADES = 6
"""Ranks are shaded in so many steps, from first to last."""


@dataclass(frozen=True)
class Placed:
    """One contestant on one judge's board: rank set, figure, its interval and n, the verdicts behind it."""

    rank: str
    """Empty where a task's own figures have no rank sets."""
    place: float | None
    """Where it stands: the middle of its rank set, or its place by the figure; None where the board ranks nobody."""
    order: int
    """Its row on the board, or among the figures of a task: rank sets overlap, rows do not."""
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
    """Whether the rows are those of people's board, in its order; else the mean of the judges' ranks orders them."""

    @property
    def parts(self) -> Sequence[Sequence[tuple[str, Sequence[Placed | None]]]]:
        """The rows that are laid out at once, and those that are when somebody asks."""
        return cut(self.rows)

    @property
    def rich(self) -> bool:
        return len(self.rows) >= MANY

    @property
    def tall(self) -> bool:
        return len(self.rows) > TALL


def matrices(boards: Iterable[Board]) -> list[Matrix]:
    """All matrices of a study: those with the most judges first."""
    groups: dict[tuple[str, str], list[tuple[Board, Linked]]] = {}
    for board in boards:
        for linked in board.tables:
            if linked.table.name.split(",")[0] == "leaderboard" and linked.table.rows:
                family = str(linked.table.source.get("family", ""))
                groups.setdefault((board.criterion, family), []).append((board, linked))
    unordered = [_matrix(place, group, some) for place, (group, some) in enumerate(groups.items())]
    return sorted(unordered, key=lambda matrix: -len(matrix.columns))


@dataclass(frozen=True)
class Task:
    """Items that have one value of a tag."""

    tag: str
    value: str

    @classmethod
    def of(cls, text: str) -> Task | None:
        """As addresses name it; None for anything else.

        >>> Task.of("task:counting: hard"), Task.of("all")
        (Task(tag='task', value='counting: hard'), None)
        """
        tag, found, value = text.partition(":")
        return cls(tag, value) if found and tag and value else None

    def __str__(self) -> str:
        return f"{self.tag}:{self.value}"


def task_matrices(boards: Iterable[Board], task: Task) -> list[Matrix]:
    """The same from the items of one task alone: the figures of the boards' tables by tag, which have no rank sets."""
    groups: dict[tuple[str, str], list[tuple[Board, Linked]]] = {}
    for board in boards:
        for family, linked in _by_tag(board, task.tag).items():
            groups.setdefault((board.criterion, family), []).append((board, linked))
    unordered = [_matrix(place, group, some, task) for place, (group, some) in enumerate(groups.items())]
    return sorted((matrix for matrix in unordered if matrix.rows), key=lambda matrix: -len(matrix.columns))


def _by_tag(board: Board, tag: str) -> dict[str, Linked]:
    """A board's table by a tag for each family of ballots: of scores the mean, of all others the share won."""
    families = {
        str(linked.table.source.get("family", "")) for linked in board.tables if linked.table.name.startswith("leader")
    }
    chosen: dict[str, Linked] = {}
    for linked in board.tables:
        if linked.table.source.get("tag") != tag:
            continue
        named = linked.table.name.rpartition(", ")[2]
        family = named if named in families else next(iter(families), "")
        if family not in chosen or ("ballot" in linked.table.source and family == "score"):
            chosen[family] = linked
    return chosen


def _task_figure(table: Table, task: Task) -> int | None:
    heads = [str(head) for head in table.columns]
    return next((heads.index(head) for head in (f"{task.tag}: {task.value}", task.value) if head in heads), None)


def _matrix(
    place: int, group: tuple[str, str], some: Sequence[tuple[Board, Linked]], task: Task | None = None
) -> Matrix:
    criterion, family = group
    ordered = sorted(some, key=lambda pair: (not is_person(pair[0].judge), not is_panel(pair[0].judge), pair[0].judge))
    columns: list[Bench] = []
    cells: list[Mapping[str, Placed]] = []
    for board, linked in ordered:
        figure = main_figure(linked.table) if task is None else _task_figure(linked.table, task)
        if task is not None and figure is None:
            continue
        unit = "" if figure is None else str(linked.table.typed[figure])
        if task is not None:
            unit = str(linked.table.source.get("ballot", "")) or UNIT_WON
        columns.append(Bench(board.judge, board.name, unit, is_person(board.judge), is_panel(board.judge)))
        cells.append(_placed(linked, figure, ranked=task is None))
    by_people = bool(columns) and columns[0].people
    names = list(dict.fromkeys(name for column in cells for name in column))
    worst = float(len(names) + 1)

    def ahead(name: str) -> tuple[float, float, str]:
        """People's own order; without people the mean rank, and where rank sets are alike the mean row."""
        middle = fmean(_place(column, name, worst) for column in cells)
        mean_row = fmean(_row(column, name, len(names)) for column in cells)
        return (_row(cells[0], name, len(names)), middle, name) if by_people else (middle, mean_row, name)

    names.sort(key=ahead)
    rows = [(name, [column.get(name) for column in cells]) for name in names]
    return Matrix(f"matrix-{place}", criterion, family, columns, rows, by_people)


def _place(column: Mapping[str, Placed], name: str, worst: float) -> float:
    """The middle of a rank set; who was not ranked stands behind all others."""
    found = column[name].place if name in column else None
    return worst if found is None else found


def _row(column: Mapping[str, Placed], name: str, last: int) -> int:
    return column[name].order if name in column else last


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


def _placed(linked: Linked, figure: int | None, *, ranked: bool = True) -> dict[str, Placed]:
    table, by_contestant = linked.table, {}
    who = 1 if ranked else 0
    cells = () if figure is None else table.cells(figure)
    values = sorted((cell.value for cell in cells if isinstance(cell, Estimate)), reverse=True)
    digits = 2 if figure is None else decimals(table.cells(figure))
    count = max(1, len(table.rows) - 1)
    for number, row in enumerate(table.rows):
        cell = None if figure is None else row[figure]
        shown, _, interval = ("" if cell is None else show(cell, digits)).partition(" ")
        estimated = cell if isinstance(cell, Estimate) else None
        if not ranked and estimated is None:
            continue
        rank = show(row[0]) if ranked else ""
        middle = middle_rank(rank) if estimated is None or ranked else 1.0 + values.index(estimated.value)
        by_contestant[str(row[who])] = Placed(
            rank=rank,
            place=middle,
            order=number if ranked or estimated is None else values.index(estimated.value),
            figure=shown,
            interval=interval,
            n=0 if estimated is None else estimated.n,
            sort=float("-inf") if estimated is None else estimated.value,
            shade=-1 if middle is None else round((SHADES - 1) * min(1.0, (middle - 1) / count)),
            link=None if figure is None else linked.link(number, figure),
        )
    return by_contestant


@dataclass(frozen=True)
class Group:
    """A board in the first page's list of boards, and who stands first on it."""

    name: str
    judge: str
    criterion: str
    verdicts: int
    link: Filter
    first: Sequence[str] | None = None
    """Those whose rank set begins with 1, the best first; None where nothing is computed yet."""
    contestants: int = 0


def first_places(board: Board) -> tuple[list[str], int]:
    """Who may be the first on a board, in its order, and how many contestants it has."""
    rows = board.tables[0].table.rows if board.tables else ()
    return [str(row[1]) for row in rows if show(row[0]).split("-")[0] == "1"], len(rows)
