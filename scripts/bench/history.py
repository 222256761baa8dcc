"""What earlier runs on this machine found, and which figures have grown worse since.

A run is a line of JSON in `bench/history/MACHINE.jsonl`, a folder that git ignores: when, which commit, which machine,
and every row. A figure is compared by its ratio to the other of the same run, which a busy machine moves less than
the figure itself.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any

from scripts.bench import Row

FOLDER = Path(__file__).parents[2] / "bench" / "history"
LAST = 10
ENOUGH = 4
DEVIATIONS = 5.0
SHARE = 0.15
_TO_SIGMA = 1.4826

Rows = Mapping[str, Sequence[Row]]
"""The rows of every part that was run."""


@dataclass(frozen=True)
class Worse:
    """A figure that is worse than before by more than it usually moves."""

    part: str
    name: str
    now: float
    usual: float
    bound: float

    def __str__(self) -> str:
        found = f"{self.now:.3g} times the other, usually {self.usual:.3g} (bound {self.bound:.3g})"
        return f"{self.part}: {self.name}: {found}"


def machine() -> dict[str, Any]:
    """What this machine is, as far as speed goes."""
    model = ""
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else ""
    return {
        "cpu": model or platform.processor(), "cores": os.cpu_count(), "system": platform.system(),
        "python": platform.python_version(),
    }  # fmt: skip


def fingerprint(of: Mapping[str, Any]) -> str:
    return blake2b(json.dumps(of, sort_keys=True).encode(), digest_size=6).hexdigest()


def file_of_this_machine() -> Path:
    return FOLDER / f"{fingerprint(machine())}.jsonl"


def keep(path: Path, rows: Rows) -> None:
    """Add a run to the history."""
    entry = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": _commit(), "machine": machine(),
        "load": os.getloadavg()[0],
        "rows": [{"part": part, "name": row.name, **asdict(row)} for part, some in rows.items() for row in some],
    }  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def runs(path: Path) -> list[dict[str, Any]]:
    """The runs so far, oldest first; a line that a killed run left torn is passed over."""
    return list(_runs(path)) if path.exists() else []


def _runs(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def worse(history: Sequence[Mapping[str, Any]]) -> list[Worse]:
    """The figures of the newest run that are worse than in the runs before it.

    The bound is the median of the last runs and five times the deviation that their median absolute deviation stands
    for, or 15 %, whichever is more. A figure with fewer than four earlier runs is not judged.
    """
    if not history:
        return []
    *before, newest = history
    earlier: dict[tuple[str, str], list[float]] = {}
    for run in before:
        for row in run["rows"]:
            if _cost(row) is not None:
                earlier.setdefault((row["part"], row["name"]), []).append(row["ratio"])
    return [found for row in newest["rows"] if (found := _judge(row, earlier.get((row["part"], row["name"]), [])))]


def _judge(row: Mapping[str, Any], before: Sequence[float]) -> Worse | None:
    last = before[-LAST:]
    if len(last) < ENOUGH or _cost(row) is None:
        return None
    usual = median(last)
    slack = max(DEVIATIONS * _TO_SIGMA * median(abs(one - usual) for one in last), SHARE * usual)
    now = float(row["ratio"])
    bound = usual - slack if row["more"] else usual + slack
    if (now < bound) if row["more"] else (now > bound):
        return Worse(row["part"], row["name"], now, usual, bound)
    return None


def _cost(row: Mapping[str, Any]) -> float | None:
    """The ratio where it can be compared: a count of losses that should be 0 has none."""
    ratio = row.get("ratio")
    return ratio if isinstance(ratio, int | float) and isfinite(ratio) and ratio > 0 else None


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip()
