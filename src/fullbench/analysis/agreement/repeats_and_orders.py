"""Steadiness of judges: repeated verdicts on the same case, and the effect of the order of two responses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.agreement.judges_with_people import SHAPES
from fullbench.analysis.boards.matches_from_verdicts import Matches, means_by_order
from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL
from fullbench.analysis.views.view_verdict_helpers import waiting_mask, without_people_decisions
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.columns.verdict_columns import Array, Columns, group_rows
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, error_sentence, word_note
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.agreement.judge_repeat_and_contestant_rephrasing_consistency import Steadiness, measure_steadiness

BINS = 6
MANY = 10
"""Number of trials from which shares are shown in bins."""


def steadiness_by_judge(
    verdicts: Columns | Record, *, together: bool = False
) -> Iterator[tuple[tuple[str, ...], Steadiness | str]]:
    """Yield the steadiness, or why it is undefined, for each judge, verdict shape and criterion with repeats.

    An unusable verdict equals no other verdict, not even another unusable one. Votes of several people on one case are
    not repeats. Cases that people decided for a cascade, or still have to decide, are left out. `together` pools the
    criteria.
    """
    columns = without_people_decisions(columns_from_verdicts(verdicts) if isinstance(verdicts, Record) else verdicts)
    columns = columns.rows(~waiting_mask(columns))
    groups = columns.latest().by("judge", "family", *([] if together else ["criterion"]))
    for (judge, family, *criterion), part in groups:
        cases, first = group_rows(part.study, part.case, part.rater)
        if len(first) == len(cases):
            continue
        cases = cases.astype(np.int32)
        del first
        try:
            yield (
                (judge, SHAPES[family], *criterion),
                measure_steadiness(cases, _verdict_codes(part), cluster=part.item),
            )
        except Undefined as reason:
            yield (judge, SHAPES[family], *criterion), error_sentence(reason)


def _verdict_codes(part: Columns) -> Array:
    """Return a code per verdict: equal for equal marks, unique for each unusable verdict."""
    verdict_codes = np.zeros(len(part), dtype=np.int32)
    sizes, most = part.response_counts, 0
    for size in np.unique(sizes).tolist():
        # int32 throughout: memory peaks here.
        rows = np.flatnonzero((sizes == size) & (part.fault < 0)).astype(part.start.dtype)
        if len(rows):
            code = np.zeros(len(rows), dtype=np.int32)
            for place in range(size):
                mark = group_rows(part.mark[part.start[rows] + place])[0].astype(np.int32)
                code = group_rows(code, mark)[0].astype(np.int32)
            verdict_codes[rows] = code + most
            most += int(code.max()) + 1
    fault_rows = np.flatnonzero(part.fault >= 0)
    verdict_codes[fault_rows] = most + np.arange(len(fault_rows))
    return verdict_codes


def steadiness_tables(verdicts: Columns | Record, *, together: bool = False, seed: int = 0) -> list[Table]:
    """Return a table of weighted average consistency and majority, and a histogram of the shares of cases.
    Rows name the criterion if one differs from the default, unless criteria are pooled by `together`.
    """
    rows: list[list[Cell]] = []
    counts: list[list[Cell]] = []
    notes = [Note("repeats.consistency-the-share-of-the"), Note("repeats.majority-the-share-of-these")]
    by_judge = list(steadiness_by_judge(verdicts, together=together))
    split = any(criterion != [OVERALL] for (_, _, *criterion), _ in by_judge) and not together
    for names, steadiness_or_reason in by_judge:
        place: list[Cell] = list(names if split else names[:2])
        if isinstance(steadiness_or_reason, str):
            rows.append([*place, None, None, None])
            notes.append(
                Note(
                    "repeats.undefined",
                    judge=names[0],
                    ruling=word_note(names[1]),
                    criterion=f", {names[2]}" if split else "",
                    why=steadiness_or_reason,
                )
            )
            continue
        rows.append(
            [*place, steadiness_or_reason.consistency, steadiness_or_reason.majority, len(steadiness_or_reason.shares)]
        )
        counts += [[*place, share, cases] for share, cases in _share_counts(steadiness_or_reason)]
    # A judge has a row per verdict kind and criterion. Drawn without a group, they would overlap in the chart.
    kinds = ["verdict"] if len({names[1] for names, _ in by_judge}) > 1 else []
    criteria = ["criterion"] if split else []
    hint: dict[str, object] = {"kind": "intervals", "label": "judge", "value": "consistency"}
    hint |= {"within": criteria} if criteria else {}
    hint |= {"group": "verdict"} if kinds else {}
    bars = {"kind": "bars", "label": "share of the most common verdict", "value": "cases", "group": "judge",
            "within": [*kinds, *criteria], "order": "label"}  # fmt: skip
    head = table_columns("judge", "verdict", *(["criterion"] if split else []))
    main = Table(
        "steadiness",
        Note("repeats.title.the-same-case-heard-again"),
        table_columns(*head, "consistency", "majority of verdicts", "cases"),
        rows,
        notes,
        {"seed": seed},
        hint,
    )
    columns = table_columns(*head, "share of the most common verdict", "cases")
    histogram = Table(
        "steadiness histogram", Note("repeats.title.how-steady-case-by-case"), columns, counts, (), {}, bars
    )
    return [table for table in (main, histogram) if table.rows]


def _share_counts(judge_steadiness: Steadiness) -> Iterator[tuple[str, int]]:
    """Yield how many cases have which share, as "5 of 6" if all cases have the same small number of trials: bins of
    equal width would put five of six and six of six into one bin.
    """
    times, trial_count = judge_steadiness.times(), judge_steadiness.verdict_counts[0]
    if times and trial_count < MANY:
        for often, cases in times.items():
            yield Note("repeats.times", often=often, heard=trial_count), cases
        return
    for low, high, cases in judge_steadiness.histogram(BINS):
        if cases:
            yield Note("repeats.bin", low=low, high=high), cases


# Pairs judged in both orders: consistency, and bias towards the first position.


@dataclass(frozen=True, slots=True)
class Position:
    """Share of pairs with the same verdict in both orders, and of decided verdicts for the first one shown.

    `first.p` tests "each place wins half", which holds for any judge without position bias, however good the responses
    are, because each pair was judged in both orders.
    """

    same: Estimate
    first: Estimate | None
    pairs: int


def position_effect(matches: Matches) -> Position | None:
    """Return the effect of order on a judge of pairs, or None if no pair was judged in both orders."""
    plays, pair = matches.plays, matches.pair
    if not len(plays):
        return None
    size = int(pair.max()) + 1
    means = means_by_order(plays, pair)
    both = ~(np.isnan(means[0]) | np.isnan(means[1]))
    if not both.any():
        return None
    item = np.zeros(size, dtype=plays.item.dtype)
    item[pair] = plays.item
    same = item_clustered_means_and_shares.share_estimate(
        np.isclose(means[0, both], means[1, both]).astype(np.float64), item[both]
    )
    del means, item
    decided_rows = np.flatnonzero(both[pair] & (plays.outcome != 0.5) & (plays.ahead >= 0))
    # Changed in place, because the array is as long as the list of verdicts.
    to_first = plays.outcome[decided_rows]
    to_first -= plays.ahead[decided_rows]
    np.subtract(1.0, np.abs(to_first, out=to_first), out=to_first)
    first = None
    if len(decided_rows):
        decided_items = plays.item[decided_rows]
        first = item_clustered_means_and_shares.share_estimate(to_first, decided_items)
        to_first -= 0.5
        p = item_clustered_means_and_shares.difference_estimate(to_first, decided_items, (-0.5, 0.5)).p
        first = replace(first, p=p)
    return Position(same, first, int(both.sum()))
