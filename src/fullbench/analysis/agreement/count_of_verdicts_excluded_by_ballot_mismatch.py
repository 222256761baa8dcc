"""Count of verdicts on responses that people marked only on another ballot, so that no agreement uses them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

import numpy as np

from fullbench.analysis.item_clustered_means_and_shares import scale_of
from fullbench.analysis.record_from_verdict_columns import response_codes_shown
from fullbench.columns.verdict_columns import Columns, group_rows, values_of_codes
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE
from fullbench.stats.array_checks import Bools, Ints

Key = tuple[str, str, str, str]
"""Judge, study, criterion, ballot."""


def uncompared_verdicts_table(columns: Columns, reference_judge: str = PEOPLE, judges: Collection[str] = ()) -> Table:
    """Return each judge's number of verdicts on responses that `reference_judge` marked only on other ballots.

    `judges` restricts the table to these judges; empty means all. A choice with ties and one without are different
    questions. Different families (scores, choices, rankings) are never matched. Single marks on two scales are not
    listed either, because `correlation_with_people_across_scales` compares them.
    """
    counts, other_ballots = _count_uncompared(columns, reference_judge, judges)
    # A study or criterion that all rows share needs no column.
    scope_columns = [
        (place, name) for place, name in ((1, "study"), (2, "criterion")) if len({key[place] for key in counts}) > 1
    ]
    cells: list[list[Cell]] = [
        [key[0], *(key[place] for place, _ in scope_columns), key[3], ", ".join(sorted(other_ballots[key])), count]
        for key, count in sorted(counts.items())
    ]
    scope_names = [name for _, name in scope_columns]
    note = Note("not-compared.why", n=counts.total(), other=reference_judge)
    title = Note("not-compared.title", other=reference_judge)
    return Table(
        "not compared",
        title,
        table_columns("judge", *scope_names, "ballot", "other's ballots", "verdicts"),
        cells,
        [note],
    )


def _count_uncompared(
    columns: Columns, reference_judge: str, judges: Collection[str]
) -> tuple[Counter[Key], Mapping[Key, Collection[str]]]:
    usable_verdicts = columns.latest()
    usable_verdicts = usable_verdicts.rows(~usable_verdicts.self_matches() & (usable_verdicts.fault < 0))
    counts: Counter[Key] = Counter()
    other_ballots: dict[Key, set[str]] = defaultdict(set)
    names = {name: usable_verdicts.names[name] for name in ("study", "judge", "criterion", "ballot")}
    is_scale = np.array([scale_of(spec) is not None for spec in names["ballot"]] or [False])
    is_name_of_other = np.array([name == reference_judge for name in names["judge"]] or [False])
    # Only items that the reference marked can have uncompared verdicts. People usually mark few items, so this is fast.
    on = np.zeros(len(usable_verdicts.names["item"]), dtype=np.bool_)
    on[usable_verdicts.item[values_of_codes(is_name_of_other, usable_verdicts.judge)]] = True
    usable_verdicts = usable_verdicts.rows(values_of_codes(on, usable_verdicts.item))
    # One pass per number of responses, because `response_codes_shown` returns one column per response.
    for size in np.unique(usable_verdicts.response_counts).tolist():
        part = usable_verdicts.rows(np.flatnonzero(usable_verdicts.response_counts == size))
        is_other = is_name_of_other[part.judge.astype(np.int64)]
        # `response_set` ignores which ballot of the family was used; `on_ballot` does not.
        response_set, _ = group_rows(
            part.study, part.criterion, part.item, part.family, *response_codes_shown(part, size).T
        )
        on_ballot, _ = group_rows(response_set, part.ballot)
        is_scale_mark = is_scale[part.ballot.astype(np.int64)] & (size == 1)
        marked_by_other = _flag_codes(response_set, is_other)
        marked_on_scale = _flag_codes(response_set, is_other & is_scale_mark)
        marked_on_ballot = _flag_codes(on_ballot, is_other)
        elsewhere = marked_by_other[response_set] & ~(is_scale_mark & marked_on_scale[response_set])
        uncompared_rows = np.flatnonzero(elsewhere & ~marked_on_ballot[on_ballot] & ~is_other)
        code, first_rows = group_rows(part.judge, part.study, part.criterion, part.ballot)
        keys = [
            (
                names["judge"][int(part.judge[row])], names["study"][int(part.study[row])],
                names["criterion"][int(part.criterion[row])], names["ballot"][int(part.ballot[row])],
            )
            for row in first_rows.tolist()
        ]  # fmt: skip
        for key, count in zip(keys, np.bincount(code[uncompared_rows], minlength=len(keys)).tolist(), strict=True):
            if count and (not judges or key[0] in judges):
                counts[key] += count
        for ballot in np.unique(part.ballot[is_other]).tolist():
            marked_on_this = _flag_codes(response_set, is_other & (part.ballot == ballot))
            for place in np.unique(code[uncompared_rows[marked_on_this[response_set[uncompared_rows]]]]).tolist():
                other_ballots[keys[place]].add(names["ballot"][ballot])
    return counts, other_ballots


def _flag_codes(codes: Ints, row_mask: Bools) -> Bools:
    flags = np.zeros(int(codes.max()) + 1, dtype=np.bool_)
    flags[codes[row_mask]] = True
    return flags
