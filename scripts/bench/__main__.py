"""`make bench`: every comparison in one run, as one table. `python -m scripts.bench calls` runs one part.

A part is a module of this folder with a `main() -> list[Row]`. Each run is kept beside the earlier ones of this
machine. With `--check`, the figures are compared with those, and exit code 1 names what has grown worse; `--check
--last` compares the last run that was kept and runs nothing.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from importlib import import_module
from pathlib import Path

from fullbench.core.table import Table
from fullbench.reports.table_formats import render_table
from scripts.bench import Row, history


def main() -> None:
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))}
    parts = [name for name, text in texts.items() if "\ndef main() -> list[Row]:" in text]
    options = _options(parts)
    if not options.last:
        rows: dict[str, list[Row]] = {}
        for part in options.parts or parts:
            sys.stderr.write(f"measuring {part} ...\n")
            rows[part] = import_module(f"scripts.bench.{part}").main()
        history.keep(options.history, rows)
        print(render_table(_table(rows), "text", width=shutil.get_terminal_size((150, 40)).columns))
    if options.check:
        _check(options.history)


def _options(parts: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.bench")
    parser.add_argument("parts", nargs="*", help=f"what to measure, all without it: {', '.join(parts)}")
    parser.add_argument("--check", action="store_true", help="exit 1 where a figure is worse than in earlier runs")
    parser.add_argument("--last", action="store_true", help="run nothing: look at the last run that was kept")
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
