"""Agreement among people per judge, criterion and ballot, computed from single votes."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

import numpy as np

from fullbench.analysis.agreement.with_single_votes import agreement_of_people
from fullbench.analysis.item_clustered_means_and_shares import Gaps
from fullbench.analysis.people.joined_votes import form_of
from fullbench.columns.verdict_columns import Columns
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.stats.agreement.many_raters import Distance, alpha_of_choices, krippendorff_alpha

_BOTH_DIRECTIONS = Note("among.both-directions")


def people_agreement_table(columns: Columns, *, seed: int = 0) -> Table:
    """Return Krippendorff's alpha and the share of equal vote pairs, for every judge with several raters.

    Votes on one item stay together in both intervals.
    """
    votes = columns.latest()
    rater_codes = [place for place, name in enumerate(votes.names["rater"]) if name]
    votes = votes.rows((votes.fault < 0) & np.isin(votes.rater, rater_codes))
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for (judge, criterion, _), part in votes.by("judge", "criterion", "family"):
        for (spec,), cast in part.by("ballot"):
            votes_by_set = _votes_by_response_set(cast)
            several = {place: vote_list for place, vote_list in votes_by_set.items() if len(vote_list) > 1}
            if several:
                vote_lists, items = list(several.values()), [place[0] for place in several]
                alpha = gaps.cell(
                    f"{judge}, {criterion}, {spec}", partial(_alpha_of_votes, spec, vote_lists, items, seed)
                )
                raters = len(np.unique(cast.rater))
                rows.append([judge, criterion, spec, raters, len(cast), alpha, agreement_of_people(vote_lists, items)])
    notes = [
        Note("among.what"),
        *([_BOTH_DIRECTIONS] if any(form_of(str(row[2])) == "choice" for row in rows) else []),
        *gaps.notes,
    ]
    heads = table_columns(
        "judge", "criterion", "ballot", "people", "votes", "alpha", "pairs of votes that say the same"
    )
    return Table("among people", Note("among.title"), heads, rows, notes)


VoteList = list[tuple[float, ...]]


def _votes_by_response_set(columns: Columns) -> dict[tuple[object, ...], VoteList]:
    """Marks are in the sorted order of the responses."""
    votes_by_set: dict[tuple[object, ...], VoteList] = defaultdict(list)
    start, items = columns.start.tolist(), columns.item.tolist()
    marked_responses = [*zip(columns.contestant.tolist(), columns.sample.tolist(), columns.mark.tolist(), strict=True)]
    for item, begin, end in zip(items, start, start[1:], strict=False):
        *codes, marks = zip(*sorted(marked_responses[begin:end]), strict=True)
        votes_by_set[item, *codes].append(marks)
    return votes_by_set


def _alpha_of_votes(spec: str, vote_lists: list[VoteList], items: list[object], seed: int) -> Estimate:
    if form_of(spec) == "choice":
        return alpha_of_choices(vote_lists, items, resamples=300, seed=seed)
    units: list[int] = []
    clusters: list[object] = []
    marks: list[float] = []
    distance: Distance = "nominal" if form_of(spec) == "yes-no" else "ordinal"
    codes: dict[tuple[float, ...], float] = {}
    for vote_list, item in zip(vote_lists, items, strict=True):
        first = len(clusters)
        # Yes or no: each distinct vote is a category. Scores: one unit per response.
        clusters += [item] * (1 if distance == "nominal" else len(vote_list[0]))
        for vote in vote_list:
            if distance == "nominal":
                units.append(first)
                marks.append(codes.setdefault(vote, float(len(codes))))
            else:
                units += range(first, len(clusters))
                marks += vote
    labels = np.array(clusters)
    return krippendorff_alpha(units, marks, distance=distance, cluster=labels, resamples=300, seed=seed)
