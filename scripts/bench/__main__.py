"""`make bench`: every comparison in one run, as one table. `python -m scripts.bench calls` runs one part.

A part is a module of this folder with a `main() -> list[Row]`. Each run is kept beside the earlier ones of this
machine. With `--check`, the figures are compared with those, and exit code 1 names what has grown worse; `--check
--last` compares the last run that was kept and runs nothing.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from fullbench.core.table import Table
from fullbench.reports.table_formats import render_table
from scripts.bench import Row, history

REPORT_EVERY = 60.0
"""Seconds after which a part that is still running is named again."""


def main() -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))}
    parts = [name for name, text in texts.items() if "\ndef main() -> list[Row]:" in text]
    options = _options(parts)
    if not options.last:
        rows, stopped_parts = measure_parts(options.parts or parts, options.minutes * 60, _run_part)
        history.keep(options.history, rows)
        print(render_table(_table(rows), "text", width=shutil.get_terminal_size((150, 40)).columns))
        if stopped_parts:
            sys.exit(f"Not measured within {options.minutes:g} minutes each: {', '.join(stopped_parts)}.")
    if options.check:
        _check(options.history)


def _run_part(part: str) -> list[Row]:
    return import_module(f"scripts.bench.{part}").main()


def measure_parts(
    parts: list[str], most_seconds: float, run: Callable[[str], list[Row]]
) -> tuple[dict[str, list[Row]], list[str]]:
    """Return the rows of each part, and the parts that were stopped since they took longer than `most_seconds`.

    Args:
        parts: names of the parts, in order.
        most_seconds: time that one part may take.
        run: measures one part.
    """
    rows: dict[str, list[Row]] = {}
    stopped_parts: list[str] = []
    for part in parts:
        sys.stderr.write(f"measuring {part} ...\n")
        started = time.monotonic()
        try:
            with _repeated_reports(part), _time_limit(most_seconds):
                rows[part] = run(part)
        except _PartTookTooLong:
            stopped_parts.append(part)
            sys.stderr.write(f"{part} was stopped after {most_seconds / 60:.3g} minutes; --minutes gives it more\n")
        else:
            sys.stderr.write(f"measured {part} in {time.monotonic() - started:.0f} s, {_load_text()}\n")
    return rows, stopped_parts


class _PartTookTooLong(BaseException):
    """Not an `Exception`, so that no retry in a part swallows it."""


@contextmanager
def _repeated_reports(part: str) -> Iterator[None]:
    is_done, started = threading.Event(), time.monotonic()

    def report() -> None:
        while not is_done.wait(REPORT_EVERY):
            sys.stderr.write(f"{part} has been running for {time.monotonic() - started:.0f} s, {_load_text()}\n")

    reporter = threading.Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        is_done.set()
        reporter.join()


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _PartTookTooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _load_text() -> str:
    return f"load {os.getloadavg()[0]:.1f}"


def _options(parts: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.bench")
    parser.add_argument("parts", nargs="*", help=f"what to measure, all without it: {', '.join(parts)}")
    parser.add_argument("--check", action="store_true", help="exit 1 where a figure is worse than in earlier runs")
    parser.add_argument("--last", action="store_true", help="run nothing: look at the last run that was kept")
    parser.add_argument("--minutes", type=float, default=20, help="most minutes of one part (default 20)")
    parser.add_argument("--history", type=Path, default=history.file_of_this_machine(), help="where runs are kept")
    options = parser.parse_args()
    for part in options.parts:
        if part not in parts:
            sys.exit(f"there is no part {part!r}; known: {', '.join(parts)}")
    return options


def _table(rows: dict[str, list[Row]]) -> Table:
    columns = ("part", "what", "ours", "unit", "the other", "of the other", "ratio", "target", "")
    lines = [
        [part, row.what, _short(row.ours), row.unit, row.other_name, _short(row.other), _short(row.ratio),
         str(row.target or ""), "" if row.target is None else "met" if row.target.met(row) else "MISSED"]
        for part, some in rows.items() for row in some
    ]  # fmt: skip
    return Table("bench", "Ours, and the other of the same run", columns, lines)


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 10_000 else f"{number:.3g}"


def _check(path: Path) -> None:
    kept = history.runs(path)
    found = history.worse(kept)
    for one in found:
        print(f"worse: {one}")
    if found:
        sys.exit(1)
    print(f"No figure is worse than in the {max(0, len(kept) - 1)} earlier runs of this machine ({path}).")


if __name__ == "__main__":
    main()
