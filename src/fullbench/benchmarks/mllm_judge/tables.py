"""Tables of MLLM-as-a-Judge: agreement with people, biases, consistency, reviews, charts, costs."""

from __future__ import annotations

from collections.abc import Collection

from fullbench.analysis import all_tables
from fullbench.analysis.agreement import among_people, by_tag, judges_with_people, repeats_and_orders
from fullbench.analysis.bias import bias_probes
from fullbench.benchmarks.mllm_judge import reviews_of_verdicts
from fullbench.benchmarks.mllm_judge.charts import chart_tables
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.core.model import family_of
from fullbench.core.record import Record
from fullbench.core.rubric import is_review
from fullbench.core.table import Table
from fullbench.core.verdict import PEOPLE

TAGS = ("dataset", "abilities")
FAMILIES = {
    "CogVLM": {"cogvlm"},
    "GPT-4V": {"gpt4"},
    "Gemini": {"gemini"},
    "Gemini-2.5-Flash": {"gemini"},
    "LLaVA-1.5-13b": {"llava"},
    "LLaVA-Critic-7B": {"llava"},
}
"""Contestants of the release that belong to a released judge's own family."""


def family_members(judge: str, contestants: Collection[str]) -> set[str]:
    """Return the contestants of the judge's own family: listed ones, its own model, and models with a similar name.

    >>> (sorted(family_members("gpt-4o+analyze#12", ["gpt-4o", "gpt-4o-mini", "gemini-pro"])),
    ...  family_members("m+direct#1", ["m-b"]))
    (['gpt-4o', 'gpt-4o-mini'], set())
    """
    model = judge.partition("+")[0]
    family_name = family_of(model)
    # A first word of one or two letters is not a family name; test models and numbered models begin so.
    similar_names = {name for name in contestants if len(family_name) > 2 and family_of(name) == family_name}
    return similar_names | {name for name in contestants if name == model or name in FAMILIES.get(judge, set())}


def tables(record: Record) -> list[Table]:
    """Return all tables that have rows."""
    judge_record = record.where(lambda verdict: not is_review(verdict))
    benchmark_tables: list[Table] = []
    comparison = judges_with_people.compare_with_people(judge_record) if PEOPLE in judge_record.judges else None
    if comparison is not None:
        names = judge_record.contestants

        def own_family(judge: str) -> set[str]:
            return {name for spelling in judge_record.spellings(judge) for name in family_members(spelling, names)}

        benchmark_tables += by_tag.agreement_tables(comparison, TAGS, p_values=True)
        benchmark_tables.append(by_tag.accuracy_on_decided_pairs(comparison))
        benchmark_tables.append(bias_probes.position_table(comparison))
        by_judge = (
            bias_probes.probe_biases(comparison, judge, own_contestants=own_family(judge))
            for judge in comparison.judges
        )
        benchmark_tables.append(bias_probes.bias_table(finding for findings in by_judge for finding in findings))
    benchmark_tables += repeats_and_orders.steadiness_tables(judge_record)
    if len(judge_record) < len(record):
        benchmark_tables += reviews_of_verdicts.review_tables(record)
    benchmark_tables += chart_tables(judge_record, comparison, benchmark_tables)
    benchmark_tables.append(among_people.people_agreement_table(columns_from_verdicts(record)))
    benchmark_tables += [all_tables.fault_table(judge_record, together=True), all_tables.cost_table(judge_record)]
    return [table for table in benchmark_tables if table.rows]
