"""Loss curve of a critic's training as a table with a chart."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from fullbench.core.column_labels import table_columns
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.files.readers import read_rows

MAX_ROWS = 40
"""Enough rows to show the shape of the curve, few enough to read."""


def loss_table(folder: Path) -> Table | None:
    """Return the mean loss over stretches of equally many steps, or None without losses (a light critic)."""
    file = folder / "run" / "losses.jsonl"
    if not file.exists():
        return None
    losses = [row for _, row in read_rows(file)]
    stretches = min(MAX_ROWS, len(losses))
    rows: list[list[Cell]] = []
    for index in range(stretches):
        stretch = losses[index * len(losses) // stretches : (index + 1) * len(losses) // stretches]
        tokens, seconds = sum(int(step["tokens"]) for step in stretch), sum(float(step["seconds"]) for step in stretch)
        rows.append([
            int(stretch[-1]["step"]) + 1, fmean(float(step["loss"]) for step in stretch), float(stretch[-1]["lr"]),
            tokens / max(seconds, 1e-9),
        ])  # fmt: skip
    note = Note("training.critic.learning.steps", steps=len(losses), n=len(rows))
    columns = table_columns("step number", "mean loss", "learning rate", "tokens a second")
    hint = {"kind": "lines", "x": "step number", "columns": ["mean loss"]}
    title = Note("training.critic.learning.title")
    return Table("learning", title, columns, rows, [note], {}, hint)
