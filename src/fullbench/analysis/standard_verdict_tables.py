"""Standard tables of any set of verdicts: leaderboards, agreement, order effects, unusable verdicts, cost.

Each is a pure function of columns. Verdicts of different studies, judges, criteria or ballot families are never mixed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from fullbench.analysis import item_clustered_means_and_shares, pooled_single_item_criteria
from fullbench.analysis.agreement import (
    among_people,
    correlation_with_people_across_scales,
    count_of_verdicts_excluded_by_ballot_mismatch,
    graded_choice_agreement_and_order_effect,
    judges_with_people,
    repeats_and_orders,
)
from fullbench.analysis.agreement.judges_with_people import (
    AGREEMENT_METRICS,
    SHAPES,
    Agreement,
    PeopleComparison,
    compare_with_people,
    judge_agreements,
)
from fullbench.analysis.agreement.repeats_and_orders import position_effect
from fullbench.analysis.agreement.with_single_votes import single_vote_table
from fullbench.analysis.boards import leaderboard
from fullbench.analysis.boards.matches_from_verdicts import build_matches
from fullbench.analysis.marks_by_dialogue_turn import dialogue_turn_tables
from fullbench.analysis.people import corrected_leaderboards as corrections
from fullbench.analysis.people.voted_rows_check import CaseFacts
from fullbench.analysis.record_from_verdict_columns import comparable_record
from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL, scope_suffix, title_with_scope
from fullbench.analysis.summary.judge_trust import is_baseline
from fullbench.analysis.summary.study_summary import summary_tables
from fullbench.analysis.verdict_cost import FromCache, total_usage
from fullbench.analysis.views.view_verdict_helpers import PENDING, WAITS, waiting_mask
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.columns.verdict_columns import Columns, Due
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.model_call import Usage
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.core.verdict import FAULTS, PEOPLE
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VoteRule

Verdicts = Columns | Record


def verdict_tables(
    verdicts: Verdicts,
    *,
    against: str | None = None,
    rule: VoteRule = "default",
    visible: bool = False,
    strong: float = 1.0,
    with_corrections: bool = False,
    facts: CaseFacts | None = None,
    seed: int = 0,
    precomputed_costs: Table | None = None,
    texts: Record | None = None,
) -> list[Table]:
    """Return all tables for which the verdicts have data; the summary comes first.

    Args:
        against: judge that the others are compared with; default: people, if they voted.
        rule: rule that joins several votes on the same responses.
        visible: also count votes that were cast with names visible.
        strong: how often ratings count the strongest preference of a graded choice.
        with_corrections: put leaderboards corrected by people's votes first.
        facts: tags and lengths for these leaderboards; default: those of the record.
        precomputed_costs: cost table computed earlier, so that the columns need not hold usage.
        texts: items and responses, whose lengths the summary needs; default: those of the record.
    """
    all_columns = columns = _as_columns(verdicts)
    texts = verdicts if isinstance(verdicts, Record) else texts
    if against is not None and against not in columns.judges():
        there = ", ".join(columns.judges()) or "none"
        raise InputError(f"there is no judge {against!r} to compare the others with; there are: {there}")
    reference_judge = against or (PEOPLE if PEOPLE in columns.judges() else None)
    board_settings = leaderboard.Settings(votes=rule, visible=visible, seed=seed, strong=strong)
    single_item_mask = pooled_single_item_criteria.single_item_criteria_mask(columns)
    if has_single_item_criteria := bool(single_item_mask.any()):
        columns = columns.rows(~single_item_mask)
        all_columns = pooled_single_item_criteria.pool_criteria(all_columns, single_item_mask)
    shown_tables: list[Table] = []
    if with_corrections:
        known_facts = CaseFacts.from_record(verdicts) if isinstance(verdicts, Record) and facts is None else facts
        shown_tables += corrections.corrected_tables(columns, rule=rule, facts=known_facts)
    costs = cost_table(all_columns) if precomputed_costs is None else precomputed_costs
    boards = corrections.add_opinion_notes(columns, leaderboard.leaderboard_tables(columns, board_settings))
    boards.sort(key=lambda table: is_baseline(str(table.source.get("judge", ""))))
    summary = summary_tables(columns, boards, texts=texts, costs=costs, rule=rule, visible=visible, seed=seed)
    shown_tables = [*summary, *shown_tables, *boards]
    if reference_judge is not None:
        shown_tables += agreement_tables(columns, reference_judge, rule=rule, visible=visible, seed=seed)
        shown_tables += [
            correlation_with_people_across_scales.correlation_table(columns, reference_judge, seed=seed),
            count_of_verdicts_excluded_by_ballot_mismatch.uncompared_verdicts_table(columns, reference_judge),
        ]
    shown_tables += [
        *dialogue_turn_tables(columns),
        among_people.people_agreement_table(columns, seed=seed),
        order_effect_table(columns),
        *graded_choice_agreement_and_order_effect.graded_choice_tables(columns, rule, visible=visible, seed=seed),
        *repeats_and_orders.steadiness_tables(columns, seed=seed),
        fault_table(all_columns),
        abstention_reasons_table(all_columns),
        costs,
    ]
    if has_single_item_criteria:
        shown_tables.append(
            pooled_single_item_criteria.single_item_criteria_table(_as_columns(verdicts), single_item_mask)
        )
    return [table for table in shown_tables if table.rows]


def _as_columns(verdicts: Verdicts) -> Columns:
    return columns_from_verdicts(verdicts) if isinstance(verdicts, Record) else verdicts


Part = Literal["study", "criterion"]


def _scope_columns(columns: Columns) -> list[Part]:
    criteria = [columns.names["criterion"][code] for code in np.unique(columns.criterion)]
    several: dict[Part, bool] = {
        "study": len(np.unique(columns.study)) > 1,
        "criterion": criteria not in ([], [OVERALL]),
    }
    return [part for part, is_needed in several.items() if is_needed]


def _group_by_judge(
    columns: Columns, *, together: bool = False
) -> tuple[list[str], Iterator[tuple[list[Cell], Columns]]]:
    """Return the first headings of a table with a row per judge, and for each row its first cells and verdicts."""
    split = [] if together else _scope_columns(columns)
    groups = columns.by("judge", *split)
    return ["judge", *split], ((list[Cell](names), part) for names, part in groups)


def agreement_tables(
    verdicts: Verdicts, reference_judge: str, *, rule: VoteRule = "default", visible: bool = False, seed: int = 0
) -> list[Table]:
    """Return the agreement of each judge with `reference_judge` on scores, pairs and rankings, per criterion."""
    columns = _as_columns(verdicts)
    shown_tables = []
    several = len(np.unique(columns.study)) > 1
    for (study, criterion), part in columns.by("study", "criterion"):
        scope = scope_suffix(study if several else "", criterion)
        record = comparable_record(part, reference_judge)
        comparison = compare_with_people(record, reference_judge, rule, visible=visible)
        entries = [entry for judge in comparison.judges for entry in judge_agreements(comparison, judge, seed=seed)]
        for kind in AGREEMENT_METRICS:
            of_kind = [entry for entry in entries if entry.shape == kind]
            due = [
                outstanding
                for outstanding in columns.due
                if (outstanding.study, outstanding.criterion, SHAPES[outstanding.family]) == (study, criterion, kind)
                and outstanding.judge != reference_judge
            ]
            people_notes = _decided_by_people_notes(part, kind) if reference_judge == PEOPLE else []
            shown_tables.append(
                _agreement_table(comparison, kind, of_kind, scope, seed, due=due, people_notes=people_notes)
            )
        votes = single_vote_table(comparison)
        shown_tables.append(replace(votes, name=f"{votes.name}{scope}", title=title_with_scope(votes.title, scope)))
    return shown_tables


def _decided_by_people_notes(part: Columns, kind: str) -> list[Note]:
    latest = part.latest()
    is_by_people = latest.reading_mask(lambda reading: reading.is_by_people)
    return [
        Note(
            "standard.settled-by-people",
            judge=judge,
            n=len(rows),
        )
        for (judge, family), rows in latest.rows(is_by_people).by("judge", "family")
        if SHAPES[family] == kind
    ]


def _agreement_table(
    comparison: PeopleComparison,
    kind: str,
    entries: Sequence[Agreement],
    scope: str,
    seed: int,
    *,
    due: Sequence[Due],
    people_notes: Sequence[Note],
) -> Table:
    reference_judge, rule = comparison.people, comparison.rule(kind)
    metrics = list(AGREEMENT_METRICS[kind])
    notes = [
        Note("standard.beside-the-verdicts-of-on", other=reference_judge, rule=word_note(rule)),
        *comparison.notes(kind),
        *people_notes,
    ]
    notes += [
        Note("standard.undefined", judge=entry.judge, figure=word_note(name), why=reason)
        for entry in entries
        for name, reason in entry.undefined_reasons.items()
    ]
    best = sorted(entries, key=lambda entry: -entry.first.value if entry.first else float("inf"))
    missing: Counter[str] = Counter()
    for outstanding in due:
        missing[outstanding.judge] += outstanding.cases
    rows = [
        [entry.judge, *(entry.metrics.get(name) for name in metrics), entry.n, entry.faults]
        + ([missing[entry.judge]] if due else [])
        for entry in best
    ]
    notes += _due_notes(due)[:1]
    if any(judges_with_people.has_tied_ranks(comparison, entry.judge) for entry in entries if kind == "rankings"):
        notes.append(judges_with_people.TIED_RANKS)
    hint = {"kind": "intervals", "label": "judge", "value": metrics[0]}
    source = {"against": reference_judge, "rule": rule, "seed": seed}
    columns = table_columns("judge", *metrics, "n", "unusable", *(["due"] if due else []))
    title = Note("standard.title.agreement-with-on", other=reference_judge, kind=word_note(kind), behind=scope)
    return Table(f"agreement {kind}{scope}", title, columns, rows, notes, source, hint)


def order_effect_table(verdicts: Verdicts) -> Table:
    """Return how often the winner is the same in both orders of a pair, and how often the first one shown wins."""
    head, groups = _group_by_judge(_as_columns(verdicts))
    rows: list[list[Cell]] = []
    for cells, part in groups:
        effect = (
            position_effect(build_matches(part.rows(part.response_counts == 2), rule="mean"))
            if (part.response_counts == 2).any()
            else None
        )
        if effect is not None:
            rows.append([*cells, effect.same, effect.first, effect.pairs])
    notes = [Note("standard.an-unbiased-judge-prefers-the")]
    columns = table_columns(*head, "same verdict in both orders", "first shown wins", "pairs")
    hint = {"kind": "intervals", "label": "judge", "value": "first shown wins", "reference": 0.5}
    return Table("orders", Note("standard.title.the-order-of-presentation"), columns, rows, notes, {}, hint)


def _count_cut_off_replies(part: Columns) -> int:
    """Count replies that were cut off and gave no verdict."""
    is_cut_off = part.reading_mask(lambda reading: reading.is_cut_off)
    return int((is_cut_off & (part.fault == FAULTS.index("unreadable"))).sum())


def _share_without_check_code(part: Columns) -> Cell:
    """Return the share of replies without the check code, of those whose prompt asked for one."""
    is_requested = part.reading_mask(lambda reading: reading.has_check_code is not None)
    is_missing = part.reading_mask(lambda reading: reading.has_check_code is False)
    return (
        item_clustered_means_and_shares.share_estimate(
            is_missing[is_requested].astype(np.float64), part.item[is_requested]
        )
        if is_requested.any()
        else None
    )


def _count_estimated_tokens(part: Columns) -> int:
    """Count verdicts whose tokens the server did not report in a readable form."""
    return int(part.reading_mask(lambda reading: reading.has_estimated_tokens).sum())


_REPLIES: dict[str, Callable[[Columns], Cell]] = {
    "cut off": _count_cut_off_replies,
    "without check code": _share_without_check_code,
    "tokens estimated": _count_estimated_tokens,
}
"""Extra columns on replies, shown only if they have data."""
_ABOUT_REPLIES = {
    "cut off": Note("standard.cut-off-replies"),
    "without check code": Note("standard.without-the-nonce"),
    "tokens estimated": Note("standard.tokens-estimated"),
}


def fault_table(verdicts: Verdicts, *, together: bool = False) -> Table:
    """Return each judge's unusable verdicts by kind, and its failed cases; `together` pools the criteria."""
    columns = _as_columns(verdicts)
    replies = {name: cell for name, cell in _REPLIES.items() if cell(columns)}
    waits = ["pending"] if waiting_mask(columns).any() else []
    head, groups = _group_by_judge(columns, together=together)
    rows: list[list[Cell]] = []
    for cells, part in groups:
        counts = part.faults()
        wrong, total = sum(counts[fault] for fault in FAULTS), counts["verdicts"]
        pending = int(waiting_mask(part).sum())
        counts["abstained"] -= pending
        row = [
            *cells,
            total,
            total - wrong,
            *(counts[fault] for fault in FAULTS),
            *(pending for _ in waits),
            item_clustered_means_and_shares.share_estimate(
                ((part.fault >= 0) & ~waiting_mask(part)).astype(np.float64), part.item
            ),
        ]
        rows.append([*row, *(cell(part) for cell in replies.values()), *_due_cells(columns, head, cells)])
    silent = {tuple(getattr(outstanding, key) for key in head): None for outstanding in columns.due}
    for row_key in silent.keys() - {tuple(row[: len(head)]) for row in rows}:
        cells = list[Cell](row_key)
        rows.append(
            [
                *cells,
                0,
                0,
                *(0 for _ in (*FAULTS, *waits)),
                None,
                *(None for _ in replies),
                *_due_cells(columns, head, cells),
            ]
        )
    rows.sort(key=lambda row: tuple(map(str, row[: len(head)])))
    hint = {"kind": "stacked", "label": "judge", "parts": ["judged", *FAULTS, *waits]}
    due = _DUE[: len(_due_cells(columns, head, ()))]
    names = table_columns(*head, "verdicts", "judged", *FAULTS, *waits, "share unusable", *replies, *due)
    notes = [
        Note("standard.share-unusable"), *(PENDING for _ in waits), *(_ABOUT_REPLIES[name] for name in replies),
        *_due_notes(columns.due),
    ]  # fmt: skip
    return Table("unusable", Note("standard.title.unusable"), names, rows, notes, {}, hint)


