"""Verdicts made again from columns, without texts: for figures that compare ruling by ruling."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from fullbench.analysis.views.member_verdicts import by_judges
from fullbench.columns.verdict_columns import Columns, grouped, of_codes
from fullbench.core.record import Record
from fullbench.core.verdict import FAULTS, PEOPLE, USUAL, Circumstances, Verdict


def beside(columns: Columns, other: str) -> Record:
    """The verdicts on the responses that `other` marked too, and all faults: what an agreement with it is made of."""
    return narrow(rows_beside(columns, other))


def rows_beside(columns: Columns, other: str, items: Collection[str] = ()) -> Columns:
    """The same as columns; with `items`, the verdicts on these items too, whoever marked them."""
    counted = columns.latest()
    counted = counted.rows(~counted.meeting_themselves())
    if other == PEOPLE:
        counted = by_judges(counted)
    wanted = np.array([name == other for name in counted.names["judge"]] or [False])
    theirs = of_codes(wanted, counted.judge) & (counted.fault < 0)
    chosen = counted.fault >= 0
    if items:
        chosen |= of_codes(np.array([name in items for name in counted.names["item"]]), counted.item)
    # What they did not mark an answer of is looked at no further: people see few items of many.
    on = np.zeros(len(counted.names["item"]), dtype=np.bool_)
    on[counted.item[theirs]] = True
    sizes = np.where(of_codes(on, counted.item), counted.shown, 0)
    for size in np.unique(sizes[sizes > 0]).tolist():
        rows = np.flatnonzero(sizes == size)
        meeting = _meetings(counted, rows, size)
        known = np.zeros(int(meeting.max()) + 1, dtype=np.bool_)
        known[meeting[theirs[rows]]] = True
        chosen[rows[known[meeting]]] = True
    return counted.rows(chosen)


def _meetings(columns: Columns, rows: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """A number for the item, the ballot and the set of responses that each of these verdicts is on."""
    shown = responses_shown(columns, size, rows)
    code, _ = grouped(columns.item[rows], columns.ballot[rows], columns.criterion[rows], *shown.T)
    return code


def responses_shown(columns: Columns, size: int, rows: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
    """A number for each response of verdicts that show so many, in an order of their own."""
    begin = columns.start.astype(np.int64)[:-1]
    at = (begin if rows is None else begin[rows])[:, None] + np.arange(size)
    samples = int(columns.sample.max(initial=0)) + 1
    shown: npt.NDArray[np.int64] = np.sort(
        columns.contestant[at].astype(np.int64) * samples + columns.sample[at], axis=1
    )
    return shown


_SEEN = {-1: USUAL, 0: Circumstances(blind=False), 1: Circumstances(blind=True)}


def narrow(columns: Columns) -> Record:
    """All verdicts of some columns as nouns, without texts but the reasons of recusals."""
    names, start = columns.names, columns.start.tolist()
    people, samples, marks = columns.contestant.tolist(), columns.sample.tolist(), columns.mark.tolist()
    parts = zip(
        columns.case.tolist(), columns.judge.tolist(), columns.item.tolist(), columns.ballot.tolist(),
        columns.criterion.tolist(), columns.trial.tolist(), columns.fault.tolist(), columns.rater.tolist(),
        columns.revision.tolist(), columns.blind.tolist(), start, start[1:], strict=False,
    )  # fmt: skip
    verdicts = []
    for row, (case, judge, item, ballot, criterion, trial, fault, rater, revision, blind, begin, end) in enumerate(
        parts
    ):
        numbers = tuple(samples[begin:end])
        verdicts.append(
            Verdict(
                f"{case:016x}",
                names["judge"][judge],
                names["item"][item],
                tuple(names["contestant"][code] for code in people[begin:end]),
                names["ballot"][ballot],
                names["criterion"][criterion],
                trial,
                tuple(marks[begin:end]) if fault < 0 else None,
                None if fault < 0 else FAULTS[fault],
                columns.recusals.get(row, ""),
                samples=numbers if any(numbers) else (),
                rater=names["rater"][rater],
                revision=revision,
                circumstances=_SEEN[blind],
            )
        )
    return Record(tuple(verdicts))
