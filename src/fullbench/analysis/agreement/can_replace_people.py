"""May this judge replace people here? The alternative annotator test, for each study, criterion, family and slice."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, cast

import numpy as np

from fullbench.analysis.boards.matches_from_verdicts import settle
from fullbench.analysis.people.paired_verdicts_and_votes import Floats, Ints, blind, named_parts, of_family
from fullbench.analysis.scope_text import FROM
from fullbench.columns.verdict_columns import Bools, Columns, Family, grouped
from fullbench.core.column_labels import headings
from fullbench.core.note import Note, sentence
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE
from fullbench.errors import Undefined
from fullbench.stats.agreement.alternative_annotator_test import EPSILONS, ROWS, Replacement, alternative_annotator

EPSILON = EPSILONS["trained"]
ALL = "all"
Slices = Mapping[str, Mapping[str, str]]
"""The values of items under each tag."""


def table(
    columns: Columns, *, judges: Collection[str] | None = None, slices: Slices | None = None, epsilon: float = EPSILON,
    people: str = PEOPLE,
) -> Table:  # fmt: skip
    """A row for each judge, ruling and slice: whether it may replace people, and how sure that is."""
    rows: list[list[Cell]] = []
    notes: list[str] = []
    split = named_parts(columns)
    for (study, criterion, family), part in columns.by("study", "criterion", "family"):
        if people not in part.judges():
            continue
        for judge in part.judges():
            if judge == people or (judges is not None and judge not in judges):
                continue
            for label, chosen in _slices(part, slices or {}):
                try:
                    test = replacement(part.rows(chosen), judge, cast("Family", family), epsilon, people)
                except Undefined as reason:
                    if label == ALL:
                        notes.append(
                            Note(
                                "replacement.none", "{judge} on {ruling}: {reason}.",
                                judge=judge, ruling=FROM[cast("Family", family)], reason=sentence(reason),
                            )
                        )  # fmt: skip
                    continue
                placed = {"study": study, "criterion": criterion}
                rows.append([
                    judge, *(placed[name] for name in split), FROM[cast("Family", family)], label,
                    "yes" if test.passes else "no",
                    test.rate, test.advantage, len(test.annotators), test.rows,
                ])  # fmt: skip
                notes += _said(judge, label, test)
    notes.append(
        Note(
            "replacement.how",
            "Alternative annotator test, epsilon {epsilon:g}: each person is set aside in turn, and the judge may lose "
            "by epsilon against them; it replaces people where it replaces at least half of them "
            "(Benjamini-Yekutieli at 5%).",
            epsilon=epsilon,
        )
    )
    heads = headings(
        "judge", *split, "ruling", "slice", "may replace people", "people replaced", "as near as a person", "people",
        "comparisons",
    )  # fmt: skip
    title = Note("replacement.title", "May this judge replace people here?")
    return Table("replacement", title, heads, rows, tuple(dict.fromkeys(notes)))


def replacement(
    part: Columns, judge: str, family: Family, epsilon: float = EPSILON, people: str = PEOPLE
) -> Replacement:
    """The test on the verdicts of one study, criterion and family."""
    keys, value, rater = _told(of_family(blind(part.of(judge=people))[0], family), family)
    own_keys, own, _ = _told(of_family(part.of(judge=judge), family), family)
    if not len(value) or not len(own):
        raise Undefined(Note("replacement.apart", "people and judge ruled on nothing in common"))
    both = tuple(np.concatenate([of_people, of_judge]) for of_people, of_judge in zip(keys, own_keys, strict=True))
    code, first = grouped(*both)
    size = len(value)
    raters = np.unique(rater)
    lines = np.full((len(raters), len(first)), np.nan)
    for place, who in enumerate(raters.tolist()):
        of_rater = rater == who
        lines[place] = _means(code[:size][of_rater], value[of_rater], len(first))
    ruled = _means(code[size:], own, len(first))
    names = [part.names["rater"][who] or "?" for who in raters.tolist()]
    return alternative_annotator(ruled, lines, both[0][first], names, epsilon=epsilon)


def _means(code: Ints, value: Floats, size: int) -> Floats:
    number, total = np.bincount(code, minlength=size), np.bincount(code, value, size)
    means: Floats = np.divide(total, number, out=np.full(size, np.nan), where=number > 0)
    return means


def _told(part: Columns, family: Family) -> tuple[tuple[Ints, ...], Floats, Ints]:
    """What each rater said of each row: a mark, or what the first of two won; keys with the item first."""
    keys: tuple[Any, ...]
    if family == "score":
        single = np.flatnonzero((part.shown == 1) & (part.fault < 0))
        at = part.start.astype(np.int64)[single]
        keys = (part.item[single], part.ballot[single], part.contestant[at], part.sample[at])
        return tuple(key.astype(np.int64) for key in keys), part.mark[at], part.rater[single].astype(np.int64)
    by_rater: list[tuple[tuple[Ints, ...], Floats, Ints]] = []
    for code in np.unique(part.rater).tolist():
        settled = settle(part.rows(part.rater == code), rule="mean")
        place = {name: number for number, name in enumerate(part.names["contestant"])}
        renamed = np.array([place[name] for name in settled.names] or [0], dtype=np.int64)
        rows = settled.rows
        keys = (rows.item, renamed[rows.one], renamed[rows.two], *rows.samples)
        by_rater.append((tuple(key.astype(np.int64) for key in keys), rows.outcome, np.full(len(rows), code)))
    if not by_rater:
        none = np.zeros(0, dtype=np.int64)
        return (none,) * 5, np.zeros(0), none
    keys = tuple(np.concatenate([entry[0][place] for entry in by_rater]) for place in range(5))
    return keys, np.concatenate([entry[1] for entry in by_rater]), np.concatenate([entry[2] for entry in by_rater])


def _slices(part: Columns, slices: Slices) -> Iterator[tuple[str, Bools]]:
    yield ALL, np.ones(len(part), dtype=np.bool_)
    names = part.names["item"]
    for tag, values in slices.items():
        for value in sorted({values[item] for item in values}):
            members = np.array([values.get(name) == value for name in names] or [False])
            chosen = members[part.item.astype(np.int64)]
            if chosen.any():
                yield f"{tag}: {value}", chosen


def _said(judge: str, label: str, test: Replacement) -> Iterator[str]:
    """The verdict of the test as a plain sentence."""
    where = "" if label == ALL else Note("replacement.on", " on {slice}", slice=label)
    count, every = sum(annotator.replaced for annotator in test.annotators), len(test.annotators)
    if test.passes:
        yield Note(
            "replacement.may", "{judge} may replace people here{where}: it replaces {n} of {all} people.",
            judge=judge, where=where, n=count, all=every,
        )  # fmt: skip
    else:
        yield Note(
            "replacement.may-not", "{judge} may not replace people here{where}: it replaces {n} of {all} people.",
            judge=judge, where=where, n=count, all=every,
        )  # fmt: skip
    if test.left_out:
        yield Note(
            "replacement.left-out", "Left out for fewer than {rows} shared rulings: {names}.",
            rows=ROWS, names=", ".join(test.left_out),
        )  # fmt: skip
