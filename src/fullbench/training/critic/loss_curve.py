"""How a critic learned: the losses of its run as a table and a curve."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.files.readers import read_rows

MOST = 40
"""Rows of the table: enough to see the curve's shape, few enough to read."""


def learning(folder: Path) -> Table | None:
    """The mean loss over stretches of equally many steps, from the losses that a run kept; None where it kept none.

    A critic without a language model is fitted in one go and has no losses.
    """
    file = folder / "run" / "losses.jsonl"
    if not file.exists():
        return None
    losses = [row for _, row in read_rows(file)]
    stretches = min(MOST, len(losses))
    rows: list[list[Cell]] = []
    for place in range(stretches):
        part = losses[place * len(losses) // stretches : (place + 1) * len(losses) // stretches]
        tokens, seconds = sum(int(step["tokens"]) for step in part), sum(float(step["seconds"]) for step in part)
        rows.append([
            int(part[-1]["step"]) + 1, fmean(float(step["loss"]) for step in part), float(part[-1]["lr"]),
            tokens / max(seconds, 1e-9),
        ])  # fmt: skip
    note = Note(
        "training.critic.learning.steps",
        "{steps:,} steps in {n:,} rows: each gives the mean loss since the row before. Every step stands in "
        "run/losses.jsonl of the critic's folder.",
        steps=len(losses), n=len(rows),
    )  # fmt: skip
    columns = headings("step number", "mean loss", "learning rate", "tokens a second")
    hint = {"kind": "lines", "x": "step number", "columns": ["mean loss"]}
    title = Note("training.critic.learning.title", "How it learned")
    return Table("learning", title, columns, rows, [note], {}, hint)
