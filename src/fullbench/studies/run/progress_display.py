"""How it goes, for people: a live display on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from fullbench.core.call import Usage
from fullbench.studies.engines import Tally, Watch
from fullbench.text_safety import terminal

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_EVERY = 5.0
_REDRAW = 0.1
_RATED = 0.05
"""Seconds that a pace takes to be one: of the first that came back nobody knows how fast it was."""


def money(usage: Usage) -> str:
    """Dollars in as many digits as they need; `price unknown` where they are.

    >>> money(Usage(dollars=0.01234)), money(Usage(dollars=None)), money(Usage())
    ('$0.0123', 'price unknown', '$0.00')
    """
    if usage.dollars is None:
        return "price unknown"
    return f"${usage.dollars:.2f}" if usage.dollars >= 1 or not usage.dollars else f"${usage.dollars:.4f}"


def clock(seconds: float) -> str:
    """Seconds as people say them.

    >>> clock(4.2), clock(75), clock(7322)
    ('4 s', '1 min 15 s', '2 h 2 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def wrong(tallies: Iterable[Tally]) -> str:
    """Faults by kind, and calls that failed.

    >>> wrong([Tally("a", faults=Counter(unreadable=2, refused=1), failures=Counter(reset=4))])
    '3 faults (2 unreadable, 1 refused), 4 failed'
    >>> wrong([Tally("a")])
    '0 faults, 0 failed'
    """
    faults: Counter[str] = Counter()
    failed = 0
    for tally in tallies:
        faults += tally.faults
        failed += tally.failed
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in faults.most_common())
    return f"{faults.total():,} faults{f' ({kinds})' if kinds else ''}, {failed:,} failed"


def workers(count: int) -> str:
    """How many workers ask; nothing to say where this machine does it alone."""
    return f", {count} worker{'s' if count > 1 else ''}" if count else ""


class LineWatch:
    """A line every few seconds, for logs and pipes.

    The clock starts with the first that came back: the workers of a cluster take a while to be there.
    """

    def __init__(self, what: str, total: int | None, out: IO[str] | _Cell, every: float = _EVERY) -> None:
        self._what, self._total, self._out, self._every = what, total, out, every
        self._lock = threading.Lock()
        self._started = self._last = time.monotonic()
        self._tallies: dict[str, Tally] = {}

    def step(self, tally: Tally) -> None:
        now = time.monotonic()
        if not self._tallies:
            self._started = now
        if now - self._last < self._every:
            self._tallies[tally.name] = tally
            return
        with self._lock:
            self._last = now
            self._tallies[tally.name] = tally
            self._say(now)

    def finish(self) -> None:
        """Say what came after the last line."""
        if self._tallies:
            self._say(time.monotonic())

    def _say(self, now: float) -> None:
        tallies = list(self._tallies.values())
        done = sum(tally.done for tally in tallies)
        seen = done + sum(tally.known for tally in tallies)
        took = now - self._started
        rate = done / took if took >= _RATED else 0.0
        of = "" if self._total is None else f" of {self._total:,}"
        to_come = 0 if self._total is None else self._total - seen
        pace = f", {rate:,.1f}/s" if rate else ""
        left = f", about {clock(to_come / rate)} left" if to_come > 0 and rate else ""
        spent = sum((tally.usage for tally in tallies), Usage())
        busy = workers(sum(tally.workers for tally in tallies))
        text = f"{self._what}: {seen:,}{of}{pace}{busy}, {wrong(tallies)}, {money(spent)}{left}"
        with suppress(OSError):  # nobody reads it any longer, which is no reason to stop
            self._out.write(text + "\n")
            self._out.flush()


class _Cell:
    """The output of a notebook's cell, in which each line takes the place of the one before."""

    def __init__(self) -> None:
        self._shown: Any = None

    def write(self, text: str) -> None:
        line = {"text/plain": text.strip()}
        if self._shown is None:  # where nothing is asked, the cell has no empty line
            self._shown = sys.modules["IPython"].display.display(line, raw=True, display_id=True)
        else:
            self._shown.update(line, raw=True)

    def flush(self) -> None:
        """Each line is shown at once."""


class LiveWatch:
    """A bar for each judge or contestant: rate, faults, money, time left."""

    def __init__(self, progress: Progress, totals: dict[str, int | None]) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {
            name: progress.add_task(name, total=total, rate="", faults="", spent="") for name, total in totals.items()
        }
        self._started = time.monotonic()
        self._last: dict[str, float] = {}
        self._tallies: dict[str, Tally] = {}

    def step(self, tally: Tally) -> None:
        now = time.monotonic()
        if not self._tallies:
            self._started = now
        self._tallies[tally.name] = tally
        if now - self._last.get(tally.name, 0.0) >= _REDRAW:
            self._last[tally.name] = now
            self._draw(tally, now)

    def finish(self) -> None:
        """Draw what came after the last step that was drawn."""
        for tally in self._tallies.values():
            self._draw(tally, time.monotonic())

    def _draw(self, tally: Tally, now: float) -> None:
        took = now - self._started
        rate = f"{tally.done / took:,.0f}/s" if took >= _RATED else ""
        seen = tally.known + tally.done + tally.failed
        self._progress.update(
            self._tasks[tally.name],
            completed=seen,
            rate=f"{rate}{workers(tally.workers)}",
            faults=wrong([tally]),
            spent=money(tally.usage),
        )


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return running is not None and hasattr(running, "kernel")


def bars(*texts: str, foretold: bool = True, hidden: bool = False) -> Progress:
    """Bars on standard error: whose, how many of how many, then these texts, then the time left where it is
    `foretold` from the pace alone."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("[bold]{task.description}", markup=True),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        *map(TextColumn, texts),
        *([TimeRemainingColumn(compact=True)] if foretold else []),
        console=Console(file=terminal(sys.stderr)),
        disable=hidden,
    )


@contextmanager
def watching(
    what: str, names: list[str], total: int | Mapping[str, int] | None, *, quiet: bool = False
) -> Iterator[Watch | None]:
    """A watch that suits where standard error goes. `total` is the number of tasks, the same for each name or not."""
    if quiet:
        yield None
        return
    each = [total] * len(names) if isinstance(total, int) else [total[name] for name in names] if total else []
    if in_notebook():
        # Bars would need ipywidgets there, and show nothing without.
        in_cell = LineWatch(what, sum(each) if each else None, _Cell(), _REDRAW)
        yield in_cell
        in_cell.finish()
        return
    if not sys.stderr.isatty():
        yield LineWatch(what, sum(each) if each else None, sys.stderr)
        return
    texts = ("{task.fields[rate]}", "[yellow]{task.fields[faults]}", "[green]{task.fields[spent]}")
    with bars(*texts) as progress:
        totals = {name: total[name] if isinstance(total, Mapping) else total for name in names}
        watch = LiveWatch(progress, totals)
        yield watch
        watch.finish()
