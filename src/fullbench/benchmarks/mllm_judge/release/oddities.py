"""What was odd in the released files, counted, so that nothing enters a figure unseen."""

from __future__ import annotations

from collections import Counter

from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table


class Oddities:
    """For each file and each thing done to its rows, how many rows it was done to."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()

    def note(self, file: str, done: str, times: int = 1) -> None:
        """Count `times` rows of a file to which something was done, told in a clause."""
        if times:
            self.counts[file, done] += times

    def table(self) -> Table:
        """All of it, file by file."""
        rows: list[list[Cell]] = [[file, times, done] for (file, done), times in sorted(self.counts.items())]
        notes = [
            Note(
                "mllm-judge.oddities.each-row-of-the-released",
                "Each row of the released files is used, mended or set aside; this says how many were mended or aside.",
            )
        ]
        return Table(
            "oddities",
            Note("mllm-judge.oddities.title.what-was-odd-in-the", "What was odd in the released files"),
            headings("file", "rows", "what was done"),
            rows,
            notes,
        )
