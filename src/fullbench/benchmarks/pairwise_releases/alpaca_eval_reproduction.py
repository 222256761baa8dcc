"""AlpacaEval: judges' preferences between a model's answer and a baseline's on 805 instructions."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.reproduced_numbers_and_loaded_data import Reproduced, Reproduction
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.files.release_rows import released_rows

DRAW = 1.5


@dataclass
class Run:
    """One judge's preferences on one model, from 1 (the baseline) to 2 (the model), and answer lengths."""

    baseline: str = ""
    preferences: list[float] = field(default_factory=list)
    lengths: list[float] = field(default_factory=list)
    instructions: set[str] = field(default_factory=set)
    unread_count: int = 0


Runs = dict[tuple[str, str], Run]


def read_runs(folder: Path) -> Runs:
    """Read all runs, by judge and model; the release also compares baselines with themselves.

    In older files a preference of 0 means a draw. An empty preference could not be read.
    """
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
        if not row.values.get("preference"):
            run.unread_count += 1
            continue
        preference = row.number("preference")
        if preference and not 1 <= preference <= 2:
            raise row.error(f"a preference lies between 1 and 2, or is 0; found {preference}")
        run.preferences.append(preference or DRAW)
    return runs


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
    yield Reproduced(f"{name}/win_rate", 100 * rate, n, "", estimate)
    yield Reproduced(f"{name}/standard_error", 100 * error, n)
    yield Reproduced(f"{name}/discrete_win_rate", 100 * (wins + draws / 2) / n, n)
    yield Reproduced(f"{name}/counts", [wins, n - wins - draws, draws, n], n)
    yield Reproduced(f"{name}/avg_length", math.floor(sum(run.lengths) / len(run.lengths)), len(run.lengths))


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
