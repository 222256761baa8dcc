"""Rulings on responses that people marked too, but on another ballot: no agreement counts them, so a table does."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

import numpy as np

from fullbench.analysis.estimate_cells import scale_of
from fullbench.analysis.verdicts_from_columns import responses_shown
from fullbench.columns.verdict_columns import Columns, grouped, of_codes
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE
from fullbench.stats.array_checks import Bools, Ints

Key = tuple[str, str, str, str]
"""Judge, study, criterion, ballot."""


def table(columns: Columns, other: str = PEOPLE, judges: Collection[str] = ()) -> Table:
    """Of each judge (or of `judges` alone), the rulings on what `other` marked on other ballots only, and on which.

    A choice that may tie and one that may not are two questions. Scores, choices and rankings are not even alike, and
    are not listed beside each other; nor are single marks on two scales, which `across_different_scales` compares.
    """
    counts, other_ballots = _counted(columns, other, judges)
    # A study or criterion that all rows share would be a column of one word.
    varied = [
        (place, name) for place, name in ((1, "study"), (2, "criterion")) if len({key[place] for key in counts}) > 1
    ]
    cells: list[list[Cell]] = [
        [key[0], *(key[place] for place, _ in varied), key[3], ", ".join(sorted(other_ballots[key])), count]
        for key, count in sorted(counts.items())
    ]
    varied_names = [name for _, name in varied]
    note = Note(
        "not-compared.why",
        "{n:,} rulings are on responses that {other} marked on another ballot only: no figure of agreement has them. "
        "Ask both on the same ballot to compare them.",
        n=counts.total(), other=other,
    )  # fmt: skip
    title = Note("not-compared.title", "Not compared with {other}: another ballot", other=other)
    return Table(
        "not compared", title, headings("judge", *varied_names, "ballot", "other's ballots", "rulings"), cells, [note]
    )


def _counted(
    columns: Columns, other: str, judges: Collection[str]
) -> tuple[Counter[Key], Mapping[Key, Collection[str]]]:
    """How many rulings are not compared, and the ballots on which `other` marked the same responses."""
    ruled = columns.latest()
    ruled = ruled.rows(~ruled.meeting_themselves() & (ruled.fault < 0))
    counts: Counter[Key] = Counter()
    other_ballots: dict[Key, set[str]] = defaultdict(set)
    names = {name: ruled.names[name] for name in ("study", "judge", "criterion", "ballot")}
    is_scale = np.array([scale_of(spec) is not None for spec in names["ballot"]] or [False])
    is_name_of_other = np.array([name == other for name in names["judge"]] or [False])
    # Only items of which the other marked an answer can have such rulings, and people see few items of many.
    on = np.zeros(len(ruled.names["item"]), dtype=np.bool_)
    on[ruled.item[of_codes(is_name_of_other, ruled.judge)]] = True
    ruled = ruled.rows(of_codes(on, ruled.item))
    # Verdicts on one, two, three... responses apart: those shown are as many columns as there are responses.
    for size in np.unique(ruled.shown).tolist():
        part = ruled.rows(np.flatnonzero(ruled.shown == size))
        is_other = is_name_of_other[part.judge.astype(np.int64)]
        # The same responses to one question, on any ballot of a family; and on one ballot.
        meeting, _ = grouped(part.study, part.criterion, part.item, part.family, *responses_shown(part, size).T)
        on_ballot, _ = grouped(meeting, part.ballot)
        scaled = is_scale[part.ballot.astype(np.int64)] & (size == 1)
        marked_by_other = _flags(meeting, is_other)
        marked_on_scale = _flags(meeting, is_other & scaled)
        marked_on_ballot = _flags(on_ballot, is_other)
        elsewhere = marked_by_other[meeting] & ~(scaled & marked_on_scale[meeting])
        apart = np.flatnonzero(elsewhere & ~marked_on_ballot[on_ballot] & ~is_other)
        code, first_rows = grouped(part.judge, part.study, part.criterion, part.ballot)
        keys = [
            (
                names["judge"][int(part.judge[row])], names["study"][int(part.study[row])],
                names["criterion"][int(part.criterion[row])], names["ballot"][int(part.ballot[row])],
            )
            for row in first_rows.tolist()
        ]  # fmt: skip
        for key, count in zip(keys, np.bincount(code[apart], minlength=len(keys)).tolist(), strict=True):
            if count and (not judges or key[0] in judges):
                counts[key] += count
        for ballot in np.unique(part.ballot[is_other]).tolist():
            marked_on_this = _flags(meeting, is_other & (part.ballot == ballot))
            for place in np.unique(code[apart[marked_on_this[meeting[apart]]]]).tolist():
                other_ballots[keys[place]].add(names["ballot"][ballot])
    return counts, other_ballots


def _flags(codes: Ints, chosen: Bools) -> Bools:
    """For each code, whether any of its rows is chosen."""
    flags = np.zeros(int(codes.max()) + 1, dtype=np.bool_)
    flags[codes[chosen]] = True
    return flags
