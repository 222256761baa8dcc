"""The same case heard again: how steady each judge is."""

from __future__ import annotations

from collections.abc import Iterator

from fullbench.errors import Undefined
from fullbench.figures.judging import shape
from fullbench.nouns.record import Record
from fullbench.nouns.table import Cell, Table
from fullbench.stats.steadiness import Steadiness, steadiness

BINS = 6


def steady(record: Record, *, seed: int = 0) -> Iterator[tuple[str, str, Steadiness | str]]:
    """For each judge and shape of ruling that was heard again, how steady it is, or why that cannot be told.

    A fault is like no other ruling, not even another fault.
    """
    for judge, mine in record.by("judge").items():
        for kind, part in mine.by(shape).items():
            # Several people on one case are several, none of them heard again.
            cases = [f"{verdict.case} {verdict.rater}" for verdict in part]
            rulings = [f"{verdict.fault} {verdict.trial}" if verdict.fault else str(verdict.marks) for verdict in part]
            if len(set(cases)) == len(cases):
                continue
            try:
                yield judge, kind, steadiness(cases, rulings, seed=seed)
            except Undefined as reason:
                yield judge, kind, str(reason)


def tables(record: Record, *, seed: int = 0) -> list[Table]:
    """Weighted average consistency and the majority criterion, and how many cases have which share."""
    rows: list[list[Cell]] = []
    counts: list[list[Cell]] = []
    notes = [
        "Consistency: the share of the commonest ruling of a case, averaged over cases that were heard more than once.",
        "Majority: the share of these cases with more than half of the rulings the same. A fault agrees with none.",
    ]
    for judge, kind, found in steady(record, seed=seed):
        if isinstance(found, str):
            rows.append([judge, kind, None, None, None])
            notes.append(f"{judge}, {kind}: {found}.")
            continue
        rows.append([judge, kind, found.consistency, found.majority, len(found.shares)])
        counts += [
            [judge, kind, f"{low:.2f} to {high:.2f}", cases] for low, high, cases in found.histogram(BINS) if cases
        ]
    hint = {"kind": "intervals", "label": "judge", "value": "consistency"}
    steadied = Table(
        "steadiness", "The same case heard again", ("judge", "ruling", "consistency", "majority", "cases"),
        rows, notes, {"seed": seed}, hint,
    )  # fmt: skip
    columns = ("judge", "ruling", "share of the commonest ruling", "cases")
    histogram = Table("steadiness histogram", "How steady, case by case", columns, counts)
    return [table for table in (steadied, histogram) if table.rows]
