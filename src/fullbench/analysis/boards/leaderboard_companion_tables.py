"""Tables that accompany a leaderboard: effect of the rule, head-to-head, item families, fit, style."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.boards.leaderboard import (
    Board,
    Settings,
    build_board,
    build_boards,
    count_matches,
    further_notes,
)
from fullbench.analysis.boards.matches_from_verdicts import RULES, Matches, select_judge
from fullbench.analysis.boards.style_control_tables import length_controlled_table, style_tables
from fullbench.analysis.boards.unusable_verdicts_and_bounds_by_contestant import (
    unusable_counts,
    unusable_counts_of_pairs,
    unusable_verdicts,
    with_unusable_column,
)
from fullbench.analysis.people.joined_votes import merge_lead_verdicts
from fullbench.analysis.scope_suffixes_of_table_titles import title_with_scope
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.columns.verdict_columns import Columns
from fullbench.core.built_in_table_columns import data_column, table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VOTE_RULES
from fullbench.stats.ratings.rating_diagnostics import predict_pairs


def standing_tables(
    record: Record,
    judge: str | None = None,
    settings: Settings | None = None,
    *,
    tag: str | None = None,
    columns: Columns | None = None,
) -> list[Table]:
    """Return all tables of one judge's leaderboards, one set for each criterion and ballot family.

    `tag` adds the win rate in each family of items that the tag names. `columns` are the same verdicts as read from a
    ledger, which include their study and the failed calls.
    """
    active_settings = replace(settings or Settings(), elo=True)
    columns = merge_lead_verdicts(columns_from_verdicts(record) if columns is None else columns, active_settings.votes)
    all_boards = list(build_boards(columns.where(judge=select_judge(columns.judges(), judge)), active_settings))
    criteria = Counter((leaderboard.key.study, leaderboard.key.criterion) for leaderboard in all_boards)
    shown_tables: list[Table] = []
    for leaderboard in all_boards:
        has_families = criteria[leaderboard.key.study, leaderboard.key.criterion] > 1
        place = leaderboard.key.scope_suffix() if len(all_boards) > 1 else ""
        if has_families:
            place = Note("place.and-family", place=place, family=word_note(leaderboard.key.family))
        shown_tables += _name_tables(_board_tables(record, columns, leaderboard, tag, family=has_families), place)
    return [table for table in shown_tables if table.rows]


def _name_tables(tables: Sequence[Table], place: str) -> Iterator[Table]:
    for table in tables:
        title = table.title if table.name == "board" else title_with_scope(table.title, place)
        yield replace(table, name=f"{table.name}{place}", title=title)


def _board_tables(
    record: Record, columns: Columns, leaderboard: Board, tag: str | None, *, family: bool
) -> list[Table]:
    main = leaderboard.table("board", family=family)
    ratings = [leaderboard.rating_of(name) for name in leaderboard.contestants]
    main = replace(main, notes=[*main.notes, *further_notes(leaderboard.matches, ratings)])
    if not len(leaderboard.matches):
        return [main]
    names, reference = leaderboard.matches.names, leaderboard.settings.reference
    counts, lost = unusable_counts(leaderboard.columns), unusable_verdicts(leaderboard.columns)
    of_pairs = unusable_counts_of_pairs(lost, names)
    against_reference = {name: of_pairs[name, reference] for name in names} if reference in names else {}
    style, ratings_of_style = style_tables(record, leaderboard)
    shown_tables = [
        main,
        with_unusable_column(rule_effect_table(columns, leaderboard), counts),
        with_unusable_column(win_table(leaderboard.matches), of_pairs, ("contestant", "against")),
        with_unusable_column(fit_table(leaderboard), of_pairs, ("contestant", "against")),
        style,
        with_unusable_column(ratings_of_style, counts),
        with_unusable_column(length_controlled_table(record, leaderboard), against_reference),
    ]
    return shown_tables if tag is None else [*shown_tables, *_family_tables(record, leaderboard, tag, lost)]


def _family_tables(
    record: Record, leaderboard: Board, tag: str, lost: Sequence[tuple[str, list[str]]]
) -> Iterator[Table]:
    """Yield the win rates in each family of items; `lost` are the item and contestants of unusable verdicts."""
    names, reference = leaderboard.matches.names, leaderboard.settings.reference
    by_family: dict[str, list[tuple[str, list[str]]]] = defaultdict(list)
    for item, contestants in lost:
        by_family[record.items[item].tags.get(tag, "") if item in record.items else ""].append((item, contestants))
    labels = (tag, "contestant")
    counts = Counter(
        (family, name) for family, verdicts in by_family.items() for _, contestants in verdicts for name in contestants
    )
    yield with_unusable_column(family_win_table(record, leaderboard.matches, tag), counts, labels)
    if reference in names:
        of_pairs = {family: unusable_counts_of_pairs(verdicts, names) for family, verdicts in by_family.items()}
        counts = Counter({(family, name): of_pairs[family][name, reference] for family in of_pairs for name in names})
        yield with_unusable_column(family_win_table(record, leaderboard.matches, tag, reference), counts, labels)


def rule_effect_table(columns: Columns, leaderboard: Board) -> Table:
    """Return every contestant's rating and the share of ties under each rule."""
    key = leaderboard.key
    board_verdicts = columns.where(study=key.study, judge=key.judge, criterion=key.criterion)
    (board_verdicts,) = (part for (family,), part in board_verdicts.by("family") if family == key.family)
    ratings_by_rule: dict[str, dict[str, Cell]] = {}
    shares: list[str] = []
    plain = replace(leaderboard.settings, elo=False, reference=None)
    settings = (
        {rule: replace(plain, votes=rule) for rule in VOTE_RULES if rule not in {"default", "adjudicated"}}
        if key.votes
        else {rule: replace(plain, rule=rule) for rule in RULES}
    )
    for rule, rule_settings in settings.items():
        rule_board = build_board(board_verdicts, replace(key, orders=rule_settings.rule), rule_settings)
        if len(rule_board.matches):
            ratings_by_rule[rule] = {name: rule_board.rating_of(name) for name in rule_board.contestants}
            ties = (rule_board.matches.rows.outcome == 0.5).astype(np.float64)
            shares.append(
                f"{rule} {item_clustered_means_and_shares.share_estimate(ties, rule_board.matches.rows.item)}"
            )
    names = sorted({name for ratings in ratings_by_rule.values() for name in ratings})
    rows: list[list[Cell]] = [[name, *(ratings.get(name) for ratings in ratings_by_rule.values())] for name in names]
    notes = [Note("board.share-of-ties", names="; ".join(shares))]
    orders = Note("board.title.what-the-rule-for-two")
    votes = Note("board.title.what-the-rule-for-several")
    return Table(
        "rules",
        votes if key.votes else orders,
        table_columns("contestant", *(f"way {rule}" for rule in ratings_by_rule)),
        rows,
        notes,
    )


