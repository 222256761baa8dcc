"""The same case heard again: how steady each judge is."""

from __future__ import annotations

from collections.abc import Iterator

from fullbench.core.record import Record
from fullbench.core.results import Cell, Table
from fullbench.reports.judging import shape
from fullbench.stats.estimates import Undefined
from fullbench.stats.steadiness import Steadiness, steadiness

BINS = 6


def steady(record: Record, *, seed: int = 0) -> Iterator[tuple[str, str, Steadiness]]:
    """For each judge and shape of ruling, how steady it is. A fault is like no other ruling, not even another fault."""
    for judge, mine in record.by("judge").items():
        for kind, part in mine.by(shape).items():
            cases = [verdict.case for verdict in part]
            rulings = [f"{verdict.fault} {verdict.trial}" if verdict.fault else str(verdict.marks) for verdict in part]
            try:
                yield judge, kind, steadiness(cases, rulings, seed=seed)
            except Undefined:
                continue


def tables(record: Record, *, seed: int = 0) -> list[Table]:
    """Weighted average consistency and the majority criterion, and how many cases have which share."""
    rows: list[list[Cell]] = []
    counts: list[list[Cell]] = []
    for judge, kind, found in steady(record, seed=seed):
        rows.append([judge, kind, found.consistency, found.majority, len(found.shares)])
        counts += [
            [judge, kind, f"{low:.2f} to {high:.2f}", cases] for low, high, cases in found.histogram(BINS) if cases
        ]
    notes = [
        "Consistency: the share of the commonest ruling of a case, averaged over cases that were heard more than once.",
        "Majority: the share of these cases with more than half of the rulings the same. A fault agrees with none.",
    ]
    hint = {"kind": "intervals", "label": "judge", "value": "consistency"}
    steadied = Table(
        "steadiness", "The same case heard again", ("judge", "ruling", "consistency", "majority", "cases"),
        rows, notes, {"seed": seed}, hint,
    )  # fmt: skip
    columns = ("judge", "ruling", "share of the commonest ruling", "cases")
    histogram = Table("steadiness histogram", "How steady, case by case", columns, counts)
    return [table for table in (steadied, histogram) if table.rows]


def doubtful(record: Record) -> list[tuple[str, str]]:
    """Judge and case wherever a judge gave no mark at all, or its rulings on a case that was heard again have no
    majority: what people should look at.
    """
    rulings: dict[tuple[str, str], list[str]] = {}
    for verdict in record:
        told = f"{verdict.fault} {verdict.trial}" if verdict.fault else str(verdict.marks)
        rulings.setdefault((verdict.judge, verdict.case), []).append(told)
    marked = {(verdict.judge, verdict.case) for verdict in record if verdict.fault is None}
    return [
        place
        for place, told in rulings.items()
        if place not in marked or (len(told) > 1 and 2 * max(map(told.count, told)) <= len(told))
    ]
