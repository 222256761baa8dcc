"""Progress display: live bars on a terminal, one line at intervals elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from fullbench.core.model_call import Usage
from fullbench.secret_masking_and_text_escapes import underlying_stream
from fullbench.studies.engines import JobCounts, Watch

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

# Lines in a log file: more would drown what matters.
_EVERY = 5.0
# A terminal cannot show more, and drawing must not slow the calls.
_REDRAW = 0.1
_MIN_RATE_SECONDS = 0.05
"""The first outcome alone gives no rate."""


def format_dollars(usage: Usage) -> str:
    """Format dollars with as many digits as needed, or `price unknown`.

    >>> format_dollars(Usage(dollars=0.01234)), format_dollars(Usage(dollars=None)), format_dollars(Usage())
    ('$0.0123', 'price unknown', '$0.00')
    """
    if usage.dollars is None:
        return "price unknown"
    return f"${usage.dollars:.2f}" if usage.dollars >= 1 or not usage.dollars else f"${usage.dollars:.4f}"


def format_duration(seconds: float) -> str:
    """Format seconds for people.

    >>> format_duration(4.2), format_duration(75), format_duration(7322)
    ('4 s', '1 min 15 s', '2 h 2 min')
    """
    whole_seconds = round(seconds)
    if whole_seconds < 60:
        return f"{whole_seconds} s"
    if whole_seconds < 3600:
        return f"{whole_seconds // 60} min {whole_seconds % 60} s"
    return f"{whole_seconds // 3600} h {whole_seconds % 3600 // 60} min"


def format_faults_and_failures(job_counts: Iterable[JobCounts]) -> str:
    """Format the unusable verdicts by kind, and the failed calls.

    >>> format_faults_and_failures([JobCounts("a", faults=Counter(unreadable=2, refused=1), failures=Counter(reset=4))])
    '3 unusable (2 unreadable, 1 refused), 4 failed'
    >>> format_faults_and_failures([JobCounts("a")])
    '0 unusable, 0 failed'
    """
    faults: Counter[str] = Counter()
    failure_count = 0
    for counts in job_counts:
        faults += counts.faults
        failure_count += counts.failure_count
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in faults.most_common())
    return f"{faults.total():,} unusable{f' ({kinds})' if kinds else ''}, {failure_count:,} failed"


def format_workers(count: int) -> str:
    """Format the number of workers; "" without a cluster."""
    return f", {count} worker{'s' if count > 1 else ''}" if count else ""


class LineWatch:
    """Prints a line every few seconds, for logs and pipes.

    The clock starts with the first outcome, because workers of a cluster take a while to start.
    """

    def __init__(self, what: str, total: int | None, out: IO[str] | _NotebookCell, every: float = _EVERY) -> None:
        self._what, self._total, self._out, self._every = what, total, out, every
        self._lock = threading.Lock()
        self._start_time = self._last = time.monotonic()
        self._counts_by_name: dict[str, JobCounts] = {}

    def step(self, counts: JobCounts) -> None:
        now = time.monotonic()
        if not self._counts_by_name:
            self._start_time = now
        if now - self._last < self._every:
            self._counts_by_name[counts.name] = counts
            return
        with self._lock:
            self._last = now
            self._counts_by_name[counts.name] = counts
            self._write_line(now)

    @contextmanager
    def stage(self, what: str, totals: Mapping[str, int]) -> Iterator[None]:
        """Show other work for a while: `what` it is, and its number of tasks by name."""
        before = self._what, self._total, self._counts_by_name
        self._what, self._total, self._counts_by_name = what, sum(totals.values()), {}
        try:
            yield
            self.finish()
        finally:
            self._what, self._total, self._counts_by_name = before

    def finish(self) -> None:
        """Print the outcomes since the last line."""
        if self._counts_by_name:
            self._write_line(time.monotonic())

    def _write_line(self, now: float) -> None:
        job_counts = list(self._counts_by_name.values())
        finished_count = sum(counts.finished_count for counts in job_counts)
        handled_count = finished_count + sum(counts.stored_count for counts in job_counts)
        took = now - self._start_time
        rate = finished_count / took if took >= _MIN_RATE_SECONDS else 0.0
        of = "" if self._total is None else f" of {self._total:,}"
        to_come = 0 if self._total is None else self._total - handled_count
        pace = f", {rate:,.1f}/s" if rate else ""
        left = f", about {format_duration(to_come / rate)} left" if to_come > 0 and rate else ""
        usage = sum((counts.usage for counts in job_counts), Usage())
        busy = format_workers(sum(counts.workers for counts in job_counts))
        text = (
            f"{self._what}: {handled_count:,}{of}{pace}{busy}, {format_faults_and_failures(job_counts)}, "
            f"{format_dollars(usage)}{left}"
        )
        with suppress(OSError):  # a closed pipe must not stop the run
            self._out.write(text + "\n")
            self._out.flush()


class _NotebookCell:
    def __init__(self) -> None:
        self._display_handle: Any = None

    def write(self, text: str) -> None:
        line = {"text/plain": text.strip()}
        if self._display_handle is None:  # created late, so that a run without calls shows no empty line
            self._display_handle = sys.modules["IPython"].display.display(line, raw=True, display_id=True)
        else:
            self._display_handle.update(line, raw=True)

    def flush(self) -> None:
        """Do nothing: each line is shown at once."""


class LiveWatch:
    """One bar per judge or contestant: rate, unusable verdicts, money, time left."""

    def __init__(
        self, progress: Progress, totals: dict[str, int | None], shown_names: Mapping[str, str] | None = None
    ) -> None:
        self._progress = progress
        self._shown_names = shown_names or {}
        self._tasks: dict[str, TaskID] = {
            name: progress.add_task(self._shown_names.get(name, name), total=total, rate="", faults="", spent="")
            for name, total in totals.items()
        }
        self._start_time = time.monotonic()
        self._last: dict[str, float] = {}
        self._counts_by_name: dict[str, JobCounts] = {}

    def step(self, counts: JobCounts) -> None:
        now = time.monotonic()
        if not self._counts_by_name:
            self._start_time = now
        self._counts_by_name[counts.name] = counts
        if now - self._last.get(counts.name, 0.0) >= _REDRAW:
            self._last[counts.name] = now
            self._draw(counts, now)

    @contextmanager
    def stage(self, what: str, totals: Mapping[str, int]) -> Iterator[None]:
        """Add bars for other work: `what` it is, and its number of tasks by name."""
        for name, total in totals.items():
            text = f"{self._shown_names.get(name, name)} ({what})"
            self._tasks[name] = self._progress.add_task(text, total=total, rate="", faults="", spent="")
        yield

    def finish(self) -> None:
        """Draw the outcomes since the last redraw."""
        for counts in self._counts_by_name.values():
            self._draw(counts, time.monotonic())

    def _draw(self, counts: JobCounts, now: float) -> None:
        took = now - self._start_time
        rate = f"{counts.finished_count / took:,.0f}/s" if took >= _MIN_RATE_SECONDS else ""
        handled_count = counts.stored_count + counts.finished_count + counts.failure_count
        self._progress.update(
            self._tasks[counts.name],
            completed=handled_count,
            rate=f"{rate}{format_workers(counts.workers)}",
            faults=format_faults_and_failures([counts]),
            spent=format_dollars(counts.usage),
        )


def in_notebook() -> bool:
    """Return True if this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return running is not None and hasattr(running, "kernel")


