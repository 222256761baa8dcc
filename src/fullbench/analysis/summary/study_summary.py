"""The summary of a study or ledger: at most three sentences and two small tables, the same for every output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL, scope_suffix
from fullbench.analysis.summary.judge_trust import (
    TRUST_WORDS,
    Trust,
    is_baseline,
    is_rule,
    judge_trusts,
    trust_note,
)
from fullbench.analysis.summary.leading_contestants_in_tiers import Leaders, leading_contestants
from fullbench.analysis.views.view_verdict_helpers import waiting_mask
from fullbench.columns.verdict_columns import Columns
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Column, Table
from fullbench.core.translatable_note import Note, join_notes
from fullbench.core.verdict import PEOPLE
from fullbench.core.verdict_record import Record
from fullbench.stats.agreement.vote_rules_and_dawid_skene import VoteRule

CONTESTANTS, JUDGES = "summary contestants", "summary judges"
"""Names of the two tables."""
MAIN_TABLE = "main table of"
"""Entry in the source of a paper's main table, which the first screen shows in place of the contestants."""
LEADS_BY = "leads by"
"""Entry in the source of a main table: the column by which its rows are compared."""
_LONGEST_CRITERION = 60
_MOST_SCOPES, _MOST_NAMES = 3, 3
"""Criteria or studies, and names, that a sentence has; the others are counted."""


_AGREEMENT_NOTES = {
    "accuracy with ties": Note("summary.agreement-on-pairs"),
    "Pearson": Note("summary.agreement-on-scores"),
    "edit distance": Note("summary.agreement-on-rankings"),
}
"""First metric of agreement for each kind of verdict, in plain words."""


def summary_tables(
    columns: Columns,
    leaderboards: Sequence[Table],
    *,
    texts: Record | None = None,
    costs: Table | None = None,
    rule: VoteRule = "default",
    visible: bool = False,
    seed: int = 0,
) -> list[Table]:
    """Return the tables `summary contestants` and `summary judges`; the first has the sentences as its first notes.

    Args:
        columns: All verdicts of the study or ledger.
        leaderboards: Their leaderboards.
        texts: Items and responses, for tests of length bias.
        costs: The table of costs.
        rule: Rule that joins several people's votes.
        visible: Also count votes that were cast with names visible.
        seed: Seed of resampled intervals.
    """
    trusts = judge_trusts(columns, texts, rule=rule, visible=visible, seed=seed)
    leaders = leading_contestants(columns, leaderboards, trusts, rule=rule)
    if not leaders:
        return []
    return [_contestant_table(columns, leaders, trusts), *([_judge_table(trusts, costs)] if trusts else [])]


def sentences_of(tables: Sequence[Table]) -> list[str]:
    """Return the sentences of the summary, if the tables begin with one."""
    if not tables or tables[0].name != CONTESTANTS:
        return []
    return list(tables[0].notes[: tables[0].source["sentences"]])


def without_sentences(table: Table) -> Table:
    """Return a table of the summary without its sentences, for outputs that show them above."""
    source = {key: value for key, value in table.source.items() if key != "sentences"}
    return replace(table, notes=table.notes[table.source.get("sentences", 0) :], source=source)


def split_first_tables(tables: Sequence[Table]) -> tuple[list[Table], list[Table]]:
    """Return the tables that come first, without sentences, and all others.

    First come the paper's main table in a paper's study, else the contestants, and the judges.
    """
    main = [table for table in tables if MAIN_TABLE in table.source] or [
        table for table in tables if table.name == CONTESTANTS
    ]
    first = main[:1] + [table for table in tables if table.name == JUDGES]
    return [*map(without_sentences, first)], [without_sentences(table) for table in tables if table not in first]


def _contestant_table(columns: Columns, leaders: Sequence[Leaders], trusts: Sequence[Trust]) -> Table:
    split = _split(leaders)
    heads = list(dict.fromkeys(column for board_leaders in leaders for column in board_leaders.columns))
    rows: list[list[Cell]] = [
        [
            *(getattr(board_leaders, part) for part in split),
            None if standing.tier is None else str(standing.tier),
            standing.contestant,
            *(standing.values.get(head) for head in heads),
        ]
        for board_leaders in leaders
        for standing in board_leaders.standings
    ]
    built_in = {"people": Column("people", "people", "metric", "more"), "corrected": table_columns("corrected")[0]}
    typed = [built_in.get(head) or Column(head, head, "metric", "more", is_data_label=True) for head in heads]
    sentences = [
        Note("summary.leads", text=_lead_text(leaders)),
        *([Note("summary.trust", text=trust_text(trusts))] if trusts else []),
        Note("summary.limits", text=_limits(columns, leaders)),
    ]
    notes: list[str] = [
        *sentences,
        *dict.fromkeys(board_leaders.board.reason for board_leaders in leaders),
        Note("summary.tiers"),
        Note(
            "summary.metric",
            metric=join_notes(list(dict.fromkeys(_metric_note(board_leaders.metric) for board_leaders in leaders))),
        ),
    ]
    if hidden_judges := frozenset().union(*(board_leaders.other_judges for board_leaders in leaders)).difference(heads):
        notes.append(Note("summary.more-judges", n=len(hidden_judges)))
    hint = {"kind": "intervals", "label": "contestant", "value": typed[0].key} if len(leaders) == 1 else None
    title = Note("summary.title.contestants")
    source = {"sentences": len(sentences)}
    return Table(CONTESTANTS, title, (*table_columns(*split, "tier", "contestant"), *typed), rows, notes, source, hint)


