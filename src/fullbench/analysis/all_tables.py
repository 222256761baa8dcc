"""The tables that verdicts can show, whatever they were made for.

Each is a pure function of columns. Verdicts of different studies, judges, criteria or families of ballots never mix.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.analysis.agreement import across_different_scales, among_people, repeats_and_orders, uncompared_verdicts
from fullbench.analysis.agreement.judges_with_people import FIGURES, SHAPES, Agreement, Met, agreements, meet
from fullbench.analysis.agreement.repeats_and_orders import position
from fullbench.analysis.agreement.with_single_votes import one_by_one
from fullbench.analysis.boards import leaderboard
from fullbench.analysis.boards.matches_from_verdicts import settle
from fullbench.analysis.people import corrected_leaderboards as corrections
from fullbench.analysis.scope_text import OVERALL, place, placed
from fullbench.analysis.verdict_cost import FromCache, used_by
from fullbench.analysis.verdicts_from_columns import beside
from fullbench.analysis.views.member_verdicts import BY_PEOPLE, PENDING, WAITS, waiting
from fullbench.columns.column_builder import columns_of
from fullbench.columns.verdict_columns import Columns, Due
from fullbench.core.call import Usage
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, word
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import FAULTS, PEOPLE
from fullbench.errors import InputError
from fullbench.stats.agreement.vote_consensus import VoteRule

Verdicts = Columns | Record


def tables(
    verdicts: Verdicts,
    *,
    against: str | None = None,
    rule: VoteRule = "default",
    visible: bool = False,
    corrected: bool = False,
    seed: int = 0,
    spent: Table | None = None,
) -> list[Table]:
    """All of them that the verdicts have something for.

    Judges are compared with `against`, or with people where their verdicts are there. `rule` joins several votes on
    the same responses; votes that were cast with names in view count only where `visible` asks for them. With
    `corrected`, what judges say corrected by people's votes comes first. `spent` are the costs where they were counted
    before, so that the columns need not hold what they are made of.
    """
    columns = _columns(verdicts)
    if against is not None and against not in columns.judges():
        there = ", ".join(columns.judges()) or "none"
        raise InputError(f"there is no judge {against!r} to compare the others with; there are: {there}")
    other = against or (PEOPLE if PEOPLE in columns.judges() else None)
    chosen = leaderboard.Settings(votes=rule, visible=visible, seed=seed)
    shown = corrections.tables(columns) if corrected else []
    shown += corrections.opinions(columns, leaderboard.tables(columns, chosen))
    if other is not None:
        shown += agreement(columns, other, rule=rule, visible=visible, seed=seed)
        shown += [across_different_scales.table(columns, other, seed=seed), uncompared_verdicts.table(columns, other)]
    shown += [
        among_people.table(columns),
        orders(columns),
        *repeats_and_orders.tables(columns, seed=seed),
        faults(columns),
        reasons(columns),
        costs(columns) if spent is None else spent,
    ]
    return [table for table in shown if table.rows]


def _columns(verdicts: Verdicts) -> Columns:
    return columns_of(verdicts) if isinstance(verdicts, Record) else verdicts


Part = Literal["study", "criterion"]


def _split(columns: Columns) -> list[Part]:
    """What rows must name beside the judge: the study where there are several, a criterion that is not the usual."""
    criteria = [columns.names["criterion"][code] for code in np.unique(columns.criterion)]
    several: dict[Part, bool] = {
        "study": len(np.unique(columns.study)) > 1,
        "criterion": criteria not in ([], [OVERALL]),
    }
    return [part for part, named in several.items() if named]


def _by_judge(columns: Columns, *, together: bool = False) -> tuple[list[str], Iterator[tuple[list[Cell], Columns]]]:
    """The first columns of a table with a row for each judge, and their cells with the verdicts of each row."""
    split = [] if together else _split(columns)
    groups = columns.by("judge", *split)
    return ["judge", *split], ((list[Cell](names), part) for names, part in groups)


def agreement(
    verdicts: Verdicts, other: str, *, rule: VoteRule = "default", visible: bool = False, seed: int = 0
) -> list[Table]:
    """How far each judge agrees with another one, for scores, pairs and rankings, criterion by criterion."""
    columns = _columns(verdicts)
    shown = []
    several = len(np.unique(columns.study)) > 1
    for (study, criterion), part in columns.by("study", "criterion"):
        behind = place(study if several else "", criterion)
        record = beside(part, other)
        meetings = meet(record, other, rule, visible=visible)
        entries = [entry for judge in meetings.judges for entry in agreements(meetings, judge, seed=seed)]
        for kind in FIGURES:
            of_kind = [entry for entry in entries if entry.shape == kind]
            due = [
                outstanding
                for outstanding in columns.due
                if (outstanding.study, outstanding.criterion, SHAPES[outstanding.family]) == (study, criterion, kind)
                and outstanding.judge != other
            ]
            settled = _settled(part, kind) if other == PEOPLE else []
            shown.append(_compared(meetings, kind, of_kind, behind, seed, due=due, settled=settled))
        votes = one_by_one(meetings)
        shown.append(replace(votes, name=f"{votes.name}{behind}", title=placed(votes.title, behind)))
    return shown


def _settled(part: Columns, kind: str) -> list[Note]:
    """How many rulings of each cascade people settled themselves."""
    latest = part.latest()
    return [
        Note(
            "standard.settled-by-people",
            "{judge}: {n:,} rulings were settled by people's votes and are not compared with them.",
            judge=judge, n=len(rows),
        )
        for (judge, family), rows in latest.rows(latest.reader >= BY_PEOPLE).by("judge", "family")
        if SHAPES[family] == kind
    ]  # fmt: skip


def _compared(
    meetings: Met,
    kind: str,
    entries: Sequence[Agreement],
    behind: str,
    seed: int,
    *,
    due: Sequence[Due],
    settled: Sequence[Note],
) -> Table:
    other, rule = meetings.people, meetings.rule(kind)
    figures = list(FIGURES[kind])
    notes = [
        Note(
            "standard.beside-the-verdicts-of-on",
            "Beside the verdicts of {other} on the same responses ({rule} of several); items are resampled.",
            other=other,
            rule=word(rule),
        ),
        *meetings.notes(kind),
        *settled,
    ]
    notes += [
        Note("standard.undefined", "{judge}, {figure}: {why}.", judge=entry.judge, figure=word(name), why=reason)
        for entry in entries
        for name, reason in entry.undefined.items()
    ]
    best = sorted(entries, key=lambda entry: -entry.first.value if entry.first else float("inf"))
    missing: Counter[str] = Counter()
    for outstanding in due:
        missing[outstanding.judge] += outstanding.cases
    rows = [
        [entry.judge, *(entry.figures.get(name) for name in figures), entry.n, entry.faults]
        + ([missing[entry.judge]] if due else [])
        for entry in best
    ]
    notes += _due_notes(due)[:1]
    hint = {"kind": "intervals", "label": "judge", "value": figures[0]}
    source = {"against": other, "rule": rule, "seed": seed}
    columns = headings("judge", *figures, "n", "faults", *(["due"] if due else []))
    title = Note(
        "standard.title.agreement-with-on",
        "Agreement with {other} on {kind}{behind}",
        other=other,
        kind=word(kind),
        behind=behind,
    )
    return Table(f"agreement {kind}{behind}", title, columns, rows, notes, source, hint)


def orders(verdicts: Verdicts) -> Table:
    """Pairs that were heard in both orders: how often the winner stays, and how often the first shown wins."""
    head, groups = _by_judge(_columns(verdicts))
    rows: list[list[Cell]] = []
    for cells, part in groups:
        effect = position(settle(part.rows(part.shown == 2), rule="mean")) if (part.shown == 2).any() else None
        if effect is not None:
            rows.append([*cells, effect.same, effect.first, effect.pairs])
    notes = [
        Note(
            "standard.an-unbiased-judge-prefers-the",
            "An unbiased judge prefers the first shown half of the time, ties left out. Items are kept together.",
        )
    ]
    columns = headings(*head, "same ruling in both orders", "first shown wins", "pairs")
    hint = {"kind": "intervals", "label": "judge", "value": "first shown wins", "reference": 0.5}
    return Table(
        "orders",
        Note("standard.title.the-order-of-presentation", "The order of presentation"),
        columns,
        rows,
        notes,
        {},
        hint,
    )


def _cut_off(part: Columns) -> int:
    """Replies that were cut off and left no ruling."""
    return int(((part.reader // 100 % 10 == 1) & (part.fault == FAULTS.index("unreadable"))).sum())


def _without_the_nonce(part: Columns) -> Cell:
    """Of the replies that were asked for with a nonce, those that do not carry it."""
    how = part.reader.astype(np.int64) // 10 % 10
    asked = how > 0
    return estimate_cells.share((how[asked] == 2).astype(np.float64), part.item[asked]) if asked.any() else None


def _estimated(part: Columns) -> int:
    """Verdicts whose tokens the server did not count, or not readably."""
    return int((part.reader.astype(np.int64) // 1000 % 10 == 1).sum())


_REPLIES: dict[str, Callable[[Columns], Cell]] = {
    "cut off": _cut_off, "without the nonce": _without_the_nonce, "tokens estimated": _estimated,
}  # fmt: skip
"""What is said of replies where there is something to say."""
_ABOUT_REPLIES = {
    "cut off": Note(
        "standard.cut-off-replies",
        "Cut off: unreadable because the reply reached the limit on its length; raise the judge's max_tokens.",
    ),
    "without the nonce": Note(
        "standard.without-the-nonce",
        "Without the nonce: replies that do not carry the random word their ruling was asked for with; they are "
        "read by the strict rule alone.",
    ),
    "tokens estimated": Note(
        "standard.tokens-estimated",
        "Tokens estimated: the server did not say how many tokens a reply took, or said what no count is; the ruling "
        "counts, and what it cost is an estimate from the lengths.",
    ),
}


def faults(verdicts: Verdicts, *, together: bool = False) -> Table:
    """What each judge did not rule on, and why, and what is due; with `together`, over all criteria."""
    columns = _columns(verdicts)
    replies = {name: cell for name, cell in _REPLIES.items() if cell(columns)}
    waits = ["pending"] if waiting(columns).any() else []
    head, groups = _by_judge(columns, together=together)
    rows: list[list[Cell]] = []
    for cells, part in groups:
        counts = part.faults()
        wrong, total = sum(counts[fault] for fault in FAULTS), counts["verdicts"]
        pending = int(waiting(part).sum())
        counts["recused"] -= pending
        row = [
            *cells,
            total,
            total - wrong,
            *(counts[fault] for fault in FAULTS),
            *(pending for _ in waits),
            _faulty(part),
        ]
        rows.append([*row, *(cell(part) for cell in replies.values()), *_due(columns, head, cells)])
    silent = {tuple(getattr(outstanding, key) for key in head): None for outstanding in columns.due}
    for named in silent.keys() - {tuple(row[: len(head)]) for row in rows}:
        cells = list[Cell](named)
        rows.append(
            [*cells, 0, 0, *(0 for _ in (*FAULTS, *waits)), None, *(None for _ in replies), *_due(columns, head, cells)]
        )
    rows.sort(key=lambda row: tuple(map(str, row[: len(head)])))
    hint = {"kind": "stacked", "label": "judge", "parts": ["ruled", *FAULTS, *waits]}
    due = _DUE[: len(_due(columns, head, ()))]
    names = headings(*head, "verdicts", "ruled", *FAULTS, *waits, "faulty", *replies, *due)
    notes = [*(PENDING for _ in waits), *(_ABOUT_REPLIES[name] for name in replies), *_due_notes(columns.due)]
    return Table("faults", Note("standard.title.faults", "Faults"), names, rows, notes, {}, hint)


_DUE = ("due", "failed for good")


def _due(columns: Columns, head: Sequence[str], cells: Sequence[Cell]) -> list[Cell]:
    """How many cases are due in a row of a table, and how many of them failed for good; none where no row has any."""
    if not columns.due:
        return []
    named = dict(zip(head, cells, strict=False))
    own = [
        outstanding
        for outstanding in columns.due
        if all(getattr(outstanding, key) == name for key, name in named.items())
    ]
    due, lasting = sum(outstanding.cases for outstanding in own), sum(outstanding.lasting for outstanding in own)
    return [due, lasting] if any(outstanding.lasting for outstanding in columns.due) else [due]


def _due_notes(due: Sequence[Due]) -> list[Note]:
    notes = []
    if due:
        notes.append(
            Note(
                "standard.due-cases-whose-call-failed",
                "Due: cases whose call failed and that have no verdict yet; no figure counts them.",
            )
        )
    if any(outstanding.lasting for outstanding in due):
        notes.append(
            Note(
                "standard.failed-for-good",
                "Failed for good: those of them that no run asks for by itself, such as too long prompts.",
            )
        )
    return notes


def _faulty(part: Columns) -> Estimate:
    """The share of verdicts that are faults; verdicts on one item are kept together."""
    return estimate_cells.share(((part.fault >= 0) & ~waiting(part)).astype(np.float64), part.item)


_MOST_REASONS = 20


def reasons(verdicts: Verdicts) -> Table:
    """Why judges recused themselves, as far as they said. Reasons that differ by a number alone are one, told by its
    first."""
    columns = _columns(verdicts)
    first: dict[tuple[str, str], str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for row, text in columns.recusals.items():
        if text == WAITS:
            continue
        key = columns.names["judge"][columns.judge[row]], re.sub(r"[-+]?\d[\d.,e+-]*|[\da-f]{8,}", "#", text)
        first.setdefault(key, text)
        counts[key] += 1
    rows: list[list[Cell]] = [
        [judge, first[judge, reason], count] for (judge, reason), count in counts.most_common(_MOST_REASONS)
    ]
    left = sum(counts.values()) - sum(count for _, count in counts.most_common(_MOST_REASONS))
    notes = (
        [Note("standard.recusals-for-other-reasons-are", "{left} recusals for other reasons are not shown.", left=left)]
        if left
        else []
    )
    return Table(
        "reasons",
        Note("standard.title.why-judges-recused-themselves", "Why judges recused themselves"),
        headings("judge", "why", "verdicts"),
        rows,
        notes,
    )


def costs(verdicts: Verdicts) -> Table:
    """What each judge used, for verdicts and, where a ledger knows of them, for calls that brought none."""
    columns = _columns(verdicts)
    used = {judge: (len(part), used_by(part)) for (judge,), part in columns.by("judge")}
    lost: Counter[str] = Counter()
    for loss in columns.failed:
        count, usage = used.get(loss.judge, (0, Usage()))
        used[loss.judge] = (count, usage + loss.usage)
        lost[loss.judge] += loss.failures
    from_cache = FromCache.of([usage for _, usage in used.values()])
    rows: list[list[Cell]] = []
    for judge, (count, usage) in sorted(used.items()):
        if not usage.calls and not lost[judge]:
            continue
        thousand = None if usage.dollars is None or not count else 1000 * usage.dollars / count
        seconds = usage.seconds / usage.calls if usage.calls else None
        tokens = [usage.tokens_in, *from_cache.cells(usage), usage.tokens_out]
        failed = [lost[judge]] if columns.failed else []
        rows.append([judge, count, *failed, usage.calls, usage.retries, *tokens, usage.dollars, thousand, seconds])
    names = headings(
        "judge", "verdicts", *(["failed"] if columns.failed else []), "calls", "retries", "tokens in",
        *from_cache.columns, "tokens out", "dollars", "dollars per 1,000", "s a call",
    )  # fmt: skip
    note = Note("standard.failed-calls", "Failed: calls that brought no verdict; what they cost is counted in.")
    title = Note("standard.title.what-it-cost", "What it cost")
    return Table("costs", title, names, rows, [*([note] if columns.failed else []), *from_cache.notes])
