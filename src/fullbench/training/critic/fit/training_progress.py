"""How training goes, for people: a bar with loss, speed and time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from fullbench.studies.run.progress_display import bars, clock
from fullbench.training.critic.fit.training_loop import Watch

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_EVERY = 5.0


class Pace:
    """Tokens a second and the time left, from the steps of this process alone: what a resumed run did before is no
    measure of it."""

    def __init__(self) -> None:
        self._tokens = self._steps = 0
        self._seconds = 0.0

    def step(self, tokens: int, seconds: float) -> None:
        self._tokens += tokens
        self._steps += 1
        self._seconds += seconds

    def told(self, done: int, steps: int) -> tuple[str, str]:
        """The speed and the time left, in words."""
        spent = max(self._seconds, 1e-9)
        return f"{self._tokens / spent:,.0f} tokens/s", clock(spent / self._steps * (steps - done))


class LineWatch:
    """A line every few seconds, for logs and pipes; the last step always has one."""

    def __init__(self, out: IO[str], every: float = _EVERY) -> None:
        self._out, self._every, self._pace = out, every, Pace()
        self._last = time.monotonic()

    def step(self, done: int, steps: int, loss: float, tokens: int, seconds: float) -> None:
        self._pace.step(tokens, seconds)
        now = time.monotonic()
        if now - self._last < self._every and done < steps:
            return
        self._last = now
        speed, left = self._pace.told(done, steps)
        self._out.write(f"training: {done:,} of {steps:,} steps, loss {loss:.4f}, {speed}, about {left} left\n")
        self._out.flush()


class LiveWatch:
    """A bar."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._pace = progress, Pace()
        self._task: TaskID | None = None

    def step(self, done: int, steps: int, loss: float, tokens: int, seconds: float) -> None:
        self._pace.step(tokens, seconds)
        speed, left = self._pace.told(done, steps)
        if self._task is None:
            self._task = self._progress.add_task("training", total=steps, loss="", speed="", left="")
        self._progress.update(self._task, completed=done, loss=f"loss {loss:.4f}", speed=speed, left=f"{left} left")


@contextmanager
def watching(*, quiet: bool = False) -> Iterator[Watch | None]:
    """A watch that suits where standard error goes."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield LineWatch(sys.stderr)
        return
    texts = ("[yellow]{task.fields[loss]}", "{task.fields[speed]}", "{task.fields[left]}")
    with bars(*texts, foretold=False) as progress:
        yield LiveWatch(progress)