def _metric_note(metric: str) -> Note:
    return Note("summary.rating") if metric == "rating" else Note("summary.mean-mark", ballot=metric)


def _judge_table(trusts: Sequence[Trust], costs: Table | None) -> Table:
    split = _split(trusts)
    prices: dict[str, Cell] = {}
    if costs is not None and costs.rows:
        prices = dict(zip(map(str, costs.column("judge")), costs.column("dollars per 1,000"), strict=True))
    ordered = sorted(trusts, key=lambda trust: (is_baseline(trust.judge), trust.order))
    rows: list[list[Cell]] = [
        [
            trust.judge,
            *(getattr(trust, part) for part in split),
            trust_note(trust.word),
            trust.why or None,
            trust.agreement,
            trust.people,
            join_notes(trust.biases) if trust.biases else None,
            trust.unusable,
            trust.items,
            prices.get(trust.judge),
        ]
        for trust in ordered
    ]
    heads = table_columns(
        "judge", *split, "trust", "why", "agreement", "people agree", "biases",
        Column("share unusable", "unusable verdicts", "metric", "less"), Column("items", "items with votes", "count"),
        "dollars per 1,000",
    )  # fmt: skip
    notes = [Note("summary.words"), *agreement_notes(ordered)]
    if any(trust.items == 0 and not is_baseline(trust.judge) for trust in ordered):
        notes.append(Note("summary.biases-without-votes"))
    return Table(JUDGES, Note("summary.title.judges"), heads, rows, notes)


def agreement_notes(trusts: Sequence[Trust]) -> list[Note]:
    """Return a note that says in plain words how agreement is measured; empty without agreement."""
    metrics = [_AGREEMENT_NOTES[metric] for metric in dict.fromkeys(trust.metric for trust in trusts if trust.metric)]
    return [Note("summary.agreement", metrics=join_notes(metrics))] if metrics else []


def _split(parts: Sequence[Leaders] | Sequence[Trust]) -> list[str]:
    """Return the columns that rows need: study and criterion if there are several."""
    return [name for name in ("study", "criterion") if len({getattr(part, name) for part in parts}) > 1]


def join_names(names: Sequence[str], *, most: int = _MOST_NAMES) -> str:
    """Return names with commas and "and"; beyond the most, the others are counted.

    >>> str(join_names(["a", "b", "c"])), str(join_names(["a", "b", "c", "d", "e"]))
    ('a, b and c', 'a, b, c and 2 more')
    """
    first_names, more = list(names[:most]), len(names) - most
    if more > 0:
        return Note("list.and-more", names=reduce(_join_with_comma, first_names), n=more)
    if len(first_names) == 1:
        return first_names[0]
    return Note("list.last", first=reduce(_join_with_comma, first_names[:-1]), second=first_names[-1])


def _join_with_comma(first: str, second: str) -> str:
    return Note("list.comma", first=first, second=second)


def _short_criterion(criterion: str) -> str:
    """Return a criterion for a sentence. Criteria of rubrics may be whole paragraphs."""
    line = " ".join(criterion.split())
    return line if len(line) <= _LONGEST_CRITERION else line[: _LONGEST_CRITERION - 1].rstrip() + "…"


def _lead_text(leaders: Sequence[Leaders]) -> str:
    split = _split(leaders)
    parts: list[str] = []
    said: set[str] = set()
    for board_leaders in leaders[:_MOST_SCOPES]:
        criterion = _short_criterion(board_leaders.criterion) if "criterion" in split else OVERALL
        scope = scope_suffix(board_leaders.study if "study" in split else "", criterion)
        parts.append(_lead_phrase(board_leaders, scope, is_only=len(leaders) == 1, said=said))
    if len(leaders) > _MOST_SCOPES:
        parts.append(Note("summary.more-scopes", n=len(leaders) - _MOST_SCOPES))
    return join_notes(parts)


