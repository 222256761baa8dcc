"""Unusable verdicts by contestant: counts, a test of equal shares, and bounds on their effect.

A judge that refuses one contestant's answers more often than others' leaves out verdicts that are not like the rest.
The bounds (Manski 1989, doi:10.2307/145818) let every unusable verdict count fully against or for a contestant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from fullbench.analysis.item_clustered_means_and_shares import scale_as_shown
from fullbench.analysis.scope_suffixes_of_table_titles import mean_name
from fullbench.analysis.views.view_verdict_helpers import waiting_mask
from fullbench.columns.verdict_columns import Columns
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note, join_notes
from fullbench.stats.array_checks import Bools
from fullbench.stats.people.voted_versus_unvoted_row_test import differing_variables

_SHOWN = 3
"""Contestants that the note names."""


def unusable_counts(columns: Columns) -> dict[str, int]:
    """Return the number of unusable verdicts that show each contestant. Verdicts that wait for people do not count."""
    part, is_unusable = _counted_verdicts(columns)
    # No counted verdict shows a contestant twice.
    counts = np.bincount(part.rows(is_unusable).contestant.astype(np.int64), minlength=len(part.names["contestant"]))
    return {name: int(count) for name, count in zip(part.names["contestant"], counts.tolist(), strict=False) if count}


def unusable_verdicts(columns: Columns) -> list[tuple[str, list[str]]]:
    """Return the item and the contestants of every counted unusable verdict."""
    part, is_unusable = _counted_verdicts(columns)
    part = part.rows(is_unusable)
    items, names, start = part.names["item"], part.names["contestant"], part.start.tolist()
    shown = [names[code] for code in part.contestant.tolist()]
    return [(items[code], shown[start[row] : start[row + 1]]) for row, code in enumerate(part.item.tolist())]


def unusable_counts_of_pairs(
    verdicts: Sequence[tuple[str, Sequence[str]]], names: Sequence[str]
) -> Counter[tuple[str, str]]:
    """Return the number of unusable verdicts that a match of two contestants lacks.

    These are verdicts that show both of them, or that mark a single response of one of them.
    """
    counts = Counter(pair for _, shown in verdicts for pair in permutations(shown, 2))
    single = Counter(shown[0] for _, shown in verdicts if len(shown) == 1)
    counts.update({(one, two): single[one] + single[two] for one, two in permutations(names, 2)})
    return counts


def with_unusable_column(table: Table, counts: Mapping[Any, int], labels: Sequence[str] = ("contestant",)) -> Table:
    """Add a last column with the unusable verdicts behind each row, if there are any.

    Args:
        table: Table with a row for each contestant, or for each combination of the labels.
        counts: Unusable verdicts by contestant, or by a tuple with the values of several labels.
        labels: Columns that say which verdicts a row is about.
    """
    keys = zip(*(map(str, table.column(label)) for label in labels), strict=True)
    by_row = [counts.get(key if len(labels) > 1 else key[0], 0) for key in keys]
    if not any(by_row):
        return table
    rows = [[*row, count] for row, count in zip(table.rows, by_row, strict=True)]
    return replace(table, columns=(*table.columns, *table_columns("unusable")), rows=rows)


def unusable_notes(
    columns: Columns, won: Mapping[str, Estimate | None], means: Mapping[str, Mapping[str, Estimate]]
) -> Iterator[Note]:
    """Yield a note if the share of unusable verdicts differs between contestants beyond chance.

    Args:
        columns: Verdicts of one judge, criterion and ballot family.
        won: Share of matches won by contestant.
        means: Mean marks by contestant and ballot.
    """
    part, is_unusable = _counted_verdicts(columns)
    if not is_unusable.any() or is_unusable.all():
        return
    names = [part.names["contestant"][code] for code in np.unique(part.contestant)]
    verdict_counts = {name: _shows(part, name) for name in names}
    floats = {name: mask.astype(np.float64) for name, mask in verdict_counts.items()}
    differing = differing_variables(is_unusable, floats, part.item)
    if not differing:
        return
    shares = {entry.name: float(is_unusable[verdict_counts[entry.name]].mean()) for entry in differing}
    clearest = sorted(shares, key=lambda name: -shares[name])[:_SHOWN]
    parts = []
    for name in clearest:
        unusable, total = int(is_unusable[verdict_counts[name]].sum()), int(verdict_counts[name].sum())
        note = Note("unusable.share", contestant=name, share=shares[name], n=total)
        bound = _bound_note(unusable, total, won.get(name), means.get(name, {}))
        parts.append(note if bound is None else Note("unusable.share-and-bound", share=note, bound=bound))
    yield Note("unusable.differ", n=len(differing), shown=join_notes(parts))


def _bound_note(unusable: int, total: int, won: Estimate | None, means: Mapping[str, Estimate]) -> Note | None:
    """Return how far unusable verdicts could move the first number of a contestant."""
    share = unusable / total
    if won is not None:
        low = won.value * (1 - share)
        return Note("unusable.bound", what=Note("unusable.matches-won"), low=low, high=low + share)
    for ballot, mean in sorted(means.items()):
        scale = scale_as_shown(ballot)
        if scale is not None:
            low, high = (mean.value * (1 - share) + end * share for end in scale)
            return Note("unusable.bound", what=mean_name(ballot), low=low, high=high)
    return None


def _counted_verdicts(columns: Columns) -> tuple[Columns, Bools]:
    """Return the counted verdicts without those that wait for people, and a mask of the unusable ones."""
    latest = columns.latest()
    part = latest.rows(~(latest.self_matches() | waiting_mask(latest)))
    return part, part.fault >= 0


def _shows(part: Columns, contestant: str) -> Bools:
    """Return a mask of the verdicts that show a contestant."""
    row = np.repeat(np.arange(len(part)), part.response_counts)
    code = part.names["contestant"].index(contestant)
    shows: Bools = np.bincount(row, part.contestant == code, len(part)) > 0
    return shows
