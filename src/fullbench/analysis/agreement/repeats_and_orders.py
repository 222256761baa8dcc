"""The same case heard again: how steady each judge is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fullbench.analysis import estimate_cells
from fullbench.analysis.agreement.judges_with_people import SHAPES
from fullbench.analysis.boards.matches_from_verdicts import Matches, means_by_order
from fullbench.analysis.scope_text import OVERALL
from fullbench.analysis.views.member_verdicts import by_judges, waiting
from fullbench.columns.column_builder import columns_of
from fullbench.columns.verdict_columns import Array, Columns, grouped
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, sentence, word
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined
from fullbench.stats.agreement.repeat_consistency import Steadiness, steadiness

BINS = 6
MANY = 10
"""From so many trials on, shares are shown in bins."""


def steady(verdicts: Columns | Record, *, together: bool = False) -> Iterator[tuple[tuple[str, ...], Steadiness | str]]:
    """For each judge, shape of ruling and criterion that was heard again, how steady it is, or why that is not known.

    A fault is like no other ruling, not even another fault. Several people on one case are several, none of them heard
    again. What people settled for a cascade, or have yet to settle, is left out. `together` pools the criteria.
    """
    columns = by_judges(columns_of(verdicts) if isinstance(verdicts, Record) else verdicts)
    columns = columns.rows(~waiting(columns))
    groups = columns.latest().by("judge", "family", *([] if together else ["criterion"]))
    for (judge, family, *criterion), part in groups:
        cases, first = grouped(part.study, part.case, part.rater)
        if len(first) == len(cases):
            continue
        cases = cases.astype(np.int32)
        del first
        try:
            yield (judge, SHAPES[family], *criterion), steadiness(cases, _rulings(part), cluster=part.item)
        except Undefined as reason:
            yield (judge, SHAPES[family], *criterion), sentence(reason)


def _rulings(part: Columns) -> Array:
    """A number for each ruling: the same for the same marks, its own for each fault."""
    rulings = np.zeros(len(part), dtype=np.int32)
    sizes, most = part.shown, 0
    for size in np.unique(sizes).tolist():
        # Small numbers all along: memory is at its highest here.
        rows = np.flatnonzero((sizes == size) & (part.fault < 0)).astype(part.start.dtype)
        if len(rows):
            code = np.zeros(len(rows), dtype=np.int32)
            for place in range(size):
                mark = grouped(part.mark[part.start[rows] + place])[0].astype(np.int32)
                code = grouped(code, mark)[0].astype(np.int32)
            rulings[rows] = code + most
            most += int(code.max()) + 1
    lost = np.flatnonzero(part.fault >= 0)
    rulings[lost] = most + np.arange(len(lost))
    return rulings


def tables(verdicts: Columns | Record, *, together: bool = False, seed: int = 0) -> list[Table]:
    """Weighted average consistency and the majority criterion, and how many cases have which share.

    Rows name the criterion where there is another than the usual one, unless they are taken `together`.
    """
    rows: list[list[Cell]] = []
    counts: list[list[Cell]] = []
    notes = [
        Note(
            "repeats.consistency-the-share-of-the",
            "Consistency: the share of the commonest ruling of a case, averaged over cases that were heard more than "
            "once.",
        ),
        Note(
            "repeats.majority-the-share-of-these",
            "Majority: the share of these cases with more than half of the rulings the same. A fault agrees with none.",
        ),
    ]
    by_judge = list(steady(verdicts, together=together))
    split = any(criterion != [OVERALL] for (_, _, *criterion), _ in by_judge) and not together
    for names, steadied in by_judge:
        place: list[Cell] = list(names if split else names[:2])
        if isinstance(steadied, str):
            rows.append([*place, None, None, None])
            notes.append(
                Note(
                    "repeats.undefined",
                    "{judge}, {ruling}{criterion}: {why}.",
                    judge=names[0],
                    ruling=word(names[1]),
                    criterion=f", {names[2]}" if split else "",
                    why=steadied,
                )
            )
            continue
        rows.append([*place, steadied.consistency, steadied.majority, len(steadied.shares)])
        counts += [[*place, share, cases] for share, cases in _shares(steadied)]
    # A judge has a row for each kind of ruling and criterion: one drawn over the other could not be told apart.
    kinds = ["ruling"] if len({names[1] for names, _ in by_judge}) > 1 else []
    criteria = ["criterion"] if split else []
    hint: dict[str, object] = {"kind": "intervals", "label": "judge", "value": "consistency"}
    hint |= {"within": criteria} if criteria else {}
    hint |= {"group": "ruling"} if kinds else {}
    bars = {"kind": "bars", "label": "share of the commonest ruling", "value": "cases", "group": "judge",
            "within": [*kinds, *criteria], "order": "label"}  # fmt: skip
    head = headings("judge", "ruling", *(["criterion"] if split else []))
    main = Table(
        "steadiness",
        Note("repeats.title.the-same-case-heard-again", "The same case heard again"),
        headings(*head, "consistency", "majority of rulings", "cases"),
        rows,
        notes,
        {"seed": seed},
        hint,
    )
    columns = headings(*head, "share of the commonest ruling", "cases")
    histogram = Table(
        "steadiness histogram",
        Note("repeats.title.how-steady-case-by-case", "How steady, case by case"),
        columns,
        counts,
        (),
        {},
        bars,
    )
    return [table for table in (main, histogram) if table.rows]


def _shares(steadied: Steadiness) -> Iterator[tuple[str, int]]:
    """How many cases have which share: as so many times of so many where these are few and the same for all cases.

    In bins of equal width five and six times of six would be one.
    """
    times, heard = steadied.times(), steadied.hearings[0]
    if times and heard < MANY:
        for often, cases in times.items():
            yield Note("repeats.times", "{often} of {heard}", often=often, heard=heard), cases
        return
    for low, high, cases in steadied.histogram(BINS):
        if cases:
            yield Note("repeats.bin", "{low:.2f} to {high:.2f}", low=low, high=high), cases


# Pairs that were heard in both orders: does the ruling stay, and does the first place win?


@dataclass(frozen=True, slots=True)
class Position:
    """The share of pairs with the same ruling in both orders, and of decided rulings for the first shown."""

    same: Estimate
    first: Estimate | None
    pairs: int


def position(settled: Matches) -> Position | None:
    """What the order does to a judge of pairs; None where no pair was heard in both orders."""
    plays, pair = settled.plays, settled.pair
    if not len(plays):
        return None
    size = int(pair.max()) + 1
    means = means_by_order(plays, pair)
    both = ~(np.isnan(means[0]) | np.isnan(means[1]))
    if not both.any():
        return None
    item = np.zeros(size, dtype=plays.item.dtype)
    item[pair] = plays.item
    same = estimate_cells.share(np.isclose(means[0, both], means[1, both]).astype(np.float64), item[both])
    del means, item
    decided = np.flatnonzero(both[pair] & (plays.outcome != 0.5) & (plays.ahead >= 0))
    # One array, changed in place: there are as many as verdicts.
    to_first = plays.outcome[decided]
    to_first -= plays.ahead[decided]
    np.subtract(1.0, np.abs(to_first, out=to_first), out=to_first)
    first = estimate_cells.share(to_first, plays.item[decided]) if len(decided) else None
    return Position(same, first, int(both.sum()))
