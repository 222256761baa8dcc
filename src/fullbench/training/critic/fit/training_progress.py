"""Training progress: a bar with loss, speed and time left on a terminal, occasional lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

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
