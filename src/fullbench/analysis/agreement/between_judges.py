"""Agreement between judges: the share of equal verdicts on the same responses."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.agreement.judges_with_people import SHAPES
from fullbench.analysis.scope_suffixes_of_table_titles import OVERALL
from fullbench.columns.verdict_columns import Columns, Ints, group_rows
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _JudgeVerdicts:
    """Verdict counts and sums of marks of one judge, per set of responses."""

    verdict_codes: Ints
    times: Ints
    verdict_counts: Floats
    marks: Floats
    squares: Floats


def judge_agreement_table(columns: Columns) -> Table:
    """Return the share of equal marks or winners over all pairs of verdicts of every two judges."""
    rows: list[list[Cell]] = []
    counted_verdicts = columns.latest()
    counted_verdicts = counted_verdicts.rows((counted_verdicts.fault < 0) & ~counted_verdicts.self_matches())
    split = any(
        name != OVERALL for name in (columns.names["criterion"][code] for code in np.unique(counted_verdicts.criterion))
    )
    for (criterion, family), part in counted_verdicts.by("criterion", "family"):
        response_set, item, verdict_code = _encode_verdicts(part)
        verdicts_by_judge = {
            judge: _count_judge_verdicts(response_set, verdict_code, part, part.judge == code)
            for code, judge in _judge_codes_and_names(part)
        }
        for judge, other_judge in combinations(sorted(verdicts_by_judge), 2):
            cells = _agreement_cells(
                verdicts_by_judge[judge],
                verdicts_by_judge[other_judge],
                item,
                int(verdict_code.max()) + 1,
                scores=family == "score",
            )
            if cells is not None:
                rows.append([judge, other_judge, *([criterion] if split else []), SHAPES[family], *cells])
    rows.sort(key=lambda row: [str(cell) for cell in row[:4]])
    notes = [Note("between.the-same-mark-for-scores")]
    head = table_columns("judge", "other", *(["criterion"] if split else []), "on", "same verdict", "r")
    return Table("between judges", Note("between.title.agreement-between-judges"), head, rows, notes)


def _judge_codes_and_names(part: Columns) -> list[tuple[int, str]]:
    return [(int(code), part.names["judge"][code]) for code in np.unique(part.judge)]


def _encode_verdicts(part: Columns) -> tuple[Ints, Ints, Ints]:
    """Return three code arrays: response set per verdict, item per response set, and outcome per verdict."""
    response_set, verdict_code = np.zeros(len(part), dtype=np.int64), np.zeros(len(part), dtype=np.int64)
    sizes, start, most, kinds = part.response_counts, part.start.astype(np.int64), 0, 0
    samples = int(part.sample.max(initial=0)) + 1
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        at = start[rows][:, None] + np.arange(size)
        response_codes = part.contestant[at].astype(np.int64) * samples + part.sample[at]
        code, _ = group_rows(part.study[rows], part.item[rows], part.ballot[rows], *np.sort(response_codes, axis=1).T)
        response_set[rows] = code + most
        most += int(code.max()) + 1
        marks = part.mark[at]
        best = marks.max(axis=1, keepdims=True)
        winner = np.where(
            (marks == best).sum(axis=1) == 1, response_codes[np.arange(len(rows)), marks.argmax(axis=1)] + 1, 0
        )
        mark_codes, _ = group_rows(marks[:, 0] if size == 1 else winner)
        verdict_code[rows] = (mark_codes if size == 1 else winner) + kinds
        kinds = int(verdict_code[rows].max()) + 1
    item = np.zeros(most, dtype=np.int64)
    item[response_set] = part.item
    return response_set, item, verdict_code


def _count_judge_verdicts(
    response_set: Ints, verdict_code: Ints, part: Columns, rows: npt.NDArray[np.bool_]
) -> _JudgeVerdicts:
    size, kinds = int(response_set.max()) + 1, int(verdict_code.max()) + 1
    verdict_codes, times = np.unique(response_set[rows] * kinds + verdict_code[rows], return_counts=True)
    marks = part.mark[part.start.astype(np.int64)[:-1]][rows]
    verdict_counts, sums, squares = (
        np.bincount(response_set[rows], weights, size).astype(np.float64) for weights in (None, marks, marks**2)
    )
    return _JudgeVerdicts(verdict_codes, times, verdict_counts, sums, squares)


def _agreement_cells(
    ours: _JudgeVerdicts, theirs: _JudgeVerdicts, item: Ints, kinds: int, *, scores: bool
) -> list[Cell] | None:
    pair_counts = ours.verdict_counts * theirs.verdict_counts
    is_shared = pair_counts > 0
    if not is_shared.any():
        return None
    both, here, there = np.intersect1d(
        ours.verdict_codes, theirs.verdict_codes, assume_unique=True, return_indices=True
    )
    times = (ours.times[here] * theirs.times[there]).astype(np.float64)
    equal_counts: Floats = np.bincount(both // kinds, times, len(item)).astype(np.float64)
    same = item_clustered_means_and_shares.share_of_groups(
        equal_counts[is_shared], pair_counts[is_shared], item[is_shared]
    )
    return [same, _pearson_r(ours, theirs) if scores else None]


def _pearson_r(ours: _JudgeVerdicts, theirs: _JudgeVerdicts) -> float | None:
    n = float((ours.verdict_counts * theirs.verdict_counts).sum())
    x, y = float((ours.marks * theirs.verdict_counts).sum()) / n, float((theirs.marks * ours.verdict_counts).sum()) / n
    across = float((ours.squares * theirs.verdict_counts).sum()) / n - x * x
    up = float((theirs.squares * ours.verdict_counts).sum()) / n - y * y
    # Variances come from sums of squares; below this relative size they are rounding noise.
    if min(across, up) <= 1e-12 * max(1.0, x * x, y * y):
        return None
    return (float((ours.marks * theirs.marks).sum()) / n - x * y) / float(np.sqrt(across * up))
