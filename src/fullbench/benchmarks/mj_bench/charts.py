"""Charts as in the paper: a radar over the perspectives, and bars of evenness for each demographic axis."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fullbench.analysis.estimate_cells import Gaps
from fullbench.benchmarks.mj_bench.fairness import EVENNESS_METRICS
from fullbench.benchmarks.mj_bench.picture_preferences import FIRST, SECOND, SINGLE_WAYS, judged_pairs, pair_accuracy
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import OWN_UNITS, USUAL_SCALE
from fullbench.core.column_labels import data_column, table_columns
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table

RADAR_PERSPECTIVES = ("alignment", "safety", "quality")
BIAS = "bias (GES)"
RADAR_JUDGES = 6
"""Largest number of judges in a radar chart."""
_SINGLE_WAYS = {SINGLE_WAYS[USUAL_SCALE], SINGLE_WAYS[OWN_UNITS]}
_WAYS = {"single": _SINGLE_WAYS, "pair": {FIRST, SECOND}}


def chart_tables(record: Record, evenness: list[Table]) -> list[Table]:
    """Return the radar, and the bars for the evenness tables."""
    by_name = {table.name: table for table in evenness}
    charts = [radar_table(record, by_name.get("evenness"))]
    if "axes" in by_name:
        charts += evenness_bar_tables(by_name["axes"])
    return [table for table in charts if table.rows]


def radar_table(record: Record, evenness: Table | None) -> Table:
    """Return each judge's accuracy per perspective, on single pictures and pairs, and its evenness (GES)."""
    gaps = Gaps()
    ges_by_judge = _ges_by_judge(evenness)
    rows: list[list[Cell]] = []
    for judge, pairs in judged_pairs(record).items():
        for name, ways in _WAYS.items():
            parts = {
                about: [pair for pair in pairs if pair.way in ways and pair.perspective == about]
                for about in RADAR_PERSPECTIVES
            }
            if any(parts.values()):
                cells = [
                    gaps.cell(f"{judge}, {name}, {about}", partial(pair_accuracy, part)) if part else None
                    for about, part in parts.items()
                ]
                rows.append([f"{judge}, {name}", *cells, ges_by_judge.get(judge)])
    axes = [*RADAR_PERSPECTIVES, *([BIAS] if ges_by_judge else [])]
    columns = table_columns("judge", *map(data_column, (*RADAR_PERSPECTIVES, BIAS)))
    note = Note("mj-bench.overview.radar")
    hint = {"kind": "radar", "label": "judge", "axes": axes, "most": RADAR_JUDGES}
    title = Note("mj-bench.overview.title")
    return Table("perspectives", title, columns, rows, (note, *gaps.notes), chart=hint)


def _ges_by_judge(table: Table | None) -> dict[str, Cell]:
    ges_cells: dict[str, Cell] = {}
    for row in table.rows if table is not None else ():
        cells = dict(zip(map(str, table.columns if table is not None else ()), row, strict=True))
        if cells["scores"] == "stretched to 0..1" and cells["GES by item"] is not None:
            ges_cells.setdefault(str(cells["judge"]), cells["GES by item"])
    return ges_cells


def evenness_bar_tables(axes: Table) -> Iterator[Table]:
    """Yield one table per evenness metric over the axes, computed as in the paper on stretched scores."""
    keys = [str(column) for column in axes.columns]
    for metric in EVENNESS_METRICS:
        rows: list[list[Cell]] = []
        for row in axes.rows:
            cells = dict(zip(keys, row, strict=True))
            if cells["scores"] == "stretched to 0..1" and cells["way"] == "as the paper":
                rows.append([f"{cells['judge']}, {cells['scale']}", cells["axis"], cells[metric], cells["n"]])
        hint = {"kind": "bars", "label": "axis", "value": metric, "group": "judge"}
        title = Note("mj-bench.overview.bars", figure=metric)
        yield Table(f"axes {metric}", title, table_columns("judge", "axis", metric, "n"), rows, chart=hint)
