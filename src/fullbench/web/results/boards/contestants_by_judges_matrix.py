"""Matrix of the first page: every contestant under every judge, people first, from the stored boards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from fullbench.analysis.summary.judge_trust import is_baseline
from fullbench.core.estimate import Estimate
from fullbench.core.table import Table
from fullbench.reports.cell_text import column_decimals, format_cell
from fullbench.web.results.boards.board_store import Board, LinkedTable
from fullbench.web.results.catalogue.disagreement_flags import is_panel, is_person
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.pages.tables_and_charts_for_templates import MANY, TALL, split_rows
from fullbench.web.words import key

UNIT_WON = key("share won")
SHADES = 6
"""Number of shades for ranks, from first to last."""


@dataclass(frozen=True)
class MatrixCell:
    """One contestant on one judge's board: rank set, metric, interval, n, link to the verdicts."""

    rank: str
    """Empty if the numbers of a task have no rank sets."""
    place: float | None
    """Middle of its rank set, or its place by the metric; None if the board ranks nobody."""
    order: int
    """Row on the board or among the numbers of a task: rank sets overlap, rows do not."""
    metric: str
    interval: str
    n: int
    estimate: Estimate | None
    sort: float
    shade: int
    """0 (first) to `SHADES` - 1 (last); -1 if the board ranks nobody."""
    link: Filter | None


@dataclass(frozen=True)
class MatrixColumn:
    """One column: the judge, the name of its board, and the unit of its metric."""

    judge: str
    board: str
    unit: str
    people: bool
    panel: bool
    is_of_matches: bool = False
    """Whether n of its numbers counts matches. `unit` cannot tell: it is in the language of the page."""


@dataclass(frozen=True)
class Matrix:
    """Contestants by judges for one criterion and one family of ballots."""

    id: str
    criterion: str
    family: str
    columns: Sequence[MatrixColumn]
    rows: Sequence[tuple[str, Sequence[MatrixCell | None]]]
    by_people: bool
    """Rows are in the order of people's board; otherwise the mean of the judges' ranks orders them."""

    @property
    def parts(self) -> Sequence[Sequence[tuple[str, Sequence[MatrixCell | None]]]]:
        """Return the rows shown at once, and those shown on demand."""
        return split_rows(self.rows)

    @property
    def rich(self) -> bool:
        return len(self.rows) >= MANY

    @property
    def tall(self) -> bool:
        return len(self.rows) > TALL


def build_matrices(boards: Iterable[Board]) -> list[Matrix]:
    """Build all matrices of a study, those with the most judges first."""
    groups: dict[tuple[str, str], list[tuple[Board, LinkedTable]]] = {}
    for board in boards:
        for linked_table in board.tables:
            if linked_table.table.name.split(",")[0] == "leaderboard" and linked_table.table.rows:
                family = str(linked_table.table.source.get("family", ""))
                groups.setdefault((board.criterion, family), []).append((board, linked_table))
    unsorted_matrices = [
        _build_matrix(place, group, board_pairs) for place, (group, board_pairs) in enumerate(groups.items())
    ]
    return sorted(unsorted_matrices, key=lambda matrix: -len(matrix.columns))


@dataclass(frozen=True)
class Task:
    """Items with one value of a tag."""

    tag: str
    value: str

    @classmethod
    def from_text(cls, text: str) -> Task | None:
        """Parse `TAG:VALUE` as in URLs. Return None for anything else.

        >>> Task.from_text("task:counting: hard"), Task.from_text("all")
        (Task(tag='task', value='counting: hard'), None)
        """
        tag, separator, value = text.partition(":")
        return cls(tag, value) if separator and tag and value else None

    def __str__(self) -> str:
        return f"{self.tag}:{self.value}"


def task_matrices(boards: Iterable[Board], task: Task) -> list[Matrix]:
    """Build the matrices of one task from the boards' tables by tag, which have no rank sets."""
    groups: dict[tuple[str, str], list[tuple[Board, LinkedTable]]] = {}
    for board in boards:
        for family, linked_table in _tag_tables(board, task.tag).items():
            groups.setdefault((board.criterion, family), []).append((board, linked_table))
    unsorted_matrices = [
        _build_matrix(place, group, board_pairs, task) for place, (group, board_pairs) in enumerate(groups.items())
    ]
    return sorted((matrix for matrix in unsorted_matrices if matrix.rows), key=lambda matrix: -len(matrix.columns))


def _tag_tables(board: Board, tag: str) -> dict[str, LinkedTable]:
    families = {
        str(linked_table.table.source.get("family", ""))
        for linked_table in board.tables
        if linked_table.table.name.startswith("leader")
    }
    tables_by_family: dict[str, LinkedTable] = {}
    for linked_table in board.tables:
        if linked_table.table.source.get("tag") != tag:
            continue
        name_suffix = linked_table.table.name.rpartition(", ")[2]
        family = name_suffix if name_suffix in families else next(iter(families), "")
        if family not in tables_by_family or ("ballot" in linked_table.table.source and family == "score"):
            tables_by_family[family] = linked_table
    return tables_by_family


def _task_metric_column(table: Table, task: Task) -> int | None:
    heads = [str(head) for head in table.columns]
    return next((heads.index(head) for head in (f"{task.tag}: {task.value}", task.value) if head in heads), None)