def _lead_phrase(leaders: Leaders, scope: str, *, is_only: bool, said: set[str]) -> Note:
    """Return who leads on one board and by whom; contestants that share the first tier are named together.

    Args:
        leaders: The board.
        scope: Study and criterion as a suffix, if there are several.
        is_only: Whether there is no other board; then the last contestant is named too.
        said: Origins of boards that earlier phrases named; they are not repeated.
    """
    tiers, board = leaders.tiers, leaders.board
    by: str = {
        "people": Note("summary.by-people"),
        "corrected": Note("summary.by-corrected"),
        "judge": Note("summary.by-baseline", judge=board.judge)
        if is_rule(board.judge)
        else Note("summary.by-judge", judge=board.judge),
    }[board.kind]
    by = "" if by in said else by
    said.add(by)
    where = Note("summary.where", scope=scope, by=by) if scope else by
    count = sum(map(len, tiers))
    if not tiers:
        return Note("summary.nobody-rated", by=where)
    if len(tiers) == 1 and count > 1:
        return Note("summary.no-difference", n=count, by=where)
    first = leaders_note(tiers[0], where)
    if is_only and len(tiers) > 1 and len(tiers[-1]) == 1 and count > 2:
        return Note("summary.and-last", text=first, contestant=tiers[-1][0])
    return first


def leaders_note(names: Sequence[str], by: str) -> Note:
    """Return who leads: one contestant or judge, or several that share the first place."""
    joined_names = join_names(names)
    if len(names) == 1:
        return Note("summary.one-leads", names=joined_names, by=by)
    return Note("summary.several-lead", names=joined_names, by=by)


def trust_text(trusts: Sequence[Trust]) -> str:
    """Return the judges by word, with the reason if it is the same for all that are named; baselines only if alone."""
    all_trusts = trusts
    trusts = sorted(
        [trust for trust in trusts if not is_baseline(trust.judge)] or trusts, key=lambda trust: trust.order
    )
    has_baselines = len(trusts) < len(all_trusts)
    judges = list(dict.fromkeys(trust.judge for trust in trusts))
    split = _split(trusts)
    parts = []
    for word in TRUST_WORDS:
        of_word = [trust for trust in trusts if trust.word == word]
        if not of_word:
            continue
        names = list(dict.fromkeys(trust.judge for trust in of_word))
        reasons = list(dict.fromkeys(trust.why for trust in of_word))
        if len(reasons) > 1:  # say at least what all have in common
            reasons = _shared_reasons(of_word)
        if len(names) == len(judges) and len(names) > _MOST_NAMES:
            n = len(names)
            text: str = (
                Note("summary.all-judges-except-baselines", n=n) if has_baselines else Note("summary.all-judges", n=n)
            )
        else:
            text = join_names(names)
        criteria = list(dict.fromkeys(trust.criterion for trust in of_word))
        if "criterion" in split and len(criteria) < len({trust.criterion for trust in trusts}):
            text = Note("summary.on-criteria", names=text, criteria=join_names([*map(_short_criterion, criteria)]))
        if reasons and all(reasons):
            text = Note("summary.with-reason", names=text, why=join_notes(reasons))
        parts.append(Note("summary.word", word=trust_note(word), names=text))
    return join_notes(parts)


def _shared_reasons(trusts: Sequence[Trust]) -> list[str]:
    """Return the first reasons that hold for every judge, one or two for different criteria; empty if judges differ."""
    by_judge: dict[str, set[str]] = {}
    for one in trusts:
        by_judge.setdefault(one.judge, set()).add(one.reasons[0] if one.reasons else "")
    shared = next(iter(by_judge.values()))
    if len(shared) > 2 or any(reasons != shared for reasons in by_judge.values()):
        return []
    return list(dict.fromkeys(one.reasons[0] if one.reasons else "" for one in trusts))


def _count_items(count: int) -> Note:
    return Note("summary.one-item") if count == 1 else Note("summary.items", n=count)


def _limits(columns: Columns, leaders: Sequence[Leaders]) -> str:
    """Return what limits the results: items, missing cases, the assumption on votes, contestants without verdicts."""
    parts: list[str] = [_count_items(len(np.unique(columns.item)))]
    due = sum(entry.cases for entry in columns.due)
    lasting = sum(entry.lasting for entry in columns.due)
    parts.append(
        Note("summary.none-due") if not due else Note("summary.one-due") if due == 1 else Note("summary.due", n=due)
    )
    if lasting:
        parts.append(Note("summary.failed-for-good", n=lasting))
    if unusable_count := int(((columns.fault >= 0) & ~waiting_mask(columns)).sum()):
        parts.append(Note("summary.unusable-verdicts", n=unusable_count, all=len(columns)))
    kinds = {board_leaders.board.kind for board_leaders in leaders}
    if PEOPLE not in columns.judges():
        parts.append(Note("summary.nobody-voted"))
    elif "corrected" in kinds:
        parts.append(Note("summary.votes-drawn"))
    elif "judge" in kinds:
        parts.append(Note("summary.few-votes"))
    parts.append(Note("summary.items-drawn"))
    unusable: dict[str, float] = {}
    for board_leaders in leaders:
        for name, share in board_leaders.unusable.items():
            unusable[name] = max(share, unusable.get(name, 0.0))
    if unusable:
        worst = max(unusable, key=lambda name: unusable[name])
        parts.append(Note("summary.unusable-one", contestant=worst, share=unusable[worst]))
        if len(unusable) > 1:
            parts.append(Note("summary.unusable-more", n=len(unusable) - 1))
    return join_notes(parts)
