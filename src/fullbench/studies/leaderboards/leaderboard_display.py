"""A leaderboard as it is shown: settings from words, tables, the page. Apart from asking, which is slow to import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from fullbench.analysis.boards.leaderboard import Settings
from fullbench.analysis.boards.leaderboard_details import standings
from fullbench.analysis.boards.matches_from_verdicts import RULES
from fullbench.columns.verdict_columns import Columns
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Table
from fullbench.errors import InputError
from fullbench.stats.agreement.vote_consensus import VOTE_RULES
from fullbench.stats.ratings.tie_models import Ties


def settings(
    rule: str | None, ties: str, seed: int, reference: str | None = None, *, visible: bool = False
) -> Settings:
    """Settings from words, each checked.

    A rule joins what one judge ruled on the same responses: both orders of a model, several votes of people. Some join
    one of them alone, and leave the other to its usual rule.
    """
    if rule is not None and rule not in {*RULES, *VOTE_RULES}:
        known_rules = ", ".join(dict.fromkeys((*RULES, *VOTE_RULES)))
        raise InputError(f"unknown rule {rule!r}; known: {known_rules}")
    orders = RULES[RULES.index(rule)] if rule in RULES else "mean"
    votes = VOTE_RULES[VOTE_RULES.index(rule)] if rule in VOTE_RULES else "default"
    known: tuple[Ties, ...] = get_args(Ties)
    if ties not in known:
        raise InputError(f"unknown way of rating ties {ties!r}; known: {', '.join(known)}")
    return Settings(orders, known[known.index(ties)], reference, seed, votes=votes, visible=visible)


def tables(
    record: Record, judge: str, chosen: Settings, tag: str | None = None, *, columns: Columns | None = None
) -> list[Table]:
    """The leaderboard's tables, the heat map by a tag of the items among them; by family where there are families."""
    if tag is None and any("family" in item.tags for item in record.items.values()):
        tag = "family"
    contestants = record.contestants if columns is None else columns.names["contestant"]
    if chosen.reference not in contestants:
        chosen = replace(chosen, reference=None)
    return standings(record, judge, chosen, tag=tag, columns=columns)


def with_tag(record: Record, said: str) -> tuple[list[str], Note]:
    """The items of a record whose tag has a value, from `TAG=VALUE`, and the sentence that says so."""
    tag, given, value = said.partition("=")
    values = sorted({item.tags[tag] for item in record.items.values() if tag in item.tags})
    if not given or value not in values:
        known = f"its values are {', '.join(values)}" if values else "no item has that tag"
        raise InputError(f"--only takes TAG=VALUE of a tag that items have; found {said!r}: {known}")
    items = [name for name, item in record.items.items() if item.tags.get(tag) == value]
    return items, Note(
        "board-tables.only", "Only items whose {tag} is {value}: {n:,} of {all:,}.",
        tag=tag, value=value, n=len(items), all=len(record.items),
    )  # fmt: skip


def page(record: Record, tables: Sequence[Table], out: Path, digest: str) -> None:
    """The leaderboard as a page with its charts."""
    from fullbench.reports.record_page import page as render

    render("Leaderboard", record, tables, out, source={"ledger": digest})
