"""The benchmark's tables."""

from __future__ import annotations

from collections.abc import Collection

from fullbench.analysis import all_tables
from fullbench.analysis.agreement import among_people, by_tag, judges_with_people, repeats_and_orders
from fullbench.analysis.bias import bias_probes
from fullbench.benchmarks.mllm_judge import reviews_of_verdicts
from fullbench.benchmarks.mllm_judge.charts import drawings
from fullbench.columns.column_builder import columns_of
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
"""The contestants of the release that are of a released judge's own family."""


def family(judge: str, contestants: Collection[str]) -> set[str]:
    """The contestants of the judge's own family: known ones, the very model it is made of, and those named alike.

    >>> sorted(family("gpt-4o+analyze#12", ["gpt-4o", "gpt-4o-mini", "gemini-pro"])), family("m+direct#1", ["m-b"])
    (['gpt-4o', 'gpt-4o-mini'], set())
    """
    model = judge.partition("+")[0]
    kin = family_of(model)
    # A first word of one or two letters is no family: test models and numbered ones have such.
    alike = {name for name in contestants if len(kin) > 2 and family_of(name) == kin}
    return alike | {name for name in contestants if name == model or name in FAMILIES.get(judge, set())}


def tables(record: Record) -> list[Table]:
    """All tables that the record has something for."""
    heard = record.where(lambda verdict: not is_review(verdict))
    shown: list[Table] = []
    meetings = judges_with_people.meet(heard) if PEOPLE in heard.judges else None
    if meetings is not None:
        names = heard.contestants

        def kin(judge: str) -> set[str]:
            return {name for spelling in heard.spellings(judge) for name in family(spelling, names)}

        shown += by_tag.agreement_tables(meetings, TAGS, p_values=True)
        shown.append(by_tag.decided_by_all(meetings))
        shown.append(bias_probes.positions(meetings))
        by_judge = (bias_probes.probes(meetings, judge, own=kin(judge)) for judge in meetings.judges)
        shown.append(bias_probes.table(finding for findings in by_judge for finding in findings))
    shown += repeats_and_orders.tables(heard)
    if len(heard) < len(record):
        shown += reviews_of_verdicts.tables(record)
    shown += drawings(heard, meetings, shown)
    shown.append(among_people.table(columns_of(record)))
    shown += [all_tables.faults(heard, together=True), all_tables.costs(heard)]
    return [table for table in shown if table.rows]
