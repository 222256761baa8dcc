"""Interval chart of the first page: a row per contestant, a layer per source (people, corrected, each judge)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fullbench.analysis.summary.judge_trust import is_baseline
from fullbench.analysis.summary.leading_contestants_in_tiers import parse_rank, tiers_of_ranks
from fullbench.core.estimate import Estimate
from fullbench.core.table import Table
from fullbench.reports.cell_text import column_decimals, format_cell
from fullbench.reports.table_cell_bars_and_sort_values import Axis, shortest_axis
from fullbench.web.results.boards.contestants_by_judges_matrix import Matrix
from fullbench.web.results.lists.verdict_filters import Filter
from fullbench.web.results.pages.tables_and_charts_for_templates import MANY, split_rows

MAX_LAYERS = 12
"""Layers that a page can switch without a script (see results.css)."""
CORRECTED = "corrected"


@dataclass(frozen=True)
class Layer:
    """One source of numbers; `is_shown` at first. `judge` is empty for people and corrected numbers."""

    number: int
    kind: str
    """`people`, `corrected`, `judge` or `baseline`."""
    judge: str = ""
    is_shown: bool = False


@dataclass(frozen=True)
class Lane:
    """The number of one contestant in one layer; `bar` is low, value and high in percent of the axis."""

    layer: Layer
    text: str
    interval: str
    n: int
    bar: tuple[float, float, float] | None
    link: Filter | None
    verdicts: int | None


@dataclass(frozen=True)
class ChartRow:
    """One contestant. `tier` is None if it has no rank; `opens_tier` marks the first row of a tier."""

    contestant: str
    tier: int | None
    opens_tier: bool
    lanes: Sequence[Lane]

    @property
    def n(self) -> int:
        """Return the largest number of observations of a layer."""
        return max((lane.n for lane in self.lanes), default=0)


@dataclass(frozen=True)
class IntervalChart:
    """All rows in order, the layers, and their common axis."""

    layers: Sequence[Layer] = ()
    rows: Sequence[ChartRow] = ()
    axis: Axis | None = None
    tiers: int = 0
    more_judges: int = 0
    """Judges without a layer."""
    is_of_matches: bool = False
    judge_of_tiers: str = ""
    """Judge from whose ranks the tiers come; empty for people and corrected numbers."""

    @property
    def parts(self) -> Sequence[Sequence[ChartRow]]:
        """Return the rows shown at once, and those shown on demand."""
        return split_rows(self.rows)

    @property
    def is_rich(self) -> bool:
        return len(self.rows) >= MANY


@dataclass(frozen=True)
class _SummaryRows:
    """Tiers, order and corrected numbers of one criterion in the study's summary."""

    tiers: Mapping[str, int | None]
    corrected: Mapping[str, Estimate]
    by_judge: Mapping[tuple[str, str], Estimate] = field(default_factory=dict)

    def fits(self, matrix: Matrix) -> bool:
        """Return True if the summary of this criterion is of the matrix's kind of ballots: a number is equal."""
        return any(
            cell is not None and cell.estimate == self.by_judge.get((name, _summary_head(column.judge, column.people)))
            for name, cells in matrix.rows
            for column, cell in zip(matrix.columns, cells, strict=True)
            if cell is not None and cell.estimate is not None
        )


def _summary_head(judge: str, is_people: bool) -> str:
    return "people" if is_people else judge


def summary_rows(summary: Sequence[Table], criterion: str) -> _SummaryRows | None:
    """Return the rows of the summary's first table that belong to a criterion, or None."""
    if not summary or summary[0].place("tier") is None:
        return None
    table = summary[0]
    keys = [column.key for column in table.typed_columns]
    rows = [dict(zip(keys, row, strict=True)) for row in table.rows]
    if "criterion" in keys:
        rows = [row for row in rows if str(row["criterion"]) == criterion]
    names = [str(row["contestant"]) for row in rows]
    tiers = {
        name: int(str(row["tier"])) if row["tier"] is not None else None for name, row in zip(names, rows, strict=True)
    }
    estimates = {
        (name, key): cell
        for name, row in zip(names, rows, strict=True)
        for key, cell in row.items()
        if isinstance(cell, Estimate)
    }
    corrected = {name: cell for (name, key), cell in estimates.items() if key == CORRECTED}
    return _SummaryRows(tiers, corrected, estimates)


