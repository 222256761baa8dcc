"""What `fullbench report` and `card` take on ledgers of more and more verdicts (`FULLBENCH_BENCH_REPORT`: how many)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fullbench import Choice, Score, Verdict
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.model_call import Usage
from fullbench.ledger.ledger import Ledger
from scripts.bench import Row, Target

SIZES = tuple(map(int, os.environ.get("FULLBENCH_BENCH_REPORT", "20000,200000,1000000").split(",")))
LIMITS = {1_000_000: (6.0, 500.0)}
"""CPU seconds and MB that a report or a card may take."""
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


def cost(command: list[str], folder: Path | None = None) -> tuple[float, float]:
    """CPU seconds and MB of a command, with compiled modules at hand as a user has them."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
    code += "used = resource.getrusage(resource.RUSAGE_CHILDREN); "
    code += "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True, env=env, cwd=folder
    )
    seconds, peak = map(float, done.stdout.split())
    return seconds, peak


def main() -> list[Row]:
    """All rows."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        first: dict[str, tuple[float, float]] = {}
        for size in SIZES:
            path = Path(folder) / f"{size}.ledger"
            with Ledger(path) as ledger:
                ledger.add(*verdicts(size))
            for name, words in (("report", ["report"]), ("card", ["card", "judge-a"])):
                seconds, peak = cost([sys.executable, "-m", "fullbench", *words, "--ledger", str(path)])
                small = first.setdefault(name, (seconds, peak))
                what, other = f"{name} on {size:,} verdicts", f"on {SIZES[0]:,}"
                most = [Target(limit, "ours") for limit in LIMITS.get(size, ())] or [None, None]
                rows.append(Row.of(what, seconds, small[0], other, "s of CPU", target=most[0]))
                rows.append(Row.of(f"memory of {what}", peak, small[1], other, "MB", target=most[1]))
    return rows
