"""Verdict objects rebuilt from columns, without texts, for analyses that compare single verdicts."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from fullbench.analysis.views.view_verdict_helpers import without_people_decisions
from fullbench.columns.verdict_columns import Columns, group_rows, values_of_codes
from fullbench.core.verdict import FAULTS, PEOPLE, USUAL, Circumstances, Verdict
from fullbench.core.verdict_record import Record


def comparable_record(columns: Columns, reference_judge: str) -> Record:
    """Return the input of an agreement: verdicts on responses that `reference_judge` marked too, and unusable ones."""
    return record_from_columns(comparable_rows(columns, reference_judge))


def comparable_rows(columns: Columns, reference_judge: str, items: Collection[str] = ()) -> Columns:
    """Return the same as columns; `items` adds all verdicts on these items."""
    counted_verdicts = columns.latest()
    counted_verdicts = counted_verdicts.rows(~counted_verdicts.self_matches())
    if reference_judge == PEOPLE:
        counted_verdicts = without_people_decisions(counted_verdicts)
    is_reference = np.array([name == reference_judge for name in counted_verdicts.names["judge"]] or [False])
    theirs = values_of_codes(is_reference, counted_verdicts.judge) & (counted_verdicts.fault < 0)
    selection = counted_verdicts.fault >= 0
    if items:
        selection |= values_of_codes(
            np.array([name in items for name in counted_verdicts.names["item"]]), counted_verdicts.item
        )
    # Skip items without marks of the reference. People usually mark few items, so this is much faster.
    on = np.zeros(len(counted_verdicts.names["item"]), dtype=np.bool_)
    on[counted_verdicts.item[theirs]] = True
    sizes = np.where(values_of_codes(on, counted_verdicts.item), counted_verdicts.response_counts, 0)
    for size in np.unique(sizes[sizes > 0]).tolist():
        rows = np.flatnonzero(sizes == size)
        response_set = _response_set_codes(counted_verdicts, rows, size)
        is_marked_set = np.zeros(int(response_set.max()) + 1, dtype=np.bool_)
        is_marked_set[response_set[theirs[rows]]] = True
        selection[rows[is_marked_set[response_set]]] = True
    return counted_verdicts.rows(selection)


def _response_set_codes(columns: Columns, rows: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    response_codes = response_codes_shown(columns, size, rows)
    code, _ = group_rows(columns.item[rows], columns.ballot[rows], columns.criterion[rows], *response_codes.T)
    return code


def response_codes_shown(
    columns: Columns, size: int, rows: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.int64]:
    """Return sorted codes of the responses of each verdict, for verdicts that show `size` responses."""
    begin = columns.start.astype(np.int64)[:-1]
    at = (begin if rows is None else begin[rows])[:, None] + np.arange(size)
    samples = int(columns.sample.max(initial=0)) + 1
    response_codes: npt.NDArray[np.int64] = np.sort(
        columns.contestant[at].astype(np.int64) * samples + columns.sample[at], axis=1
    )
    return response_codes


_CIRCUMSTANCES = {-1: USUAL, 0: Circumstances(blind=False), 1: Circumstances(blind=True)}


def record_from_columns(columns: Columns) -> Record:
    """Return all verdicts as objects. Texts are missing, except reasons of abstentions."""
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
                columns.abstentions.get(row, ""),
                samples=numbers if any(numbers) else (),
                rater=names["rater"][rater],
                revision=revision,
                circumstances=_CIRCUMSTANCES[blind],
            )
        )
    return Record(tuple(verdicts))
