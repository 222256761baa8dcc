"""Agreement among people per judge, criterion and ballot, computed from single votes."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial

import numpy as np

from fullbench.analysis import item_clustered_means_and_shares
from fullbench.analysis.item_clustered_means_and_shares import Gaps
from fullbench.analysis.people.joined_votes import form_of
from fullbench.columns.verdict_columns import Columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.table_columns import table_columns
from fullbench.core.translatable_note import Note
from fullbench.stats.agreement.many_raters import Distance, krippendorff_alpha

_ONE_SIDED = Note("among.one-sided")


def people_agreement_table(columns: Columns) -> Table:
    """Return Krippendorff's alpha and the share of equal vote pairs, for every judge with several raters."""
    votes = columns.latest()
    rater_codes = [place for place, name in enumerate(votes.names["rater"]) if name]
    votes = votes.rows((votes.fault < 0) & np.isin(votes.rater, rater_codes))
    gaps = Gaps()
    rows: list[list[Cell]] = []
    for (judge, criterion, _), part in votes.by("judge", "criterion", "family"):
        for (spec,), cast in part.by("ballot"):
            votes_by_set = _votes_by_response_set(cast)
            several = [vote_list for vote_list in votes_by_set.values() if len(vote_list) > 1]
            if several:
                alpha = gaps.cell(f"{judge}, {criterion}, {spec}", partial(_alpha_of_votes, spec, several))
                raters = len(np.unique(cast.rater))
                rows.append([judge, criterion, spec, raters, len(cast), alpha, _share_of_equal_votes(several)])
    notes = [
        Note("among.what"),
        *([_ONE_SIDED] if any(form_of(str(row[2])) == "choice" for row in rows) else []),
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


def _alpha_of_votes(spec: str, vote_lists: list[VoteList]) -> Estimate:
    units: list[str] = []
    marks: list[float] = []
    distance: Distance = "nominal" if form_of(spec) in {"choice", "yes-no"} else "ordinal"
    codes: dict[tuple[float, ...], float] = {}
    for number, vote_list in enumerate(vote_lists):
        for vote in vote_list:
            # Choices: one unit per response set, each distinct vote a category. Scores: one unit per response.
            if distance == "nominal":
                units.append(str(number))
                marks.append(codes.setdefault(vote, float(len(codes))))
            else:
                units += [f"{number}.{place}" for place in range(len(vote))]
                marks += vote
    return krippendorff_alpha(units, marks, distance=distance, resamples=300)


def _share_of_equal_votes(vote_lists: list[VoteList]) -> Cell:
    pairs = np.array([len(vote_list) * (len(vote_list) - 1) / 2 for vote_list in vote_lists])
    same = np.array([sum(n * (n - 1) / 2 for n in Counter(vote_list).values()) for vote_list in vote_lists])
    return item_clustered_means_and_shares.share_of_groups(same, pairs, np.arange(len(vote_lists)))
