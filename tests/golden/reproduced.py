"""Published figures, computed again from released data that lie outside the project, and the records of these data."""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from tests.golden.command import fullbench
from tests.golden.internals import FullbenchError
from tests.golden.layout import LARGE, brief, sha256, written

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"
NAMES = (
    "alignmmbench", "alpaca_eval", "genai_bench", "mjbench", "mllm-as-a-judge", "pandalm", "pico_peer_review",
    "prd_peer_review", "upme_tables", "vicuna_oa_battles", "visitbench", "wildvision_arena", "wildvision_bench",
)  # fmt: skip
LATER = ("alpaca_eval",)
"""Sets of so many verdicts that their records have golden files of their own, among the slow ones."""


def reproduced(folder: Path, name: str) -> str:
    """All cells as JSON; of the printed tables, whose figures the cells are, a digest."""
    out = folder / "cells.json"
    printed = fullbench("reproduce", name, "--data", str(DATA / name), "--out", str(out))
    assert str(DATA) not in printed, "a table names the folder of the data"
    cells = json.loads(out.read_text(encoding="utf-8"))["cells"]
    head: dict[str, Any] = {"printed": {"lines": printed.count("\n"), "sha256": sha256(printed)}}
    if name not in LATER:
        head["record"] = _record(name)
    whole = written({**head, "cells": cells})
    return whole if len(whole) <= LARGE else written({**head, "families": _families(cells)})


def record(_folder: Path, name: str) -> str:
    return written(_record(name))


def _families(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Many cells by the first part of their ids."""
    found: dict[str, list[dict[str, Any]]] = {}
    for cell in cells:
        found.setdefault(cell["id"].partition("/")[0], []).append(cell)
    return {family: brief({"cells": mine}, "cells")["cells"] for family, mine in found.items()}


def _record(name: str) -> dict[str, Any] | str:
    """What the released verdicts are as a record; in words, where they were not released one by one."""
    (found,) = entry_points(group="fullbench.benchmarks", name=name)
    benchmark = found.load()
    if not hasattr(benchmark, "bring"):
        return "brings no record"
    try:
        record = benchmark.bring(DATA / name).record
    except FullbenchError as error:
        return str(error).replace(str(DATA), "DATA")
    return {"digest": record.digest(), "verdicts": len(record), "judges": len(record.judges)}
