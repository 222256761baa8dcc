"""A copy of the frozen files of a release, and commands that run in it with the frozen plugin installed."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "release_0_2_0"


def copy_release(to: Path, *, with_ledger: bool = True) -> Path:
    work = to / "release"
    shutil.copytree(FOLDER, work)
    if with_ledger:
        (work / "frozen.ledger").write_bytes(gzip.decompress((work / "ledger.sqlite.gz").read_bytes()))
    else:
        shutil.rmtree(work / "lake", ignore_errors=True)
    return work


def run_in_release(work: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(work / "plugin"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    return subprocess.run(
        [sys.executable, "-m", "fullbench", *words],
        cwd=work,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )


def verdicts_of(place: Path) -> list[list[Any]]:
    """Return the judge, case key, trial, rater, marks and fault of every verdict, sorted."""
    from fullbench.ledger.ledger import Ledger

    with Ledger(place, read_only=True) as ledger:
        found = [
            [
                verdict.judge,
                verdict.case,
                verdict.trial,
                verdict.rater or "",
                list(verdict.marks or ()),
                verdict.fault or "",
            ]
            for verdict in ledger.record(study="frozen")
        ]
    return sorted(found)
