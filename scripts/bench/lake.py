"""Tables over a big export: what ten times the verdicts take, in time and memory (`FULLBENCH_BENCH_ROWS`: how many)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.columns.test_columns import BIG, big

from scripts.bench import Row, Target

ROWS = int(os.environ.get("FULLBENCH_BENCH_ROWS", "1000000"))


def _run(folder: Path, count: int) -> tuple[float, float]:
    """CPU seconds and MB of a process of its own."""
    path = folder / f"{count}.parquet"
    big(path, count)
    done = subprocess.run([sys.executable, "-c", BIG, str(path)], capture_output=True, text=True, check=True)
    peak, _, _, seconds = json.loads(done.stdout)
    return seconds, peak


def main() -> list[Row]:
    """All rows."""
    with tempfile.TemporaryDirectory() as name:
        small, large = _run(Path(name), ROWS // 10), _run(Path(name), ROWS)
    return [
        Row.of(
            f"ledger tables over {ROWS:,} verdicts",
            large[0],
            small[0],
            f"over {ROWS // 10:,}",
            "s of CPU",
            target=Target(6e-6 * ROWS, "ours"),
        ),
        Row.of(f"memory of ledger tables over {ROWS:,} verdicts", large[1], small[1], f"over {ROWS // 10:,}", "MB"),
    ]
