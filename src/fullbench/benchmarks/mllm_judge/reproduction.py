"""All of the paper that the released data allow, and what was odd in them."""

from __future__ import annotations

from pathlib import Path

from fullbench.benchmarks.mllm_judge.cells import cells
from fullbench.benchmarks.mllm_judge.release import Release
from fullbench.core.reproduction import Reproduction


def reproduce(data: Path) -> Reproduction:
    """Read the release in a folder and compute every cell again."""
    release = Release.read(data)
    return Reproduction(list(cells(release)), [release.oddities.table()])
