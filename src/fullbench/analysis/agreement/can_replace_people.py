"""Alternative annotator test (can a judge replace people?) per study, criterion, ballot family and slice."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

import numpy as np

from fullbench.analysis.boards.matches_from_verdicts import build_matches
from fullbench.analysis.people.paired_verdicts_and_votes import (
    Floats,
    Ints,
    drop_visible_votes,
    family_verdicts,
    scope_columns,
)
from fullbench.analysis.scope_text import FROM
from fullbench.columns.verdict_columns import Bools, Columns, Family, group_rows
from fullbench.core.table import Cell, Table
from fullbench.core.table_columns import table_columns
from fullbench.core.translatable_note import Note, error_sentence
from fullbench.core.verdict import PEOPLE
from fullbench.errors import Undefined
from fullbench.stats.agreement.alternative_annotator_test import EPSILONS, ROWS, Replacement, alternative_annotator

EPSILON = EPSILONS["trained"]
ALL = "all"
Slices = Mapping[str, Mapping[str, str]]
"""Value of each item by tag."""


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
        for judge in part.judges():
            if judge == people or (judges is not None and judge not in judges):
                continue
            for label, selection in _slice_masks(part, slices or {}):
                try:
                    test = replacement_test(part.rows(selection), judge, cast("Family", family), epsilon, people)
                except Undefined as reason:
                    if label == ALL:
                        notes.append(
                            Note(
                                "replacement.none",
                                judge=judge, ruling=FROM[cast("Family", family)], reason=error_sentence(reason),
                            )
                        )  # fmt: skip
                    continue
                scope_values = {"study": study, "criterion": criterion}
                rows.append([
                    judge, *(scope_values[name] for name in split), FROM[cast("Family", family)], label,
                    "yes" if test.passes else "no",
                    test.rate, test.advantage, len(test.annotators), test.rows,
                ])  # fmt: skip
                notes += _replacement_notes(judge, label, test)
    notes.append(Note("replacement.how", epsilon=epsilon))
    heads = table_columns(
        "judge", *split, "verdict", "slice", "may replace people", "people replaced", "as near as a person", "people",
        "comparisons",
    )  # fmt: skip
    title = Note("replacement.title")
    return Table("replacement", title, heads, rows, tuple(dict.fromkeys(notes)))


def replacement_test(
    part: Columns, judge: str, family: Family, epsilon: float = EPSILON, people: str = PEOPLE
) -> Replacement:
    """Run the test on the verdicts of one study, criterion and family."""
    keys, value, rater = _rater_values(family_verdicts(drop_visible_votes(part.where(judge=people))[0], family), family)
    judge_keys, judge_values, _ = _rater_values(family_verdicts(part.where(judge=judge), family), family)
    if not len(value) or not len(judge_values):
        raise Undefined(Note("replacement.apart"))
    both = tuple(np.concatenate([of_people, of_judge]) for of_people, of_judge in zip(keys, judge_keys, strict=True))
    code, first = group_rows(*both)
    size = len(value)
    raters = np.unique(rater)
    lines = np.full((len(raters), len(first)), np.nan)
    for place, who in enumerate(raters.tolist()):
        of_rater = rater == who
        lines[place] = _mean_by_code(code[:size][of_rater], value[of_rater], len(first))
    judge_means = _mean_by_code(code[size:], judge_values, len(first))
    names = [part.names["rater"][who] or "?" for who in raters.tolist()]
    return alternative_annotator(judge_means, lines, both[0][first], names, epsilon=epsilon)


def _mean_by_code(code: Ints, value: Floats, size: int) -> Floats:
    number, total = np.bincount(code, minlength=size), np.bincount(code, value, size)
    means: Floats = np.divide(total, number, out=np.full(size, np.nan), where=number > 0)
    return means


def _rater_values(part: Columns, family: Family) -> tuple[tuple[Ints, ...], Floats, Ints]:
    """Return keys (item first), values and raters: a value is a mark, or the outcome for the first of two."""
    keys: tuple[Any, ...]
    if family == "score":
        single = np.flatnonzero((part.response_counts == 1) & (part.fault < 0))
        at = part.start.astype(np.int64)[single]
        keys = (part.item[single], part.ballot[single], part.contestant[at], part.sample[at])
        return tuple(key.astype(np.int64) for key in keys), part.mark[at], part.rater[single].astype(np.int64)
    by_rater: list[tuple[tuple[Ints, ...], Floats, Ints]] = []
    for code in np.unique(part.rater).tolist():
        matches = build_matches(part.rows(part.rater == code), rule="mean")
        place = {name: number for number, name in enumerate(part.names["contestant"])}
        contestant_codes = np.array([place[name] for name in matches.names] or [0], dtype=np.int64)
        rows = matches.rows
        keys = (rows.item, contestant_codes[rows.first], contestant_codes[rows.second], *rows.samples)
        by_rater.append((tuple(key.astype(np.int64) for key in keys), rows.outcome, np.full(len(rows), code)))
    if not by_rater:
        none = np.zeros(0, dtype=np.int64)
        return (none,) * 5, np.zeros(0), none
    keys = tuple(np.concatenate([entry[0][place] for entry in by_rater]) for place in range(5))
    return keys, np.concatenate([entry[1] for entry in by_rater]), np.concatenate([entry[2] for entry in by_rater])


def _slice_masks(part: Columns, slices: Slices) -> Iterator[tuple[str, Bools]]:
    yield ALL, np.ones(len(part), dtype=np.bool_)
    names = part.names["item"]
    for tag, values in slices.items():
        for value in sorted({values[item] for item in values}):
            members = np.array([values.get(name) == value for name in names] or [False])
            mask = members[part.item.astype(np.int64)]
            if mask.any():
                yield f"{tag}: {value}", mask


def _replacement_notes(judge: str, label: str, test: Replacement) -> Iterator[str]:
    where = "" if label == ALL else Note("replacement.on", slice=label)
    count, every = sum(annotator.is_replaced for annotator in test.annotators), len(test.annotators)
    if test.passes:
        yield Note("replacement.may", judge=judge, where=where, n=count, all=every)
    else:
        yield Note("replacement.may-not", judge=judge, where=where, n=count, all=every)
    if test.left_out:
        yield Note("replacement.left-out", rows=ROWS, names=", ".join(test.left_out))
