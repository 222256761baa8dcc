"""Leaderboard settings, tables and page. Kept separate from judging, which is slow to import."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

from fullbench.analysis.boards.leaderboard import Settings
from fullbench.analysis.boards.leaderboard_companion_tables import standing_tables
from fullbench.analysis.boards.matches_from_verdicts import RULES, Rule
from fullbench.analysis.summary.paper_study_summary_with_main_table import paper_source
from fullbench.columns.verdict_columns import Columns
from fullbench.core.benchmark import Benchmark
from fullbench.core.table import Table, sort_value
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE
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
        raise InputError(f"unknown rule for ties {ties!r}; known: {', '.join(tie_rules)}")
    tie_rule = tie_rules[tie_rules.index(ties)]
    return Settings(orders, tie_rule, reference, seed, votes=votes, visible=visible, strong=strong)


PAPER_RULE: Rule = "both-agree"
"""The paper's rule for two orders: a winner must win in both, anything else is a tie."""


def paper_differences(
    *, rule: str | None, ties: str, prompt_style: str | None = None, schedule: str = "uniform", bench: Benchmark | None
) -> Iterator[str]:
    """Yield each difference of a leaderboard's options from VisIT-Bench's protocol.

    Args:
        rule: Rule that joins two orders; None is the usual one, mean.
        ties: How ratings treat ties.
        prompt_style: Prompt style of the judge; None if it takes no prompts.
        schedule: Choice of matches.
        bench: Benchmark with the paper's prompt style; None if nobody is judged.
    """
    if (rule or "mean") != PAPER_RULE:
        yield f"rule {rule or 'mean'!r}, in the paper {PAPER_RULE!r}"
    if ties != "half":
        yield f"ties {ties!r}, in the paper 'half'"
    if schedule != "uniform":
        yield f"schedule {schedule!r}, in the paper opponents are drawn at random ('uniform')"
    if bench is not None and bench.prompt_style_of_paper and prompt_style is not None:
        used_style = prompt_style or bench.prompt_styles[0]
        if used_style != bench.prompt_style_of_paper:
            yield f"prompt style {used_style!r}, in the paper {bench.prompt_style_of_paper!r}"


def check_protocol(protocol: str | None, *, is_replaced: bool = False) -> bool:
    """Return True for the paper's protocol; raise if the name is unknown, or if other options replace a part of it."""
    if protocol not in {None, "paper"}:
        raise InputError(f"unknown protocol {protocol!r}; known: paper")
    if protocol and is_replaced:
        raise InputError(
            "--protocol paper sets the rule, ties and board. Leave out --rule, --ties, --joint, --means and --corrected"
        )
    return protocol is not None


def paper_rule(judge: str) -> str:
    """Return the paper's rule: every single vote of a person is a match; two orders of a judge have to agree."""
    return "each" if judge == PEOPLE else PAPER_RULE


def follow_protocol(
    tables: Sequence[Table], *, is_paper: bool, rule: str | None, ties: str, reference: str
) -> tuple[list[Table], list[str]]:
    """Return the tables as the paper prints them; or as they are, with a message for each difference.

    Args:
        tables: The boards.
        is_paper: True if the paper's protocol was asked for.
        rule: Rule that joins two orders.
        ties: How ratings treat ties.
        reference: Contestant that others are compared with. Without it, this is no leaderboard of the paper's kind.
    """
    if is_paper:
        return paper_leaderboard(tables), []
    if not any(reference in map(str, table.column("contestant")) for table in tables if table.place("contestant")):
        return list(tables), []
    differences = [
        *paper_differences(rule=rule, ties=ties, bench=None),
        "the board is ordered by Bradley-Terry ratings, in the paper by Elo",
    ]
    return list(tables), [f"Not the paper's protocol (visitbench): {'; '.join(differences)}."]


def paper_leaderboard(tables: Sequence[Table]) -> list[Table]:
    """Return tables with the boards by Elo, as the paper prints them; the first one becomes the main table."""
    result = []
    for table in tables:
        if not table.name.startswith("board") or table.place("Elo") is None:
            result.append(table)
            continue
        first = [place for key in _PAPER_COLUMNS if (place := table.place(key)) is not None]
        places = [*first, *(place for place in range(len(table.columns)) if place not in first)]
        elo = places[1]
        rows = sorted(table.rows, key=lambda row: -(sort_value(row[elo]) or 0.0))
        by_elo = replace(
            table,
            columns=tuple(table.columns[place] for place in places),
            rows=[[row[place] for place in places] for row in rows],
            source={**table.source, **paper_source("VisIT-Bench", "Elo")},
        )
        result.append(by_elo)
    return result


_PAPER_COLUMNS = ("contestant", "Elo", "Elo over orders", "matches", "wins against the reference")


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
