"""Calibration of a judge: stated or token confidence compared with the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fullbench.audit.measures.verdicts_with_truth import JudgedCase, share_over_items, signed_mean_over_items
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note

# A quick audit has some hundred verdicts: more bins would hold too few each.
BINS = 5
MIN_VERDICTS = 10
"""With fewer verdicts that have a confidence, no calibration is reported."""


@dataclass(frozen=True)
class Calibration:
    """Verdicts with a confidence on pairs of known truth.

    `overconfidence` is the mean of confidence minus correctness (1, or one half for a tie). `brier` is the mean of its
    square. `unstated_count` verdicts have no confidence and are excluded.
    """

    rows: tuple[JudgedCase, ...]
    unstated_count: int
    overconfidence: Estimate
    brier: Estimate

    @property
    def mean_confidence(self) -> float:
        """Mean confidence."""
        return float(np.mean([row.verdict.confidence or 0.0 for row in self.rows]))

    @property
    def right_share(self) -> float:
        """Share of these verdicts that are right."""
        return float(np.mean([row.right_share for row in self.rows]))


def measure_calibration(rows: Sequence[JudgedCase]) -> Calibration | None:
    """Measure calibration on plain, reworded and swapped pairs; None if verdicts have no confidence."""
    rows_with_truth = [row for row in rows if row.has_marks and _has_known_truth(row)]
    confident_rows = [row for row in rows_with_truth if row.verdict.confidence is not None]
    if len(confident_rows) < MIN_VERDICTS:
        return None
    gaps = [(row.verdict.confidence or 0.0) - row.right_share for row in confident_rows]
    items = [row.base for row in confident_rows]
    overconfidence, brier = signed_mean_over_items(gaps, items), share_over_items([gap**2 for gap in gaps], items)
    if overconfidence is None or brier is None:
        return None
    return Calibration(tuple(confident_rows), len(rows_with_truth) - len(confident_rows), overconfidence, brier)


def _has_known_truth(row: JudgedCase) -> bool:
    return row.part in {"pairs", "reworded"} or (row.part == "picture use" and row.change == "swapped")


def calibration_table(calibration: Calibration | None) -> Table:
    """Return accuracy by level of confidence; empty without calibration."""
    cells: list[list[Cell]] = []
    notes: list[str] = []
    if calibration is not None:
        confidences = np.array([row.verdict.confidence or 0.0 for row in calibration.rows])
        bins = np.minimum((confidences * BINS).astype(int), BINS - 1)
        for bin_index in range(BINS):
            bin_rows = [row for row, bin_ in zip(calibration.rows, bins, strict=True) if bin_ == bin_index]
            if bin_rows:
                label = f"{100 * bin_index // BINS}-{100 * (bin_index + 1) // BINS} %"
                cells.append([label, *_calibration_cells(bin_rows), len(bin_rows)])
        cells.append([word_note("all"), *_calibration_cells(calibration.rows), len(calibration.rows)])
        brier = calibration.brier
        notes.append(Note("audit.calibration.how", value=brier.value, low=brier.low, high=brier.high))
        if calibration.unstated_count:
            notes.append(Note("audit.calibration.silent", n=calibration.unstated_count))
    return Table(
        "calibration",
        Note("audit.calibration.title"),
        table_columns("confidence stated", "mean confidence", "judged correctly", "overconfident by", "verdicts"),
        cells,
        notes,
        {},
        {"kind": "intervals", "label": "confidence stated", "value": "overconfident by", "reference": 0.0},
    )


def _calibration_cells(rows: Sequence[JudgedCase]) -> tuple[float, Estimate | None, Estimate | None]:
    confidences = [row.verdict.confidence or 0.0 for row in rows]
    items = [row.base for row in rows]
    gaps = [confidence - row.right_share for confidence, row in zip(confidences, rows, strict=True)]
    return (
        float(np.mean(confidences)),
        share_over_items([row.right_share for row in rows], items),
        signed_mean_over_items(gaps, items),
    )


def lead_note(calibration: Calibration) -> Note:
    """Return the calibration in a sentence."""
    overconfidence = calibration.overconfidence
    points_text = (
        f"{100 * overconfidence.value:+.0f} [{100 * overconfidence.low:+.0f}, {100 * overconfidence.high:+.0f}]"
    )
    if overconfidence.low <= 0 <= overconfidence.high:
        return Note(
            "audit.lead.calibrated", sure=calibration.mean_confidence, right=calibration.right_share, points=points_text
        )
    if overconfidence.value > 0:
        return Note(
            "audit.lead.overconfident",
            sure=calibration.mean_confidence, right=calibration.right_share, points=points_text,
        )  # fmt: skip
    return Note(
        "audit.lead.underconfident", sure=calibration.mean_confidence, right=calibration.right_share, points=points_text
    )