def progress_bars(*texts: str, shows_time_left: bool = True, is_hidden: bool = False) -> Progress:
    """Return bars on standard error: name, count, these texts, and the time left if `shows_time_left`."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("[bold]{task.description}", markup=True),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        *map(TextColumn, texts),
        *([TimeRemainingColumn(compact=True)] if shows_time_left else []),
        console=Console(file=underlying_stream(sys.stderr)),
        disable=is_hidden,
    )


@contextmanager
def watch_progress(
    what: str,
    names: list[str],
    total: int | Mapping[str, int] | None,
    *,
    quiet: bool = False,
    shown_names: Mapping[str, str] | None = None,
) -> Iterator[Watch | None]:
    """Yield a watch that suits standard error.

    Args:
        what: What is collected, such as `verdicts`.
        names: Full names of judges or contestants.
        total: Number of tasks per name, or the same for all.
        quiet: Show nothing.
        shown_names: Display names by full name.
    """
    if quiet:
        yield None
        return
    each = [total] * len(names) if isinstance(total, int) else [total[name] for name in names] if total else []
    if in_notebook():
        # Rich's bars need ipywidgets in notebooks and show nothing without them.
        in_cell = LineWatch(what, sum(each) if each else None, _NotebookCell(), _REDRAW)
        yield in_cell
        in_cell.finish()
        return
    if not sys.stderr.isatty():
        yield LineWatch(what, sum(each) if each else None, sys.stderr)
        return
    texts = ("{task.fields[rate]}", "[yellow]{task.fields[faults]}", "[green]{task.fields[spent]}")
    with progress_bars(*texts) as progress:
        totals = {name: total[name] if isinstance(total, Mapping) else total for name in names}
        watch = LiveWatch(progress, totals, shown_names)
        yield watch
        watch.finish()
