"""Leaderboard settings, tables and page. Kept separate from judging, which is slow to import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from fullbench.analysis.boards.leaderboard import Settings
from fullbench.analysis.boards.leaderboard_companion_tables import standing_tables
from fullbench.analysis.boards.matches_from_verdicts import RULES
from fullbench.columns.verdict_columns import Columns
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VOTE_RULES
from fullbench.stats.ratings.tie_models import Ties


def parse_settings(
    rule: str | None, ties: str, seed: int, reference: str | None = None, *, visible: bool = False, strong: float = 1.0
) -> Settings:
    """Parse and check the settings of a leaderboard.

    A rule combines verdicts on the same responses: both orders of a judge, or several votes of people. A rule that
    applies to only one of them leaves the other at its default.
    """
    if rule is not None and rule not in {*RULES, *VOTE_RULES}:
        known_rules = ", ".join(dict.fromkeys((*RULES, *VOTE_RULES)))
        raise InputError(f"unknown rule {rule!r}; known: {known_rules}")
    orders = RULES[RULES.index(rule)] if rule in RULES else "mean"
    votes = VOTE_RULES[VOTE_RULES.index(rule)] if rule in VOTE_RULES else "default"
    tie_rules: tuple[Ties, ...] = get_args(Ties)
    if ties not in tie_rules:
        raise InputError(f"unknown way of rating ties {ties!r}; known: {', '.join(tie_rules)}")
    tie_rule = tie_rules[tie_rules.index(ties)]
    return Settings(orders, tie_rule, reference, seed, votes=votes, visible=visible, strong=strong)


def leaderboard_tables(
    record: Record, judge: str, board_settings: Settings, tag: str | None = None, *, columns: Columns | None = None
) -> list[Table]:
    """Return the leaderboard's tables with a heat map by a tag of the items; the default tag is `family`."""
    if tag is None and any("family" in item.tags for item in record.items.values()):
        tag = "family"
    contestants = record.contestants if columns is None else columns.names["contestant"]
    if board_settings.reference not in contestants:
        board_settings = replace(board_settings, reference=None)
    return standing_tables(record, judge, board_settings, tag=tag, columns=columns)


def items_with_tag(record: Record, condition: str) -> tuple[list[str], Note]:
    """Return the items that match `TAG=VALUE`, and a note about the selection."""
    tag, separator, value = condition.partition("=")
    values = sorted({item.tags[tag] for item in record.items.values() if tag in item.tags})
    if not separator or value not in values:
        hint = f"its values are {', '.join(values)}" if values else "no item has that tag"
        raise InputError(f"--only takes TAG=VALUE of a tag that items have; found {condition!r}: {hint}")
    items = [name for name, item in record.items.items() if item.tags.get(tag) == value]
    return items, Note("board-tables.only", tag=tag, value=value, n=len(items), all=len(record.items))


def write_leaderboard_page(record: Record, tables: Sequence[Table], out: Path, digest: str) -> None:
    """Write the leaderboard as an HTML page with charts."""
    from fullbench.reports.results_page import write_page as render

    render("Leaderboard", record, tables, out, source={"ledger": digest})
