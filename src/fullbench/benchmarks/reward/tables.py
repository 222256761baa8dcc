"""What is shown."""

from __future__ import annotations

from fullbench.analysis import all_tables
from fullbench.analysis.agreement.by_tag import agreement_tables
from fullbench.analysis.agreement.judges_with_people import meet
from fullbench.core.record import Record
from fullbench.core.table import Table


def tables(record: Record) -> list[Table]:
    """Accuracy by category with the mean over categories, all pairs in one, faults, costs."""
    shown = agreement_tables(meet(record), ["category"])
    shown += [all_tables.faults(record, together=True), all_tables.costs(record)]
    return [table for table in shown if table.rows]
