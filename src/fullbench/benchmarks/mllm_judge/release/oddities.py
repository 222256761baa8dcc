"""Counts of oddities in the released files, so that every correction is reported."""

from __future__ import annotations

from collections import Counter

from fullbench.core.column_labels import table_columns
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table


class Oddities:
    """Number of affected rows for each file and action."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def note(self, file: str, action: str, times: int = 1) -> None:
        """Count `times` rows of a file; `action` is a clause that says what was done to them."""
        if times:
            self.counts[file, action] += times

    def table(self) -> Table:
        """Return all counts, file by file."""
        rows: list[list[Cell]] = [[file, times, action] for (file, action), times in sorted(self.counts.items())]
        notes = [Note("mllm-judge.oddities.each-row-of-the-released")]
        return Table(
            "oddities",
            Note("mllm-judge.oddities.title.what-was-odd-in-the"),
            table_columns("file", "rows", "what was done"),
            rows,
            notes,
        )
