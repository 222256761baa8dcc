"""The benchmark's tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from fullbench.analysis import all_tables
from fullbench.analysis.boards.leaderboard import Settings, boards
from fullbench.analysis.boards.leaderboard_details import standings
from fullbench.analysis.boards.matches_from_verdicts import Rule
from fullbench.analysis.people import reference_checks
from fullbench.analysis.scope_text import place, placed
from fullbench.benchmarks.visit_bench import agreement_with_votes, instruction_content_tables
from fullbench.benchmarks.visit_bench.items_from_release import REFERENCE, is_judged
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.rubric import is_check, is_review
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE
from fullbench.stats.intervals.share_intervals import wilson

FAMILY = "family"
RULE: Rule = "both-agree"
"""The paper's rule for two orders: who wins in both has won, anything else is a tie."""


KINDS: Mapping[str, str] = {
    "single": Note("visit-bench.tables.place.single", ", one image"),
    "multi": Note("visit-bench.tables.place.multi", ", several images"),
}
"""The values of the tag `images`, in words that stand behind a title."""


def tables(record: Record) -> list[Table]:
    """A leaderboard for each judge, the families, judges beside people where people voted, faults and cost."""
    every, record = record, record.where(lambda verdict: not is_check(verdict))
    shown: list[Table] = []
    # Items of one's own may belong to no family.
    tag = FAMILY if any(FAMILY in item.tags for item in record.items.values()) else None
    for judge in record.judges:
        # The paper takes every single vote of a person for a match.
        votes = Settings(reference=REFERENCE, votes="each")
        settings = votes if judge == PEOPLE else Settings(rule=RULE, reference=REFERENCE)
        shown += standings(record, judge, settings, tag=tag)
        shown += by_images(record, judge, settings)
    for criterion, part in record.where(lambda verdict: not is_review(verdict)).by("criterion").items():
        if PEOPLE in part.judges:
            behind = place("", criterion)
            shown += [
                replace(table, name=f"{table.name}{behind}", title=placed(table.title, behind))
                for table in (agreement_with_votes.agreement(part), agreement_with_votes.systems(part))
            ]
    shown += [
        reference_checks.checked(every),
        labels(every),
        verified(every),
        *instruction_content_tables.tables(every.items.values()),
    ]
    shown += [all_tables.faults(record, together=True), all_tables.costs(record)]
    return [table for table in shown if table.rows]


def by_images(record: Record, judge: str, settings: Settings) -> list[Table]:
    """The leaderboards of items with one image and with several, as in Tables 3 and 4; none where all are of a kind."""
    kinds = record.where(judge=judge).by(lambda verdict: record.tag(verdict, "images"))
    if not set(KINDS) <= set(kinds):
        return []
    return [
        replace(table, name=f"standings{board.key.on()}, {kind}", title=placed(table.title, KINDS[kind]))
        for kind in KINDS for board in boards(kinds[kind], replace(settings, elo=True))
        if (table := board.table("standings")).rows
    ]  # fmt: skip


def labels(record: Record) -> Table:
    """How many items there are of each kind, and what people said of their references."""
    counts = Counter(
        (item.tags.get("images", ""), item.tags.get("label", "")) for item in record.items.values() if item.tags
    )
    rows: list[list[Cell]] = [[images, label, count] for (images, label), count in sorted(counts.items()) if label]
    return Table(
        "labels",
        Note("visit-bench.tables.title.the-items-that-were-judged", "The items that were judged"),
        headings("images", "people said", "items"),
        rows,
    )


def verified(record: Record) -> Table:
    """What people said of the references: the share of each label, overall and by the number of images (Table 2)."""
    groups: dict[str, list[str]] = {}
    for item in record.items.values():
        if label := item.tags.get("label"):
            for group in ("overall", item.tags.get("images", "")):
                if group:
                    groups.setdefault(group, []).append(label)
    names = ("correct", "caption at fault", "reference at fault")
    rows: list[list[Cell]] = [
        [group, name, wilson(found.count(name), len(found))] for group, found in groups.items() for name in names
    ]
    left = sum(not is_judged(item) for item in record.items.values())
    notes = (
        [Note("visit-bench.tables.unverified", "{n:,} items without a verified reference are not judged.", n=left)]
        if left
        else []
    )
    title = Note("visit-bench.tables.title.verified", "What people said of the references")
    hint = {"kind": "bars", "label": "images", "value": "share", "group": "people said"}
    return Table("verified", title, headings("images", "people said", "share"), rows, notes, {}, hint)
