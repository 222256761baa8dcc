"""Alternative annotator test (can a judge replace people?) per study, criterion, ballot family and slice."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from fullbench.analysis.boards.matches_from_verdicts import build_matches
from fullbench.analysis.people.paired_verdicts_and_votes import drop_visible_votes, family_verdicts, scope_columns
from fullbench.analysis.scope_suffixes_of_table_titles import FROM, OVERALL
from fullbench.columns.verdict_columns import Bools, Columns, Family, group_rows
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, error_sentence
from fullbench.core.verdict import PEOPLE
from fullbench.errors import Undefined
from fullbench.stats.agreement.alternative_annotator_test import (
    EPSILONS,
    ROWS,
    Replacement,
    Verdicts,
    alternative_annotator,
)
from fullbench.stats.array_checks import Floats, Ints

EPSILON = EPSILONS["trained"]
ALL = "all"
Slices = Mapping[str, Mapping[str, str]]
"""Value of each item by tag."""
_MOST_ITEMS = 100_000
"""Beyond this number of items needed, only the order of magnitude is known."""


def replacement_table(
    columns: Columns, *, judges: Collection[str] | None = None, slices: Slices | None = None, epsilon: float = EPSILON,
    people: str = PEOPLE,
) -> Table:  # fmt: skip
    """Return a row per judge, verdict kind and slice: the result of the test and its uncertainty."""
    rows: list[list[Cell]] = []
    notes: list[str] = []
    split = scope_columns(columns)
    for (study, criterion, family), part in columns.by("study", "criterion", "family"):
        if people not in part.judges():
            continue
        kind = FROM[cast("Family", family)]
        scope_values = {"study": study, "criterion": criterion}
        scope: list[Cell] = [scope_values[name] for name in split]
        for judge in part.judges():
            if judge == people or (judges is not None and judge not in judges):
                continue
            for label, selection in _slice_masks(part, slices or {}):
                try:
                    test = replacement_test(part.rows(selection), judge, cast("Family", family), epsilon, people)
                except Undefined as reason:
                    if label == ALL:
                        rows.append([judge, *scope, kind, label, "not enough data", *[None] * 6])
                        why = error_sentence(reason)
                        notes.append(
                            Note("replacement.none", judge=judge, where=_scope_text(kind, criterion, label), reason=why)
                        )
                    continue
                rows.append([
                    judge, *scope, kind, label, test.outcome, test.rate, test.advantage, test.beyond_chance,
                    len(test.annotators), test.votes, test.items_needed,
                ])  # fmt: skip
                notes += _replacement_notes(judge, _scope_text(kind, criterion, label), test)
    notes += [Note("replacement.how", epsilon=epsilon), Note("replacement.agreement")]
    heads = table_columns(
        "judge", *split, "verdict", "slice", "may replace people", "people replaced", "as near as a person",
        "beyond chance", "people", "votes", "items needed",
    )  # fmt: skip
    title = Note("replacement.title")
    return Table("replacement", title, heads, rows, tuple(dict.fromkeys(notes)))


def _scope_text(kind: str, criterion: str, label: str) -> Note:
    """Return the verdict kind, the criterion and the slice that an answer is about."""
    scope = Note("replacement.scope", kind=kind)
    if criterion != OVERALL:
        scope = Note("replacement.scope-criterion", kind=kind, criterion=criterion)
    return scope if label == ALL else Note("replacement.scope-slice", scope=scope, slice=label)


def replacement_test(
    part: Columns, judge: str, family: Family, epsilon: float = EPSILON, people: str = PEOPLE
) -> Replacement:
    """Run the test on the verdicts of one study, criterion and family."""
    votes = _Rows.from_columns(family_verdicts(drop_visible_votes(part.where(judge=people))[0], family), family)
    verdicts = _Rows.from_columns(family_verdicts(part.where(judge=judge), family), family)
    if not len(votes.value) or not len(verdicts.value):
        raise Undefined(Note("replacement.apart"))
    keys = tuple(np.concatenate(both) for both in zip(votes.keys, verdicts.keys, strict=True))
    code, first = group_rows(*keys)
    code = code.astype(np.int64)
    raters, rater = np.unique(votes.rater, return_inverse=True)
    size = len(votes.value)
    return alternative_annotator(
        Verdicts(code[size:], verdicts.value, verdicts.rater, verdicts.swapped),
        Verdicts(code[:size], votes.value, rater.astype(np.int64)),
        keys[0][first],
        [part.names["rater"][who] or "?" for who in raters.tolist()],
        measure="distance" if family == "score" else "same class",
        group=np.unique(keys[1][first], return_inverse=True)[1].astype(np.int64),
        epsilon=epsilon,
    )


@dataclass(frozen=True)
class _Rows:
    """Verdicts with the keys of what they are about (item and ballot first), and the order of a pair.

    A value is a mark, or the outcome for the first of two contestants by name. Every order and trial is a row.
    """

    keys: tuple[Ints, ...]
    value: Floats
    rater: Ints
    swapped: Bools

    @classmethod
    def from_columns(cls, part: Columns, family: Family) -> _Rows:
        if family == "score":
            single = np.flatnonzero((part.response_counts == 1) & (part.fault < 0))
            at = part.start.astype(np.int64)[single]
            keys = (part.item[single], part.ballot[single], part.contestant[at], part.sample[at])
            no_order = np.zeros(len(single), dtype=np.bool_)
            return cls._of(keys, part.mark[at], part.rater[single], no_order)
        parts = [cls._of_pairs(rows) for _, rows in part.by("rater", "ballot")]
        if not parts:
            none = np.zeros(0, dtype=np.int64)
            return cls((none,) * 6, np.zeros(0), none, np.zeros(0, dtype=np.bool_))
        return cls(
            tuple(np.concatenate(column) for column in zip(*(rows.keys for rows in parts), strict=True)),
            *(np.concatenate([getattr(rows, name) for rows in parts]) for name in ("value", "rater", "swapped")),
        )

    @classmethod
    def _of_pairs(cls, part: Columns) -> _Rows:
        matches = build_matches(part, rule="each")
        place = {name: number for number, name in enumerate(part.names["contestant"])}
        codes = np.array([place[name] for name in matches.names] or [0], dtype=np.int64)
        plays = matches.plays
        size = len(plays)
        rater, ballot = (np.full(size, column[0] if len(part) else 0) for column in (part.rater, part.ballot))
        keys = (plays.item, ballot, codes[plays.first], codes[plays.second], *plays.samples)
        return cls._of(keys, plays.outcome, rater, plays.ahead == 0)

    @classmethod
    def _of(cls, keys: tuple[Any, ...], value: Floats, rater: Any, swapped: Bools) -> _Rows:
        columns = tuple(np.asarray(key).astype(np.int64) for key in keys)
        return cls(columns, np.asarray(value, dtype=np.float64), np.asarray(rater).astype(np.int64), swapped)


def _slice_masks(part: Columns, slices: Slices) -> Iterator[tuple[str, Bools]]:
    yield ALL, np.ones(len(part), dtype=np.bool_)
    names = part.names["item"]
    for tag, values in slices.items():
        for value in sorted({values[item] for item in values}):
            members = np.array([values.get(name) == value for name in names] or [False])
            mask = members[part.item.astype(np.int64)]
            if mask.any():
                yield f"{tag}: {value}", mask


def _replacement_notes(judge: str, where: Note, test: Replacement) -> Iterator[str]:
    count, every = sum(annotator.is_replaced for annotator in test.annotators), len(test.annotators)
    if test.outcome == "yes":
        yield Note("replacement.may", judge=judge, where=where, n=count, all=every, items=test.items)
    elif test.outcome == "no" and test.is_constant:
        yield Note("replacement.constant", judge=judge, where=where)
    elif test.outcome == "no":
        yield Note("replacement.may-not", judge=judge, where=where, n=count, all=every, items=test.items)
    else:
        yield Note("replacement.open", judge=judge, where=where, n=count, all=every, items=test.items)
        if test.items_needed is None:
            yield Note("replacement.needed-unknown", judge=judge, where=where)
        elif test.items_needed > _MOST_ITEMS:
            yield Note("replacement.needed-many", judge=judge, where=where, most=_MOST_ITEMS)
        else:
            yield Note("replacement.needed", judge=judge, where=where, items=test.items_needed)
    if test.left_out:
        yield Note("replacement.left-out", rows=ROWS, names=", ".join(test.left_out))