_DUE = ("due", "failed for good")


def _due_cells(columns: Columns, head: Sequence[str], cells: Sequence[Cell]) -> list[Cell]:
    if not columns.due:
        return []
    scope_values = dict(zip(head, cells, strict=False))
    due_entries = [
        outstanding
        for outstanding in columns.due
        if all(getattr(outstanding, key) == name for key, name in scope_values.items())
    ]
    due, lasting = (
        sum(outstanding.cases for outstanding in due_entries),
        sum(outstanding.lasting for outstanding in due_entries),
    )
    return [due, lasting] if any(outstanding.lasting for outstanding in columns.due) else [due]


def _due_notes(due: Sequence[Due]) -> list[Note]:
    notes = []
    if due:
        notes.append(Note("standard.due-cases-whose-call-failed"))
    if any(outstanding.lasting for outstanding in due):
        notes.append(Note("standard.failed-for-good"))
    return notes


_MOST_REASONS = 20


def abstention_reasons_table(verdicts: Verdicts) -> Table:
    """Return the reasons for abstentions. Reasons that differ only in numbers are one, shown by the first."""
    columns = _as_columns(verdicts)
    first: dict[tuple[str, str], str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for row, text in columns.abstentions.items():
        if text == WAITS:
            continue
        # Numbers and hex digests are masked, because they differ from case to case.
        key = columns.names["judge"][columns.judge[row]], re.sub(r"[-+]?\d[\d.,e+-]*|[\da-f]{8,}", "#", text)
        first.setdefault(key, text)
        counts[key] += 1
    rows: list[list[Cell]] = [
        [judge, first[judge, reason], count] for (judge, reason), count in counts.most_common(_MOST_REASONS)
    ]
    left = sum(counts.values()) - sum(count for _, count in counts.most_common(_MOST_REASONS))
    notes = [Note("standard.abstentions-for-other-reasons-are", left=left)] if left else []
    return Table(
        "reasons", Note("standard.title.why-judges-abstained"), table_columns("judge", "why", "verdicts"), rows, notes
    )


def cost_table(verdicts: Verdicts) -> Table:
    """Return the usage of each judge, including calls without a verdict if the ledger records them."""
    columns = _as_columns(verdicts)
    used = {judge: (len(part), total_usage(part)) for (judge,), part in columns.by("judge")}
    failure_counts: Counter[str] = Counter()
    for loss in columns.failed_calls:
        count, usage = used.get(loss.judge, (0, Usage()))
        used[loss.judge] = (count, usage + loss.usage)
        failure_counts[loss.judge] += loss.failures
    from_cache = FromCache.from_usages([usage for _, usage in used.values()])
    rows: list[list[Cell]] = []
    for judge, (count, usage) in sorted(used.items()):
        if not usage.calls and not failure_counts[judge]:
            continue
        thousand = None if usage.dollars is None or not count else 1000 * usage.dollars / count
        seconds = usage.seconds / usage.calls if usage.calls else None
        tokens = [usage.tokens_in, *from_cache.cells(usage), usage.tokens_out]
        failure_cells = [failure_counts[judge]] if columns.failed_calls else []
        rows.append(
            [judge, count, *failure_cells, usage.calls, usage.retries, *tokens, usage.dollars, thousand, seconds]
        )
    names = table_columns(
        "judge", "verdicts", *(["failed"] if columns.failed_calls else []), "calls", "retries", "tokens in",
        *from_cache.columns, "tokens out", "dollars", "dollars per 1,000", "s a call",
    )  # fmt: skip
    note = Note("standard.failed-calls")
    title = Note("standard.title.what-it-cost")
    return Table("costs", title, names, rows, [*([note] if columns.failed_calls else []), *from_cache.notes])
