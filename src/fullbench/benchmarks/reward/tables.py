"""What is shown."""

from __future__ import annotations

from fullbench.figures import standard
from fullbench.figures.agreement_by_tag import agreement_tables
from fullbench.figures.judging import meet
from fullbench.core.record import Record
from fullbench.core.table import Table


def tables(record: Record) -> list[Table]:
    """Accuracy by category with the mean over categories, all pairs in one, faults, costs."""
    shown = agreement_tables(meet(record), ["category"])
    shown += [standard.faults(record, together=True), standard.costs(record)]
    return [table for table in shown if table.rows]
