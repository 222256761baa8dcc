"""`fullbench reproduce`: published numbers, recomputed from released data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.console import print_message, print_tables
from fullbench.cli.shared_options_and_run_output import JsonOption, argument, option
from fullbench.core.benchmark import Reproduced
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError


def reproduce(
    name: Annotated[str, argument("Benchmark, as `fullbench list` shows it.")],
    data: Annotated[Path, option("Folder with the data that `fullbench list` names.")],
    out: Annotated[Path | None, option("JSON file for all cells.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compute a paper's published numbers again from its released data, and compare them.

    Examples:

        fullbench reproduce mllm-as-a-judge --data mllm-as-a-judge --out cells.json
    """
    import json

    from fullbench.files.release_rows import MissingReleaseFile
    from fullbench.files.row_writers import replace_atomically
    from fullbench.plugin_specs import load_benchmark as benchmark_named

    benchmark = benchmark_named(name)
    if benchmark.reproduce is None:
        raise InputError(f"The benchmark {name!r} reproduces no published numbers: it has no 'reproduce'.")
    try:
        reproduction = benchmark.reproduce(data)
    except MissingReleaseFile as error:
        what = benchmark.reproduce_from
        raise InputError(
            f"{data}: this folder lacks {error.path and error.path.name}. `reproduce {name}` reads {what}."
        ) from error
    cells_json = json.dumps({"cells": [cell.cell for cell in reproduction.cells]}, ensure_ascii=False, indent=1) + "\n"
    if out is not None:
        with replace_atomically(out) as part:
            part.write_text(cells_json, encoding="utf-8")
        print_message(f"Written: {out} ({len(reproduction.cells)} cells)")
    if as_json:
        typer.echo(cells_json, nl=False)
        return
    print_tables([*reproduction.tables, *comparison_tables(name, reproduction.cells)], as_json=False)


def comparison_tables(name: str, cells: Sequence[Reproduced]) -> list[Table]:
    """Return tables of recomputed and printed numbers, one for each metric.

    The metric is the first or last part of the id of a cell, whichever gives fewer tables.
    """
    numeric_cells = [cell for cell in cells if isinstance(cell.table_value, int | float) and cell.basis == "data"]
    ends = [(cell.id.partition("/")[0], cell.id.rpartition("/")[2]) for cell in numeric_cells if not cell.metric]
    position = min((0, 1), key=lambda position: len({end[position] for end in ends}))
    groups: dict[str, list[Reproduced]] = {}
    for cell in numeric_cells:
        kind = cell.metric.rpartition(".")[2] or (cell.id.partition("/")[0], cell.id.rpartition("/")[2])[position]
        groups.setdefault(kind, []).append(cell)
    metric_tables = [_comparison_table(name, metric, group) for metric, group in groups.items()]
    restated_cells = [cell for cell in cells if isinstance(cell.table_value, int | float) and cell.basis == "printed"]
    return [*metric_tables, _restated_table(name, restated_cells)] if restated_cells else metric_tables


def _restated_table(name: str, cells: Sequence[Reproduced]) -> Table:
    """Return the cells that follow from printed numbers, not from data."""
    rows: list[list[Cell]] = []
    for cell in cells:
        gap = None if cell.paper is None else cell.table_value - cell.paper
        rows.append([cell.id, cell.table_value, cell.paper, gap, cell.n])
    note = Note("cli.reproduce.printed", n=len(cells))
    title = Note("cli.reproduce.title.printed", name=name)
    return Table(f"{name} printed", title, table_columns("cell", "from printed", "printed", "gap", "n"), rows, [note])


def _comparison_table(name: str, metric: str, cells: Sequence[Reproduced]) -> Table:
    rows: list[list[Cell]] = []
    gaps: list[float] = []
    agree_count = 0
    default_decimals = _count_decimals([cell.paper for cell in cells if cell.decimals is None])
    for cell in cells:
        gap = None if cell.paper is None else cell.table_value - cell.paper
        if gap is not None:
            gaps.append(abs(gap))
            agree_count += abs(gap) <= _rounding_tolerance(default_decimals if cell.decimals is None else cell.decimals)
        rows.append([cell.id, cell.estimate or cell.table_value, cell.paper, gap, (cell.estimate or cell).n])
    notes = []
    if gaps:
        notes.append(Note("cli.reproduce.of-printed-figures-agree-with", agree=agree_count, n=len(gaps)))
        notes.append(Note("cli.reproduce.the-largest-difference-from-a", gaps=max(gaps)))
    columns = table_columns("cell", "ours", "printed", "gap", "n")
    return Table(
        f"{name} {metric}", Note("cli.reproduce.title.computed-again", name=name, figure=metric), columns, rows, notes
    )


def _count_decimals(printed_numbers: Sequence[float | None]) -> int:
    """Return the largest number of decimals: other numbers may have lost a zero at the end.

    >>> _count_decimals([57.2, 60.0, None]), _count_decimals([49.2, 31.17]), _count_decimals([None])
    (1, 2, 0)
    """
    numbers = [number for number in printed_numbers if number is not None]
    return max((len(f"{number:.10f}".rstrip("0").partition(".")[2]) for number in numbers), default=0)


def _rounding_tolerance(decimals: int) -> float:
    """Return the tolerance for a number printed with these decimals, slightly larger because both are binary."""
    return 0.5 * 10.0**-decimals * (1 + 1e-6) + (1e-8 if decimals < 7 else 0.0)
