"""Is the judge as often right as it is sure? Its stated confidence, or that of its tokens, beside the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fullbench.audit.measures.verdicts_with_truth import Heard, difference, share
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, word
from fullbench.core.table import Cell, Table

BINS = 5
FEW = 10
"""Of fewer rulings with a confidence nothing is said."""


@dataclass(frozen=True)
class Calibration:
    """Rulings on pairs whose truth is known, with a confidence.

    `overconfidence` is the mean of confidence less right (1, or one half for a tie), `brier` the mean of its square;
    `silent` rulings have no confidence and are not counted.
    """

    rows: tuple[Heard, ...]
    silent: int
    overconfidence: Estimate
    brier: Estimate

    @property
    def confidence(self) -> float:
        """The mean confidence."""
        return float(np.mean([row.verdict.confidence or 0.0 for row in self.rows]))

    @property
    def right(self) -> float:
        """The share of these rulings that are right."""
        return float(np.mean([row.right for row in self.rows]))


def calibration(rows: Sequence[Heard]) -> Calibration | None:
    """The calibration of all rulings on plain, reworded and swapped pairs; None where they have no confidence."""
    known = [row for row in rows if row.ruled and _known(row)]
    sure = [row for row in known if row.verdict.confidence is not None]
    if len(sure) < FEW:
        return None
    gaps = [(row.verdict.confidence or 0.0) - row.right for row in sure]
    items = [row.base for row in sure]
    over, brier = difference(gaps, items), share([gap**2 for gap in gaps], items)
    if over is None or brier is None:
        return None
    return Calibration(tuple(sure), len(known) - len(sure), over, brier)


def _known(row: Heard) -> bool:
    return row.part in {"pairs", "reworded"} or (row.part == "look" and row.what == "swapped")


def calibration_table(found: Calibration | None) -> Table:
    """How often it is right where it is so sure; empty where it says nothing of that."""
    cells: list[list[Cell]] = []
    notes: list[str] = []
    if found is not None:
        stated = np.array([row.verdict.confidence or 0.0 for row in found.rows])
        bins = np.minimum((stated * BINS).astype(int), BINS - 1)
        for place in range(BINS):
            inside = [row for row, bin_ in zip(found.rows, bins, strict=True) if bin_ == place]
            if inside:
                label = f"{100 * place // BINS}-{100 * (place + 1) // BINS} %"
                cells.append([label, *_figures(inside), len(inside)])
        cells.append([word("all"), *_figures(found.rows), len(found.rows)])
        brier = found.brier
        notes.append(
            Note(
                "audit.calibration.how",
                "Overconfident by: confidence less the share that is right. Brier score (0 is best, always saying "
                "50% gives 0.25): {value:.3f} [{low:.3f}, {high:.3f}].",
                value=brier.value, low=brier.low, high=brier.high,
            )
        )  # fmt: skip
        if found.silent:
            notes.append(
                Note(
                    "audit.calibration.silent", "{n:,} more rulings have no confidence and are not counted.",
                    n=found.silent,
                )
            )  # fmt: skip
    return Table(
        "calibration",
        Note("audit.calibration.title", "Is it as often right as it is sure?"),
        headings("confidence stated", "mean confidence", "ruled rightly", "overconfident by", "rulings"),
        cells,
        notes,
        {},
        {"kind": "intervals", "label": "confidence stated", "value": "overconfident by", "reference": 0.0},
    )


def _figures(rows: Sequence[Heard]) -> tuple[float, Estimate | None, Estimate | None]:
    stated = [row.verdict.confidence or 0.0 for row in rows]
    items = [row.base for row in rows]
    gaps = [sure - row.right for sure, row in zip(stated, rows, strict=True)]
    return float(np.mean(stated)), share([row.right for row in rows], items), difference(gaps, items)


def lead(found: Calibration) -> Note:
    """The calibration in a sentence."""
    over = found.overconfidence
    shown = f"{100 * over.value:+.0f} [{100 * over.low:+.0f}, {100 * over.high:+.0f}]"
    if over.low <= 0 <= over.high:
        return Note(
            "audit.lead.calibrated",
            "It is sure by {sure:.0%} in the mean and right in {right:.0%}: no sign that it is too sure or too unsure "
            "({points} points).",
            sure=found.confidence, right=found.right, points=shown,
        )  # fmt: skip
    if over.value > 0:
        return Note(
            "audit.lead.overconfident",
            "It is too sure: by {sure:.0%} in the mean, and right in {right:.0%} ({points} points).",
            sure=found.confidence, right=found.right, points=shown,
        )  # fmt: skip
    return Note(
        "audit.lead.underconfident",
        "It is too unsure: sure by {sure:.0%} in the mean, and right in {right:.0%} ({points} points).",
        sure=found.confidence, right=found.right, points=shown,
    )  # fmt: skip
