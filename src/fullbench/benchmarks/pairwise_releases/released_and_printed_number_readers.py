"""Readers of released number tables and of the published numbers in `printed.tsv`."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from pathlib import Path

from fullbench.files.release_rows import released_rows


def read_columns(folder: Path, file: str, *, excluded_column: str) -> dict[str, list[float]]:
    """Read all number columns of a file except `excluded_column`, which numbers the rows.

    An empty cell or `nan` is left out: a contestant did not occur in that resample.
    """
    numbers: dict[str, list[float]] = {}
    for row in released_rows(folder, file):
        for name, value in row.values.items():
            if name != excluded_column and value not in {None, "nan"}:
                numbers.setdefault(name, []).append(row.number(name))
    return numbers


@cache
def printed_numbers(name: str) -> dict[str, float]:
    """Return the published numbers of one data set by cell name."""
    text = (resources.files("fullbench.benchmarks.pairwise_releases") / "printed.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t")
    return {row["cell"]: float(row["printed"]) for row in rows if row["data"] == name}
