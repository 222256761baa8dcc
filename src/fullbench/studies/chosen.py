"""A study of chosen cases: only the panels that a file lists are heard, in the orders that the study says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from fullbench.files.row_fields import Fields
from fullbench.files.item_files import samples_of
from fullbench.files.readers import read_rows
from fullbench.files.writers import write_rows
from fullbench.core.case import Case
from fullbench.core.record import Record

Panel = tuple[str, frozenset[tuple[str, int]], str]
"""An item, which answers to it are judged together (contestants with the numbers of their samples), and on which
criterion; without one, on every criterion of the study."""


def read_panels(path: Path) -> frozenset[Panel]:
    """The panels of a file: rows with `item`, `contestants`, `samples` where they are not all the first, and
    `criterion` where one alone is meant."""
    panels = set()
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        item, contestants, samples = fields.name("item"), fields.contestants(), samples_of(fields)
        shown = frozenset(zip(contestants, samples or [0] * len(contestants), strict=True))
        panels.add((item, shown, fields.text("criterion") or ""))
    return frozenset(panels)


def write_panels(path: Path, record: Record) -> int:
    """The panels that a record's verdicts are on, each once; how many there are."""
    panels = {(verdict.item, frozenset(verdict.shown), verdict.criterion) for verdict in record}
    rows = (
        {
            "item": item, "contestants": [name for name, _ in sorted(shown)],
            "samples": [at for _, at in sorted(shown)], "criterion": criterion,
        }
        for item, shown, criterion in sorted(panels, key=lambda panel: (panel[0], sorted(panel[1]), panel[2]))
    )  # fmt: skip
    return write_rows(path, rows, {"item": "text", "contestants": "json", "samples": "json", "criterion": "text"})


def among(cases: Iterable[Case], panels: frozenset[Panel]) -> Iterator[Case]:
    """The cases on these panels."""
    for case in cases:
        shown = frozenset((answer.contestant, answer.sample) for answer in case.responses)
        if panels & {(case.item.id, shown, case.criterion), (case.item.id, shown, "")}:
            yield case
