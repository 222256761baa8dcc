"""AlpacaEval: judges' preferences between a model's answer and a baseline's on 805 instructions."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fullbench.core.benchmark import Reproduced, Reproduction
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.files.release_rows import released_rows
from fullbench.files.row_readers import read_rows

DRAW = 1.5
PRINTED = ("win_rate", "standard_error", "discrete_win_rate", "avg_length")
_DECIMALS = 6
"""Printed numbers have all digits of a float; more of them are noise."""


@dataclass
class Run:
    """One judge's preferences on one model, from 1 (the baseline) to 2 (the model), answer lengths, printed numbers."""

    baseline: str = ""
    preferences: list[float] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)
    instructions: set[str] = field(default_factory=set)
    unread_count: int = 0
    printed: Mapping[str, float] = field(default_factory=dict)

    def add_preference(self, preference: float | None) -> bool:
        """Add a preference; return False if it is none. None counts as unread, and 0 is a draw in older files."""
        if preference is None:
            self.unread_count += 1
        elif preference and not 1 <= preference <= 2:
            return False
        else:
            self.preferences.append(preference or DRAW)
        return True


Runs = dict[tuple[str, str], Run]


def read_runs(folder: Path) -> Runs:
    """Read all runs of a clone or of our condensed table, by judge and model.

    The release also compares baselines with themselves. An empty preference could not be read.
    """
    if (results := clone_results(folder)) is not None:
        return _read_clone(results)
    runs: Runs = defaultdict(Run)
    for row in released_rows(folder, "annotations.csv"):
        model, baseline = row.text("model"), row.text("baseline")
        run = runs[row.text("annotator"), model]
        instruction = row.text("instruction")
        if instruction in run.instructions:
            raise row.error(f"{model!r} is compared twice on instruction {instruction} by the same judge")
        if run.baseline not in {"", baseline}:
            raise row.error(f"{model!r} is compared with {run.baseline!r} before and with {baseline!r} here")
        run.baseline = baseline
        run.instructions.add(instruction)
        run.lengths.append(row.number("chars_model"))
        preference = row.number("preference") if row.values.get("preference") else None
        if not run.add_preference(preference):
            raise row.error(f"a preference is between 1 and 2, or 0; found {preference}")
    return runs


def clone_results(folder: Path) -> Path | None:
    """Return the folder of results in a clone (`results/MODEL/JUDGE/annotations.json`), or None if this is none."""
    return next((place for place in (folder / "results", folder) if any(place.glob("*/*/annotations.json"))), None)


def _read_clone(results: Path) -> Runs:
    """Read the runs of a clone. A run is what its folder names: the leaderboards in the clone are printed from it."""
    runs: Runs = {}
    printed = _printed_numbers(results.parent)
    for file in sorted(results.glob("*/*/annotations.json")):
        model, judge = file.parts[-3:-1]
        rows = [row for _, row in read_rows(file)]
        run = runs[judge, model] = Run(str(rows[0].get("generator_1")), printed=printed.get((judge, model), {}))
        for line, row in enumerate(rows, 1):
            run.lengths.append(len(str(row.get("output_2") or "")))
            preference = row.get("preference")
            if not run.add_preference(None if preference is None else float(preference)):
                raise InputError(f"a preference is between 1 and 2, or 0; found {preference}", path=file, line=line)
    return runs


def _printed_numbers(clone: Path) -> dict[tuple[str, str], dict[str, float]]:
    """Return the numbers of the leaderboards in a clone, by judge and model."""
    numbers: dict[tuple[str, str], dict[str, float]] = {}
    for file in sorted(clone.glob("src/alpaca_eval/leaderboards/data_AlpacaEval*/*_leaderboard.csv")):
        for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
            cells = {name: float(value) for name, value in row.items() if name in PRINTED and value}
            numbers[file.name.removesuffix("_leaderboard.csv"), row[""]] = cells
    return numbers


def reproduce(data: Path) -> Reproduction:
    """Recompute every leaderboard cell of every run, and count the unread preferences."""
    runs = read_runs(data)
    all_cells = [cell for (judge, model), run in runs.items() for cell in run_cells(f"{judge}/{model}", run)]
    return Reproduction(all_cells, [unread_table(runs)])


def run_cells(name: str, run: Run) -> Iterator[Reproduced]:
    """Yield the win rate (graded and discrete), its standard error, counts and mean length."""
    n = len(run.preferences)
    rate, error = mean_and_error([preference - 1 for preference in run.preferences])
    wins = sum(preference > DRAW for preference in run.preferences)
    draws = sum(preference == DRAW for preference in run.preferences)
    half = 1.959964 * error
    estimate = Estimate(100 * rate, 100 * (rate - half), 100 * (rate + half), n, method="normal")
    values: list[tuple[str, float | list[int], int, Estimate | None]] = [
        ("win_rate", 100 * rate, n, estimate),
        ("standard_error", 100 * error, n, None),
        ("discrete_win_rate", 100 * (wins + draws / 2) / n, n, None),
        ("counts", [wins, n - wins - draws, draws, n], n, None),
        ("avg_length", math.floor(sum(run.lengths) / len(run.lengths)), len(run.lengths), None),
    ]
    for metric, value, count, interval in values:
        printed = run.printed.get(metric)
        yield Reproduced(f"{name}/{metric}", value, count, "", interval, paper=printed, decimals=_DECIMALS)


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error from the sample variance.

    >>> mean_and_error([0.0, 1.0])
    (0.5, 0.5)
    """
    mean = math.fsum(values) / len(values)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, math.sqrt(variance / len(values))


def unread_table(runs: Runs) -> Table:
    """List runs with unread preferences; these are left out of the rates, not counted as losses."""
    table: list[list[Cell]] = [
        [judge, model, run.unread_count, len(run.lengths)] for (judge, model), run in runs.items() if run.unread_count
    ]
    return Table(
        "unread",
        Note("reproduce.alpaca-eval.title.preferences-that-could-not-be"),
        table_columns("judge", "model", "unread", "of"),
        table,
    )
