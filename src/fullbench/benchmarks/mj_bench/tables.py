"""The benchmark's tables."""

from __future__ import annotations

from fullbench.analysis import all_tables as standard
from fullbench.benchmarks.mj_bench import (
    charts,
    fairness,
    generator_rankings,
    picture_preferences,
    scale_and_order_studies,
)
from fullbench.core.record import Record
from fullbench.core.table import Table


def tables(record: Record) -> list[Table]:
    """All tables that the record has something for; who recused, refused or was unreadable comes last."""
    even = fairness.tables(record)
    all_tables = [
        *picture_preferences.tables(record),
        *scale_and_order_studies.tables(record),
        *even,
        *charts.tables(record, even),
    ]
    all_tables += generator_rankings.tables(record)
    all_tables += [standard.faults(record, together=True), standard.reasons(record), standard.costs(record)]
    return [table for table in all_tables if table.rows]
