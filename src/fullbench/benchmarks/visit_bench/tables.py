"""Tables of VisIT-Bench: leaderboards, families, agreement with people, reference labels, costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from fullbench.analysis import all_tables
from fullbench.analysis.boards.leaderboard import Settings, build_boards
from fullbench.analysis.boards.leaderboard_details import standing_tables
from fullbench.analysis.boards.matches_from_verdicts import Rule
from fullbench.analysis.people import reference_checks
from fullbench.analysis.scope_text import scope_suffix, title_with_scope
from fullbench.benchmarks.visit_bench import agreement_with_votes, instruction_content_tables
from fullbench.benchmarks.visit_bench.items_from_release import REFERENCE, is_judged
from fullbench.core.column_labels import table_columns
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.rubric import is_check, is_review
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE
from fullbench.stats.intervals.share_intervals import wilson_interval

FAMILY = "family"
RULE: Rule = "both-agree"
"""The paper's rule for two orders: a winner must win in both, anything else is a tie."""


KINDS: Mapping[str, str] = {
    "single": Note("visit-bench.tables.place.single"),
    "multi": Note("visit-bench.tables.place.multi"),
}
"""Additions to a title by the value of the tag `images`."""


def tables(record: Record) -> list[Table]:
    """Return a leaderboard per judge, families, agreement with people if they voted, unusable verdicts and costs."""
    full_record, record = record, record.where(lambda verdict: not is_check(verdict))
    benchmark_tables: list[Table] = []
    # A user's own items may have no family.
    tag = FAMILY if any(FAMILY in item.tags for item in record.items.values()) else None
    for judge in record.judges:
        # The paper counts every single vote of a person as a match.
        votes = Settings(reference=REFERENCE, votes="each")
        settings = votes if judge == PEOPLE else Settings(rule=RULE, reference=REFERENCE)
        benchmark_tables += standing_tables(record, judge, settings, tag=tag)
        benchmark_tables += leaderboards_by_images(record, judge, settings)
    for criterion, part in record.where(lambda verdict: not is_review(verdict)).by("criterion").items():
        if PEOPLE in part.judges:
            behind = scope_suffix("", criterion)
            benchmark_tables += [
                replace(table, name=f"{table.name}{behind}", title=title_with_scope(table.title, behind))
                for table in (
                    agreement_with_votes.agreement_table(part),
                    agreement_with_votes.rating_correlation_table(part),
                )
            ]
    benchmark_tables += [
        reference_checks.reference_table(full_record),
        label_count_table(full_record),
        label_share_table(full_record),
        *instruction_content_tables.content_tables(full_record.items.values()),
    ]
    benchmark_tables += [all_tables.fault_table(record, together=True), all_tables.cost_table(record)]
    return [table for table in benchmark_tables if table.rows]


def leaderboards_by_images(record: Record, judge: str, settings: Settings) -> list[Table]:
    """Return leaderboards for items with one image and with several (Tables 3 and 4), if there are both."""
    kinds = record.where(judge=judge).by(lambda verdict: record.tag(verdict, "images"))
    if not set(KINDS) <= set(kinds):
        return []
    return [
        replace(
            table, name=f"board{board.key.scope_suffix()}, {kind}", title=title_with_scope(table.title, KINDS[kind])
        )
        for kind in KINDS
        for board in build_boards(kinds[kind], replace(settings, elo=True))
        if (table := board.table("board")).rows
    ]


def label_count_table(record: Record) -> Table:
    """Count the items by number of images and by people's label of the reference."""
    counts = Counter(
        (item.tags.get("images", ""), item.tags.get("label", "")) for item in record.items.values() if item.tags
    )
    rows: list[list[Cell]] = [[images, label, count] for (images, label), count in sorted(counts.items()) if label]
    return Table(
        "labels",
        Note("visit-bench.tables.title.the-items-that-were-judged"),
        table_columns("images", "people said", "items"),
        rows,
    )


def label_share_table(record: Record) -> Table:
    """Return the share of each reference label, overall and by number of images (Table 2)."""
    groups: dict[str, list[str]] = {}
    for item in record.items.values():
        if label := item.tags.get("label"):
            for group in ("overall", item.tags.get("images", "")):
                if group:
                    groups.setdefault(group, []).append(label)
    names = ("correct", "caption at fault", "reference at fault")
    rows: list[list[Cell]] = [
        [group, name, wilson_interval(group_labels.count(name), len(group_labels))]
        for group, group_labels in groups.items()
        for name in names
    ]
    unverified_count = sum(not is_judged(item) for item in record.items.values())
    notes = [Note("visit-bench.tables.unverified", n=unverified_count)] if unverified_count else []
    title = Note("visit-bench.tables.title.verified")
    hint = {"kind": "bars", "label": "images", "value": "share", "group": "people said"}
    return Table("verified", title, table_columns("images", "people said", "share"), rows, notes, {}, hint)