def win_table(judge_matches: Matches) -> Table:
    """Return the share of matches that the row's contestant won; ties count half."""
    matches = judge_matches.rows
    rows: list[list[Cell]] = []
    for row, name in enumerate(judge_matches.names):
        for column, rival in enumerate(judge_matches.names):
            first, second = (
                (matches.first == row) & (matches.second == column),
                (matches.first == column) & (matches.second == row),
            )
            selection = first | second
            if selection.any():
                outcomes = np.where(first, matches.outcome, 1 - matches.outcome)[selection]
                rows.append(
                    [name, rival, item_clustered_means_and_shares.share_estimate(outcomes, matches.item[selection])]
                )
    hint = {"kind": "heat", "row": "contestant", "column": "against", "value": "won"}
    return Table(
        "wins",
        Note("board.title.who-beats-whom"),
        table_columns("contestant", "against", "won"),
        rows,
        (),
        {},
        hint,
    )


def family_win_table(record: Record, judge_matches: Matches, tag: str, reference: str | None = None) -> Table:
    """Return the win rate of each contestant in each family of items, or only against `reference` if given.
    Families without a decided match are listed below the table.
    """
    if reference is not None and reference not in judge_matches.names:
        raise InputError(f"the reference {reference!r} is not among the contestants: {', '.join(judge_matches.names)}")
    tags = {item.id: item.tags.get(tag, "") for item in record.items.values()}
    if tags and not any(tags.values()):
        there = sorted({name for item in record.items.values() for name in item.tags})
        raise InputError(f"no item has the tag {tag!r}; tags there: {', '.join(there) or 'none'}")
    matches = judge_matches.rows
    labels = np.array([tags.get(item, "") for item in judge_matches.items] or [""])[matches.item]
    rows: list[list[Cell]] = []
    for family in sorted(set(labels.tolist()) - {""}):
        for who, name in enumerate(judge_matches.names):
            first, second = (matches.first == who) & (labels == family), (matches.second == who) & (labels == family)
            if name == reference:
                continue
            if reference is not None:
                reference_code = judge_matches.names.index(reference)
                first, second = first & (matches.second == reference_code), second & (matches.first == reference_code)
            selection = first | second
            if selection.any():
                outcomes = np.where(first, matches.outcome, 1 - matches.outcome)[selection]
                rows.append(
                    [family, name, item_clustered_means_and_shares.share_estimate(outcomes, matches.item[selection])]
                )
    empty = sorted(set(tags.values()) - {"", *(str(row[0]) for row in rows)})
    notes = [Note("board.no-match-was-settled-in", names=", ".join(empty))] if empty else []
    hint = {"kind": "heat", "row": tag, "column": "contestant", "value": "won"}
    words = "" if reference is None else Note("board.against", reference=reference)
    return Table(
        f"by {tag}" if reference is None else f"by {tag} against {reference}",
        Note("board.title.matches-won-by", words=words, tag=tag),
        table_columns(data_column(tag), "contestant", "won"),
        rows,
        notes,
        {},
        hint,
    )


def fit_table(leaderboard: Board) -> Table:
    """Return the predicted and the observed win rate of each pair."""
    names = leaderboard.matches.names
    notes: list[str] = []
    rows: list[list[Cell]] = []
    if leaderboard.ratings is not None:
        pairs = predict_pairs(leaderboard.ratings, count_matches(leaderboard.matches))
        miss_count = sum(pair.is_missed for pair in pairs)
        rows = [[names[pair.first], names[pair.second], pair.observed_share, pair.predicted_share] for pair in pairs]
        notes.append(Note("board.of-predictions-lie-outside-the", missed=miss_count, n=len(pairs)))
    hint = {"kind": "scatter", "x": "predicted", "y": "observed", "label": "contestant"}
    return Table(
        "fit",
        Note("board.title.observed-and-predicted"),
        table_columns("contestant", "against", "observed", "predicted"),
        rows,
        notes,
        {},
        hint,
    )
