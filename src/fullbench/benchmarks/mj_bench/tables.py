"""All tables of MJ-Bench."""

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
    """Return all tables that have rows; unusable verdicts and costs come last."""
    even = fairness.fairness_tables(record)
    all_tables = [
        *picture_preferences.preference_tables(record),
        *scale_and_order_studies.study_tables(record),
        *even,
        *charts.chart_tables(record, even),
    ]
    all_tables += generator_rankings.generator_tables(record)
    all_tables += [
        standard.fault_table(record, together=True),
        standard.abstention_reasons_table(record),
        standard.cost_table(record),
    ]
    return [table for table in all_tables if table.rows]
