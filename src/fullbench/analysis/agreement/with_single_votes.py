"""Agreement of a judge with single votes, compared with the agreement of two people.

Votes are not joined, so a split vote counts as a split: a judge on either side agrees with half of the people.
Only responses with at least two votes are used, the same ones for the judge and for people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from fullbench.analysis.agreement.judges_with_people import (
    AGREEMENT_METRICS,
    PeopleComparison,
    ranking_letters,
    verdict_shape,
    winner_index,
)
from fullbench.analysis.item_clustered_means_and_shares import SHARE, mean_between_ends, share_estimate
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import Verdict

ResponseSetKey = tuple[str, str, frozenset[tuple[str, int]]]
_Votes = dict[ResponseSetKey, list[object]]


def single_vote_table(comparison: PeopleComparison, judges: Sequence[str] | None = None) -> Table:
    """Return per judge and verdict shape: agreement with one person, agreement of two people, the difference."""
    rows: list[list[Cell]] = []
    votes = _votes_by_response_set(comparison)
    split = sum(len(set(set_votes)) > 1 for set_votes in votes.values())
    for judge in comparison.judges if judges is None else judges:
        by_shape: dict[str, dict[ResponseSetKey, list[float]]] = {}
        for verdict in comparison.record.where(judge=judge, fault=None):
            place = response_set_key(verdict)
            if place in votes:
                same = sum(vote == _verdict_outcome(verdict) for vote in votes[place]) / len(votes[place])
                by_shape.setdefault(verdict_shape(verdict), {}).setdefault(place, []).append(same)
        for kind in AGREEMENT_METRICS:
            if kind in by_shape:
                rows.append([judge, kind, *_agreement_cells(by_shape[kind], votes), len(by_shape[kind])])
    notes = [Note("one-by-one.what", people=comparison.people), Note("one-by-one.split", split=split, n=len(votes))]
    columns = table_columns("judge", "verdict", "with one person", "people with each other", "difference", "cases")
    title = Note("one-by-one.title")
    return Table("votes", title, columns, rows, notes, {"against": comparison.people})


def response_set_key(verdict: Verdict) -> ResponseSetKey:
    """Return item, ballot and responses shown, in any order."""
    return verdict.item, verdict.ballot, frozenset(verdict.shown_responses)


def _verdict_outcome(verdict: Verdict) -> object:
    """Return the outcome independent of the order shown: a mark, the winner, or the ranked responses."""
    marks = verdict.marks or ()
    if len(marks) == 1:
        return marks[0]
    if verdict.ballot == "ranking":
        places = {letter: place for place, letter in enumerate(sorted(ranking_letters(marks)))}
        return tuple(verdict.shown_responses[places[letter]] for letter in ranking_letters(marks))
    first = winner_index(marks)
    return None if first is None else verdict.shown_responses[first]


def _votes_by_response_set(comparison: PeopleComparison) -> _Votes:
    votes: dict[ResponseSetKey, list[object]] = {}
    for verdict in comparison.record.where(judge=comparison.people, fault=None):
        if comparison.counts_vote(verdict):
            votes.setdefault(response_set_key(verdict), []).append(_verdict_outcome(verdict))
    return {place: set_votes for place, set_votes in votes.items() if len(set_votes) > 1}


def most_common_vote_share(votes: Sequence[object]) -> float:
    """Return the share of votes that the most common vote has: the agreement of the best possible judge.

    >>> most_common_vote_share(["a", "a", "b"])
    0.6666666666666666
    """
    return max(Counter(votes).values()) / len(votes)


def equal_vote_share(votes: Sequence[object]) -> float:
    """Return the share of vote pairs that are equal.

    >>> equal_vote_share(["a", "a", "b"])
    0.3333333333333333
    """
    return sum(n * (n - 1) for n in Counter(votes).values()) / (len(votes) * (len(votes) - 1))


def agreement_of_people(vote_lists: Sequence[Sequence[object]], items: Sequence[object]) -> Estimate:
    """Return the share of vote pairs that are equal. Each set of responses counts once, those of an item together.

    >>> print(agreement_of_people([["a", "a"], ["a", "b"], ["b", "b", "a"]], ["i", "i", "j"]))
    0.444 [0.034, 0.947] n=3
    """
    _, item = np.unique(np.array(items), return_inverse=True)
    return share_estimate(np.array([*map(equal_vote_share, vote_lists)]), item)


def _agreement_cells(same_votes: Mapping[ResponseSetKey, Sequence[float]], votes: _Votes) -> list[Cell]:
    """Several verdicts of the judge on a set of responses count by their mean.

    Given the votes, the scale ends at a judge that never agrees, and at one with the most common vote everywhere.
    """
    ours = np.array([fmean(shares) for shares in same_votes.values()])
    theirs = np.array([equal_vote_share(votes[place]) for place in same_votes])
    best = np.array([most_common_vote_share(votes[place]) for place in same_votes])
    most, two_people = float(best.mean()), float(theirs.mean())
    items = [item for item, *_ in same_votes]
    _, item = np.unique(items, return_inverse=True)
    return [
        replace(mean_between_ends(ours, item, (0.0, most), SHARE), p=None),
        agreement_of_people([votes[place] for place in same_votes], items),
        mean_between_ends(ours - theirs, item, (-two_people, most - two_people), (-1.0, 1.0)),
    ]