def _build_matrix(
    place: int, group: tuple[str, str], board_pairs: Sequence[tuple[Board, LinkedTable]], task: Task | None = None
) -> Matrix:
    criterion, family = group
    sorted_pairs = sorted(
        board_pairs,
        key=lambda pair: (
            not is_person(pair[0].judge), is_baseline(pair[0].judge), not is_panel(pair[0].judge), pair[0].judge
        ),
    )  # fmt: skip
    columns: list[MatrixColumn] = []
    cells: list[Mapping[str, MatrixCell]] = []
    for board, linked_table in sorted_pairs:
        metric_column = (
            main_metric_column(linked_table.table) if task is None else _task_metric_column(linked_table.table, task)
        )
        if task is not None and metric_column is None:
            continue
        unit = "" if metric_column is None else str(linked_table.table.typed_columns[metric_column])
        if task is not None:
            unit = str(linked_table.table.source.get("ballot", "")) or UNIT_WON
        metric = "" if metric_column is None else linked_table.table.typed_columns[metric_column].key
        columns.append(
            MatrixColumn(
                board.judge,
                board.name,
                unit,
                is_person(board.judge),
                is_panel(board.judge),
                metric == "rating" if task is None else unit == UNIT_WON,
            )
        )
        cells.append(_cells_by_contestant(linked_table, metric_column, is_ranked=task is None))
    by_people = bool(columns) and columns[0].people
    names = list(dict.fromkeys(name for column in cells for name in column))
    worst = float(len(names) + 1)

    def sort_key(name: str) -> tuple[float, float, str]:
        """People's order, else mean rank; equal mean ranks by mean row."""
        middle = fmean(_rank_or_worst(column, name, worst) for column in cells)
        mean_row = fmean(_row_order(column, name, len(names)) for column in cells)
        return (_row_order(cells[0], name, len(names)), middle, name) if by_people else (middle, mean_row, name)

    names.sort(key=sort_key)
    rows = [(name, [column.get(name) for column in cells]) for name in names]
    return Matrix(f"matrix-{place}", criterion, family, columns, rows, by_people)


def _rank_or_worst(column: Mapping[str, MatrixCell], name: str, worst: float) -> float:
    place = column[name].place if name in column else None
    return worst if place is None else place


def _row_order(column: Mapping[str, MatrixCell], name: str, last: int) -> int:
    return column[name].order if name in column else last


def middle_rank(rank_text: str) -> float | None:
    """Return the middle of a rank set as shown in tables, or None if nothing is ranked.

    >>> middle_rank("2-5"), middle_rank("1"), middle_rank("-")
    (3.5, 1.0, None)
    """
    ends = [float(end) for end in rank_text.split("-") if end.isdigit()]
    return fmean(ends) if ends else None


def main_metric_column(table: Table) -> int | None:
    """Return the metric column with the most values; the first one if several tie."""
    metric_columns = [
        place for place, column in enumerate(table.typed_columns) if column.kind not in {"rank", "name", "fault", "n"}
    ]
    return max(metric_columns, key=lambda place: sum(row[place] is not None for row in table.rows), default=None)


def _cells_by_contestant(
    linked_table: LinkedTable, metric_column: int | None, *, is_ranked: bool = True
) -> dict[str, MatrixCell]:
    table, by_contestant = linked_table.table, {}
    name_column = 1 if is_ranked else 0  # leaderboards start with the rank, tables by tag with the contestant
    cells = () if metric_column is None else table.cells(metric_column)
    values = sorted((cell.value for cell in cells if isinstance(cell, Estimate)), reverse=True)
    digits = 2 if metric_column is None else column_decimals(table.cells(metric_column))
    count = max(1, len(table.rows) - 1)
    for number, row in enumerate(table.rows):
        cell = None if metric_column is None else row[metric_column]
        metric_text, _, interval = ("" if cell is None else format_cell(cell, digits)).partition(" ")
        estimate = cell if isinstance(cell, Estimate) else None
        if not is_ranked and estimate is None:
            continue
        rank = format_cell(row[0]) if is_ranked else ""
        middle = middle_rank(rank) if estimate is None or is_ranked else 1.0 + values.index(estimate.value)
        by_contestant[str(row[name_column])] = MatrixCell(
            rank=rank,
            place=middle,
            order=number if is_ranked or estimate is None else values.index(estimate.value),
            metric=metric_text,
            interval=interval,
            n=0 if estimate is None else estimate.n,
            estimate=estimate,
            sort=float("-inf") if estimate is None else estimate.value,
            shade=-1 if middle is None else round((SHADES - 1) * min(1.0, (middle - 1) / count)),
            link=None if metric_column is None else linked_table.link(number, metric_column),
        )
    return by_contestant


@dataclass(frozen=True)
class BoardSummary:
    """Entry of a board in the first page's list of boards, with its best contestants."""

    name: str
    judge: str
    criterion: str
    verdicts: int
    link: Filter
    first: Sequence[str] | None = None
    """Contestants whose rank set begins with 1, best first; None if nothing is computed yet."""
    contestants: int = 0


def first_places(board: Board) -> tuple[list[str], int]:
    """Return the contestants whose rank set contains 1, in board order, and the number of all contestants."""
    rows = board.tables[0].table.rows if board.tables else ()
    return [str(row[1]) for row in rows if format_cell(row[0]).split("-")[0] == "1"], len(rows)
