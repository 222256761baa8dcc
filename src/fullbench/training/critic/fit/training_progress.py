"""Training progress: a bar with loss, speed and time left on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import IO, TYPE_CHECKING

from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.files.row_readers import read_rows
from fullbench.studies.run.progress_display import format_duration, progress_bars
from fullbench.training.critic.fit.training_loop import Watch

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_EVERY = 5.0


class Pace:
    """Tokens per second and time left, measured in this process only: an earlier run may have had another speed."""

    def __init__(self) -> None:
        self._tokens = self._steps = 0
        self._seconds = 0.0

    def step(self, tokens: int, seconds: float) -> None:
        self._tokens += tokens
        self._steps += 1
        self._seconds += seconds

    def speed_and_time_left(self, finished_steps: int, steps: int) -> tuple[str, str]:
        """Return the speed and the time left as text."""
        seconds = max(self._seconds, 1e-9)
        return f"{self._tokens / seconds:,.0f} tokens/s", format_duration(
            seconds / self._steps * (steps - finished_steps)
        )


class LineWatch:
    """Progress as a line every few seconds, for logs and pipes; the last step always has one."""

    def __init__(self, out: IO[str], every: float = _EVERY) -> None:
        self._out, self._every, self._pace = out, every, Pace()
        self._last = time.monotonic()

    def step(self, finished_steps: int, steps: int, loss: float, tokens: int, seconds: float) -> None:
        self._pace.step(tokens, seconds)
        now = time.monotonic()
        if now - self._last < self._every and finished_steps < steps:
            return
        self._last = now
        speed, left = self._pace.speed_and_time_left(finished_steps, steps)
        self._out.write(
            f"training: {finished_steps:,} of {steps:,} steps, loss {loss:.4f}, {speed}, about {left} left\n"
        )
        self._out.flush()


class LiveWatch:
    """Progress as a bar."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._pace = progress, Pace()
        self._task: TaskID | None = None

    def step(self, finished_steps: int, steps: int, loss: float, tokens: int, seconds: float) -> None:
        self._pace.step(tokens, seconds)
        speed, left = self._pace.speed_and_time_left(finished_steps, steps)
        if self._task is None:
            self._task = self._progress.add_task("training", total=steps, loss="", speed="", left="")
        self._progress.update(
            self._task, completed=finished_steps, loss=f"loss {loss:.4f}", speed=speed, left=f"{left} left"
        )


@contextmanager
def watch_training(*, quiet: bool = False) -> Iterator[Watch | None]:
    """Yield the watch for standard error: a bar on a terminal, lines elsewhere, None if quiet."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield LineWatch(sys.stderr)
        return
    texts = ("[yellow]{task.fields[loss]}", "{task.fields[speed]}", "{task.fields[left]}")
    with progress_bars(*texts, shows_time_left=False) as progress:
        yield LiveWatch(progress)


MAX_ROWS = 40
"""Enough rows to show the shape of the curve, few enough to read."""


def loss_table(folder: Path) -> Table | None:
    """Return the mean loss over stretches of equally many steps, or None without losses (a light critic)."""
    file = folder / "run" / "losses.jsonl"
    if not file.exists():
        return None
    losses = [row for _, row in read_rows(file)]
    stretches = min(MAX_ROWS, len(losses))
    rows: list[list[Cell]] = []
    for index in range(stretches):
        stretch = losses[index * len(losses) // stretches : (index + 1) * len(losses) // stretches]
        tokens, seconds = sum(int(step["tokens"]) for step in stretch), sum(float(step["seconds"]) for step in stretch)
        rows.append([
            int(stretch[-1]["step"]) + 1, fmean(float(step["loss"]) for step in stretch), float(stretch[-1]["lr"]),
            tokens / max(seconds, 1e-9),
        ])  # fmt: skip
    note = Note("training.critic.learning.steps", steps=len(losses), n=len(rows))
    columns = table_columns("step number", "mean loss", "learning rate", "tokens a second")
    hint = {"kind": "lines", "x": "step number", "columns": ["mean loss"]}
    title = Note("training.critic.learning.title")
    return Table("learning", title, columns, rows, [note], {}, hint)
