"""What `fullbench report` takes on ledgers of more and more verdicts, in CPU and memory (`FULLBENCH_BENCH_REPORT`)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fullbench import Choice, Score, Verdict
from fullbench.ledger.store import Ledger
from fullbench.nouns.call import Usage
from fullbench.nouns.digests import digest
from scripts.bench import Row

SIZES = tuple(map(int, os.environ.get("FULLBENCH_BENCH_REPORT", "20000,200000,1000000").split(",")))
NAMES = tuple(f"model-{number}" for number in range(10))


def verdicts(count: int) -> Iterator[Verdict]:
    """Verdicts of two judges on pairs in both orders, and of one on single answers."""
    pair, score, used = Choice().spec, Score(1, 5).spec, Usage(1, 0, 900, 40, 0.001, 1.2)
    for number in range(count):
        item, kind = f"item-{number // 40}", number % 4
        if kind == 3:
            marks: tuple[float, ...] = (float(1 + number * 7 % 5),)
            shown, spec = (NAMES[number // 4 % 10],), score
        else:
            one, two = NAMES[number // 4 % 10], NAMES[(number // 4 + 1 + number // 80 % 9) % 10]
            shown, spec = ((one, two) if kind == 0 else (two, one)), pair
            marks = (1.0, 0.0) if (number * 13 + number // 7) % 5 < 3 else (0.0, 1.0)
        judge = "judge-a" if kind < 2 else "judge-b"
        fault = "unreadable" if number % 97 == 0 else None
        yield Verdict(
            digest([number]), judge, item, shown, spec, marks=None if fault else marks, fault=fault, usage=used,
            text="Because the first answer names the colour and the second does not. " * 3,
        )  # fmt: skip


def cost(command: list[str]) -> tuple[float, float]:
    """CPU seconds and MB of a command."""
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
    code += "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
    code += "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    seconds, peak = map(float, done.stdout.split())
    return seconds, peak


def main() -> list[Row]:
    """All rows."""
    made = []
    with tempfile.TemporaryDirectory() as folder:
        first: tuple[float, float] | None = None
        for size in SIZES:
            path = Path(folder) / f"{size}.ledger"
            with Ledger(path) as ledger:
                ledger.add(*verdicts(size))
            found = cost([sys.executable, "-m", "fullbench", "report", "--ledger", str(path)])
            first = first or found
            made.append(Row.of(f"report on {size:,} verdicts", found[0], first[0], f"on {SIZES[0]:,}", "s of CPU"))
            made.append(Row.of(f"memory of report on {size:,} verdicts", found[1], first[1], f"on {SIZES[0]:,}", "MB"))
    return made