def build_interval_chart(matrix: Matrix, summary: Sequence[Table], counts: Mapping[Filter, int]) -> IntervalChart:
    """Build the chart of one matrix. Tiers and corrected numbers are those of the summary, if it is of these ballots.

    Args:
        matrix: Contestants by judges.
        summary: The study's summary; empty for the numbers of one task, which have no tiers.
        counts: Number of verdicts behind each link.
    """
    rows_of_summary = summary_rows(summary, matrix.criterion)
    if rows_of_summary is not None and not rows_of_summary.fits(matrix):
        rows_of_summary = None
    corrected = rows_of_summary.corrected if rows_of_summary else {}
    columns = [column for column in matrix.columns if not column.panel] or list(matrix.columns)
    layers = [
        Layer(0, "people" if column.people else "baseline" if is_baseline(column.judge) else "judge", column.judge)
        for column in columns
    ]
    if corrected:
        place = sum(layer.kind == "people" for layer in layers)
        layers.insert(place, Layer(0, CORRECTED))
    shown = {0, 1} if corrected and len(layers) > 1 else {0}
    numbered = [replace(layer, number=number, is_shown=number in shown) for number, layer in enumerate(layers)]
    tiers, order, judge_of_tiers = _tiers_and_order(matrix, rows_of_summary)
    cells = {
        (name, column.judge): cell
        for name, row in matrix.rows
        for column, cell in zip(matrix.columns, row, strict=True)
        if cell is not None and cell.estimate is not None
    }
    estimates = {
        (name, layer.number): corrected.get(name)
        if layer.kind == CORRECTED
        else cell.estimate
        if (cell := cells.get((name, layer.judge)))
        else None
        for name in order
        for layer in numbered[:MAX_LAYERS]
    }
    axis = shortest_axis([estimate for estimate in estimates.values() if estimate is not None])
    digits = column_decimals([estimate for estimate in estimates.values() if estimate is not None])
    rows: list[ChartRow] = []
    for name in order:
        lanes = []
        for layer in numbered[:MAX_LAYERS]:
            estimate = estimates[name, layer.number]
            if estimate is None:
                continue
            text, _, interval = format_cell(estimate, digits).partition(" ")
            link = None if layer.kind == CORRECTED else cells[name, layer.judge].link
            bar = (
                None
                if axis is None
                else (axis.place(estimate.low), axis.place(estimate.value), axis.place(estimate.high))
            )
            lanes.append(Lane(layer, text, interval, estimate.n, bar, link, counts.get(link) if link else None))
        tier = tiers.get(name)
        rows.append(ChartRow(name, tier, not rows or rows[-1].tier != tier, lanes))
    count = max((tier for tier in tiers.values() if tier is not None), default=0)
    more = max(0, len(numbered) - MAX_LAYERS)
    is_of_matches = any(column.is_of_matches for column in columns)
    return IntervalChart(numbered[:MAX_LAYERS], rows, axis, count, more, is_of_matches, judge_of_tiers)


def _tiers_and_order(
    matrix: Matrix, rows_of_summary: _SummaryRows | None
) -> tuple[Mapping[str, int | None], Sequence[str], str]:
    """Return the tier of each contestant, the order of rows, and the judge whose ranks give the tiers."""
    names = [name for name, _ in matrix.rows]
    if rows_of_summary is not None:
        tiers = rows_of_summary.tiers
        places = {name: place for place, name in enumerate(tiers)}
        return tiers, sorted(names, key=lambda name: places.get(name, len(places))), ""
    first = matrix.columns[0]
    ranks = {
        name: parse_rank(cell.rank) if (cell := cells[0]) is not None and cell.rank[:1].isdigit() else None
        for name, cells in matrix.rows
    }
    tiers = dict(zip(names, tiers_of_ranks(list(ranks.values())), strict=True))
    last = len(names) + 1
    orders = {name: last if (cell := cells[0]) is None else cell.order for name, cells in matrix.rows}
    in_order = sorted(names, key=lambda name: (tiers[name] or last, orders[name]))
    return tiers, in_order, "" if first.people else first.judge
