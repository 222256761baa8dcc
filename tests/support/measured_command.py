"""Run a command in a process of its own, with the CPU seconds and the memory that it took."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

# A child that is started by vfork counts its parent's peak as its own, and this process may have loaded torch. So a
# small process in between starts the command and measures it.
_MEASURE = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, encoding="utf-8")
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, done.stdout, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024]))
"""


class MeasuredRun(NamedTuple):
    """Output of a command with its CPU seconds and its largest memory in bytes."""

    stdout: str
    cpu_seconds: float
    peak_bytes: int


def run_measured(words: Sequence[str], *, cwd: Path | None = None) -> MeasuredRun:
    """Run this Python with `words` and measure it; fail if it fails."""
    command = [sys.executable, "-c", _MEASURE, sys.executable, *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=cwd, check=True)
    returncode, stdout, cpu_seconds, peak_bytes = json.loads(done.stdout)
    assert returncode == 0
    return MeasuredRun(stdout, cpu_seconds, peak_bytes)
