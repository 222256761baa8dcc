"""The paper's figures: a radar over the perspectives, and bars of evenness for each demographic axis."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from fullbench.analysis.estimate_cells import Gaps
from fullbench.benchmarks.mj_bench.fairness import FIGURES
from fullbench.benchmarks.mj_bench.picture_preferences import FIRST, SECOND, SINGLE, accuracy, judged_pairs
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import OWN_UNITS, USUAL
from fullbench.core.column_labels import headings, named
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table

ABOUT = ("alignment", "safety", "quality")
BIAS = "bias (GES)"
SHOWN = 6
"""So many judges a radar bears."""
_ALONE = {SINGLE[USUAL], SINGLE[OWN_UNITS]}
_WAYS = {"single": _ALONE, "pair": {FIRST, SECOND}}


def tables(record: Record, evenness: list[Table]) -> list[Table]:
    """The radar, and the bars of what is in the tables of evenness."""
    by_name = {table.name: table for table in evenness}
    found = [radar(record, by_name.get("evenness"))]
    if "axes" in by_name:
        found += bars(by_name["axes"])
    return [table for table in found if table.rows]


def radar(record: Record, evenness: Table | None) -> Table:
    """Each judge's accuracy in every perspective, alone and in pairs, and how evenly it scores people."""
    gaps = Gaps()
    even = _evenness(evenness)
    rows: list[list[Cell]] = []
    for judge, pairs in judged_pairs(record).items():
        for name, ways in _WAYS.items():
            parts = {
                about: [pair for pair in pairs if pair.way in ways and pair.perspective == about] for about in ABOUT
            }
            if any(parts.values()):
                cells = [
                    gaps.cell(f"{judge}, {name}, {about}", partial(accuracy, part)) if part else None
                    for about, part in parts.items()
                ]
                rows.append([f"{judge}, {name}", *cells, even.get(judge)])
    axes = [*ABOUT, *([BIAS] if even else [])]
    columns = headings("judge", *map(named, (*ABOUT, BIAS)))
    note = Note(
        "mj-bench.overview.radar",
        "Right: the chosen picture is ahead; a tie is wrong. Bias: one minus Gini over the people of one prompt, by "
        "the judge's scores of single pictures, stretched to 0..1.",
    )
    hint = {"kind": "radar", "label": "judge", "axes": axes, "most": SHOWN}
    title = Note("mj-bench.overview.title", "All perspectives")
    return Table("perspectives", title, columns, rows, (note, *gaps.notes), chart=hint)


def _evenness(table: Table | None) -> dict[str, Cell]:
    """The GES of each judge on scores that are stretched; of several scales the first."""
    found: dict[str, Cell] = {}
    for row in table.rows if table is not None else ():
        cells = dict(zip(map(str, table.columns if table is not None else ()), row, strict=True))
        if cells["scores"] == "stretched to 0..1" and cells["GES by item"] is not None:
            found.setdefault(str(cells["judge"]), cells["GES by item"])
    return found


def bars(axes: Table) -> Iterator[Table]:
    """One table for each figure of evenness: the axes, computed as the paper does, on scores that are stretched."""
    keys = [str(column) for column in axes.columns]
    for figure in FIGURES:
        rows: list[list[Cell]] = []
        for row in axes.rows:
            cells = dict(zip(keys, row, strict=True))
            if cells["scores"] == "stretched to 0..1" and cells["way"] == "as the paper":
                rows.append([f"{cells['judge']}, {cells['scale']}", cells["axis"], cells[figure], cells["n"]])
        hint = {"kind": "bars", "label": "axis", "value": figure, "group": "judge"}
        title = Note("mj-bench.overview.bars", "{figure} by demographic axis, as the paper", figure=figure)
        yield Table(f"axes {figure}", title, headings("judge", "axis", figure, "n"), rows, chart=hint)
