"""`fullbench reproduce` on the whole MLLM-as-a-Judge release, beside parsing the same files alone."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from scripts.bench import Row

DATA = Path(__file__).parents[2] / ".." / "shared" / "data" / "mllm-as-a-judge"
SECONDS, MEGABYTES = 10.0, 500.0


def _read_only() -> float:
    """Seconds that it takes to unpack and parse the files, and nothing else."""
    started = time.perf_counter()
    for path in (DATA / "native").rglob("*.gz"):
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            for line in file:
                if line.strip():
                    json.loads(line)
    return time.perf_counter() - started


def main() -> list[Row]:
    """Seconds and megabytes of the whole command; smaller is better."""
    if not DATA.is_dir():
        print(f"left out: the released data are not at {DATA}")
        return []
    command = [
        str(Path(sys.executable).parent / "fullbench"),
        "reproduce",
        "mllm-as-a-judge",
        "--data",
        str(DATA),
        "--json",
    ]
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return [
        Row.of("reproduce mllm-as-a-judge, all cells", seconds, _read_only(), "parsing alone", "s"),
        Row.of("reproduce mllm-as-a-judge, time", seconds, SECONDS, "the limit", "s"),
        Row.of("reproduce mllm-as-a-judge, memory", used, MEGABYTES, "the limit", "MB"),
    ]
