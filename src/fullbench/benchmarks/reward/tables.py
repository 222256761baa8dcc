"""Tables of the reward benchmarks: accuracy by category, unusable verdicts, costs."""

from __future__ import annotations

from fullbench.analysis import standard_verdict_tables
from fullbench.analysis.agreement.by_tag import agreement_tables
from fullbench.analysis.agreement.judges_with_people import compare_with_people
from fullbench.core.table import Table
from fullbench.core.verdict_record import Record


def tables(record: Record) -> list[Table]:
    """Return accuracy by category with the mean over categories and over all pairs, unusable verdicts and costs."""
    benchmark_tables = agreement_tables(compare_with_people(record), ["category"])
    benchmark_tables += [
        standard_verdict_tables.fault_table(record, together=True),
        standard_verdict_tables.cost_table(record),
    ]
    return [table for table in benchmark_tables if table.rows]
