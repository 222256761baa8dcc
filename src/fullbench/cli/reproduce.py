"""`fullbench reproduce`: published figures, computed again from the data their authors released."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from fullbench.cli.options import JsonOption, say, show
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.reproduction import Reproduced
from fullbench.core.table import Cell, Table


def reproduce(
    name: Annotated[str, typer.Argument(help="The benchmark, as `fullbench list` shows it.")],
    data: Annotated[Path, typer.Option(help="The folder with the data that the authors released.")],
    out: Annotated[Path | None, typer.Option(help="Write all cells here, as JSON.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compute a paper's figures again from its released data, and put them beside what was printed.

    Nothing is asked of any model. What was odd in the data, and what was done about it, is said in a table of its own.

    Examples:

        fullbench reproduce mllm-as-a-judge --data mllm-as-a-judge --out cells.json
    """
    import json

    from fullbench.errors import InputError
    from fullbench.files.writers import replacing
    from fullbench.plugin_registry import benchmark as benchmark_named

    benchmark = benchmark_named(name)
    if benchmark.reproduce is None:
        raise InputError(f"the benchmark {name!r} reproduces no published figures: it has no 'reproduce'")
    reproduction = benchmark.reproduce(data)
    written = json.dumps({"cells": [cell.cell for cell in reproduction.cells]}, ensure_ascii=False, indent=1) + "\n"
    if out is not None:
        with replacing(out) as part:
            part.write_text(written, encoding="utf-8")
        say(f"Written: {out} ({len(reproduction.cells)} cells)")
    if as_json:
        typer.echo(written, nl=False)
        return
    show([*reproduction.tables, *tables(name, reproduction.cells)], as_json=False)


def tables(name: str, cells: Sequence[Reproduced]) -> list[Table]:
    """The one figure that stands for each cell beside the printed one, a table for each kind of figure.

    A cell that is a number says its kind in its id: in the first part or the last, whichever makes fewer tables.
    """
    shown = [cell for cell in cells if isinstance(cell.shown, int | float) and cell.basis == "data"]
    ends = [(cell.id.partition("/")[0], cell.id.rpartition("/")[2]) for cell in shown if not cell.figure]
    place = min((0, 1), key=lambda place: len({end[place] for end in ends}))
    groups: dict[str, list[Reproduced]] = {}
    for cell in shown:
        kind = cell.figure.rpartition(".")[2] or (cell.id.partition("/")[0], cell.id.rpartition("/")[2])[place]
        groups.setdefault(kind, []).append(cell)
    made = [_table(name, figure, group) for figure, group in groups.items()]
    restated = [cell for cell in cells if isinstance(cell.shown, int | float) and cell.basis == "printed"]
    return [*made, _restated(name, restated)] if restated else made


def _restated(name: str, cells: Sequence[Reproduced]) -> Table:
    """Cells that follow from printed figures: they show that the paper holds together, and agree with no data."""
    rows: list[list[Cell]] = []
    for cell in cells:
        gap = None if cell.paper is None else cell.shown - cell.paper
        rows.append([cell.id, cell.shown, cell.paper, gap, cell.n])
    note = Note(
        "cli.reproduce.printed",
        "{n} figures are computed from other printed figures, not from data: they show whether the paper holds "
        "together, and are not counted as agreeing.",
        n=len(cells),
    )
    title = Note("cli.reproduce.title.printed", "{name}: what only restates printed tables", name=name)
    return Table(f"{name} printed", title, headings("cell", "from printed", "printed", "gap", "n"), rows, [note])


def _table(name: str, figure: str, cells: Sequence[Reproduced]) -> Table:
    rows: list[list[Cell]] = []
    gaps: list[float] = []
    agree = 0
    usual = _decimals([cell.paper for cell in cells if cell.decimals is None])
    for cell in cells:
        gap = None if cell.paper is None else cell.shown - cell.paper
        if gap is not None:
            gaps.append(abs(gap))
            agree += abs(gap) <= _rounding(usual if cell.decimals is None else cell.decimals)
        rows.append([cell.id, cell.estimate or cell.shown, cell.paper, gap, (cell.estimate or cell).n])
    notes = []
    if gaps:
        notes.append(
            Note(
                "cli.reproduce.of-printed-figures-agree-with",
                "{agree} of {n} printed figures agree with ours to the last digit printed.",
                agree=agree,
                n=len(gaps),
            )
        )
        notes.append(
            Note(
                "cli.reproduce.the-largest-difference-from-a",
                "The largest difference from a printed figure is {gaps:.3f}.",
                gaps=max(gaps),
            )
        )
    columns = headings("cell", "ours", "printed", "gap", "n")
    return Table(
        f"{name} {figure}",
        Note("cli.reproduce.title.computed-again", "{name}, computed again: {figure}", name=name, figure=figure),
        columns,
        rows,
        notes,
    )


def _decimals(printed: Sequence[float | None]) -> int:
    """How many decimals the longest of some printed figures has: the others may have lost a zero at their end.

    >>> _decimals([57.2, 60.0, None]), _decimals([49.2, 31.17]), _decimals([None])
    (1, 2, 0)
    """
    figures = [figure for figure in printed if figure is not None]
    return max((len(f"{figure:.10f}".rstrip("0").partition(".")[2]) for figure in figures), default=0)


def _rounding(decimals: int) -> float:
    """How far a figure may lie from one that was printed with so many decimals; a hair more, since both are binary."""
    return 0.5 * 10.0**-decimals * (1 + 1e-6) + (1e-8 if decimals < 7 else 0.0)
