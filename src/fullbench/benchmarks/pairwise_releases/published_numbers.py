"""Released tables of numbers, and what was published of them."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from pathlib import Path

from fullbench.files.release_rows import released_rows


def columns(folder: Path, file: str, *, but: str) -> dict[str, list[float]]:
    """All columns of numbers of a file, `but` the one that numbers the rows.

    A cell that is empty or says nan has no number (a resample in which a contestant did not occur) and is left out.
    """
    numbers: dict[str, list[float]] = {}
    for row in released_rows(folder, file):
        for name, value in row.values.items():
            if name != but and value not in {None, "nan"}:
                numbers.setdefault(name, []).append(row.number(name))
    return numbers


@cache
def printed(name: str) -> dict[str, float]:
    """What was published for the cells of one data set, where a source prints a number."""
    text = (resources.files("fullbench.benchmarks.pairwise_releases") / "printed.tsv").read_text(encoding="utf-8")
    listed = csv.DictReader(text.splitlines(), delimiter="\t")
    return {row["cell"]: float(row["printed"]) for row in listed if row["data"] == name}
