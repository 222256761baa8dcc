"""Correlation of a judge's marks on one scale with people's marks on another scale.

A rubric total is between 0 and 1 and an expected mark has decimals, while people give whole numbers. Correlations
need no shared unit, so marks on the same responses can still be compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from fullbench.analysis.item_clustered_means_and_shares import Gaps, scale_of
from fullbench.analysis.people.paired_verdicts_and_votes import drop_visible_votes
from fullbench.analysis.views.view_verdict_helpers import without_people_decisions
from fullbench.columns.verdict_columns import Columns, group_rows
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE
from fullbench.stats.agreement import two_raters
from fullbench.stats.array_checks import Floats

CORRELATIONS = {
    "Pearson": two_raters.pearson_correlation,
    "Spearman": two_raters.spearman_correlation,
    "Kendall": two_raters.kendall_correlation,
}


@dataclass(frozen=True)
class MarkPairs:
    """A judge's marks on one scale and the reference judge's mean marks on another, one entry per response."""

    key: tuple[str, str, str, str, str]
    """Judge, study, criterion, the judge's ballot, the reference's ballot."""
    ours: Floats
    theirs: Floats
    item: npt.NDArray[np.int64]


def correlation_table(
    columns: Columns, reference_judge: str = PEOPLE, judges: Collection[str] = (), *, seed: int = 0
) -> Table:
    """Return the correlation of single marks of all judges, or `judges`, with the reference's on another scale."""
    mark_pairs = sorted(_pair_marks(columns, reference_judge, judges), key=lambda pairs: pairs.key)
    scope_columns = [
        (place, name)
        for place, name in ((1, "study"), (2, "criterion"))
        if len({pairs.key[place] for pairs in mark_pairs}) > 1
    ]
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for pairs in mark_pairs:
        judge, *_, judge_ballot, other_ballot = pairs.key
        options: two_raters.Options = {"cluster": pairs.item.tolist(), "seed": seed}
        cells = [
            gaps.cell(f"{judge}, {name}", partial(metric, pairs.ours, pairs.theirs, **options))
            for name, metric in CORRELATIONS.items()
        ]
        scale = scale_of(judge_ballot)
        has_same_scale = scale == scale_of(other_ballot)
        error = two_raters.absolute_error(pairs.ours, pairs.theirs, scale=scale, **options) if has_same_scale else None
        places = [pairs.key[place] for place, _ in scope_columns]
        rows.append([judge, *places, judge_ballot, other_ballot, *cells, error, len(pairs.ours)])
    names = [name for _, name in scope_columns]
    notes = [Note("other-scales.what", other=reference_judge), *gaps.notes]
    title = Note("other-scales.title", other=reference_judge)
    column_headings = table_columns("judge", *names, "ballot", "other's ballots", *CORRELATIONS, "error", "n")
    hint = {"kind": "intervals", "label": "judge", "value": "Pearson"}
    return Table("other scales", title, column_headings, rows, notes, {"against": reference_judge, "seed": seed}, hint)


def _pair_marks(columns: Columns, reference_judge: str, judges: Collection[str]) -> Iterator[MarkPairs]:
    """Yield the mark pairs of every two scales, on responses that the reference did not mark on the judge's scale."""
    usable_verdicts = without_people_decisions(columns.latest())
    usable_verdicts = usable_verdicts.rows((usable_verdicts.response_counts == 1) & (usable_verdicts.fault < 0))
    names = usable_verdicts.names
    is_scale = np.array([scale_of(spec) is not None for spec in names["ballot"]] or [False])
    usable_verdicts = usable_verdicts.rows(is_scale[usable_verdicts.ballot.astype(np.int64)])
    all_votes, _ = drop_visible_votes(usable_verdicts.where(judge=reference_judge))
    if not len(all_votes):
        return
    for (judge, study, criterion, judge_ballot), part in usable_verdicts.by("judge", "study", "criterion", "ballot"):
        if judge == reference_judge or (judges and judge not in judges):
            continue
        votes = all_votes.where(study=study, criterion=criterion)
        same = set(_response_keys(votes.where(ballot=judge_ballot)))
        for (other_ballot,), cast in votes.by("ballot"):
            if other_ballot == judge_ballot:
                continue
            means = _mean_marks(cast)
            matched_rows = [
                (row, means[place])
                for row, place in enumerate(_response_keys(part))
                if place in means and place not in same
            ]
            if matched_rows:
                rows = np.array([row for row, _ in matched_rows])
                marks = part.mark[part.start[:-1][rows]].astype(np.float64)
                item = part.item[rows].astype(np.int64)
                yield MarkPairs(
                    (judge, study, criterion, judge_ballot, other_ballot),
                    marks,
                    np.array([mean for _, mean in matched_rows]),
                    item,
                )


ResponseKey = tuple[int, int, int]


def _response_keys(part: Columns) -> list[ResponseKey]:
    at = part.start[:-1]
    return list(zip(part.item.tolist(), part.contestant[at].tolist(), part.sample[at].tolist(), strict=True))


def _mean_marks(part: Columns) -> dict[ResponseKey, float]:
    at = part.start[:-1]
    code, first = group_rows(part.item, part.contestant[at], part.sample[at])
    sums = np.bincount(code, part.mark[at]) / np.bincount(code)
    response_keys = _response_keys(part)
    return {response_keys[row]: float(mean) for row, mean in zip(first.tolist(), sums.tolist(), strict=True)}
