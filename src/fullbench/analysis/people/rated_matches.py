"""Matches whose votes by people are enough to rate their contestants."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fullbench.analysis.people.paired_verdicts_and_votes import Votes
from fullbench.stats.ratings.match_graph import strong_components, weak_components

LEAST_VOTES = 10
"""Votes that a contestant needs for corrected numbers: with fewer, intervals are too narrow."""


def select_rated_matches(votes: Votes) -> tuple[npt.NDArray[np.bool_], set[int]]:
    """Return a mask of the pairs whose votes bound all ratings, and the codes of one-sided contestants.

    A contestant needs enough votes on pairs with the others. If it won or lost all of them, no finite rating fits, and
    one that a prior keeps finite misses the truth in a third of simulations, for all contestants of the board.
    """
    is_rated = np.ones(len(votes), dtype=np.bool_)
    one_sided: set[int] = set()
    # Leaving out one contestant takes votes from the others, hence the loop.
    while is_rated.any():
        rated_votes = votes.where(is_rated)
        left_out = {code for code, n in rated_votes.votes_by_contestant().items() if n < LEAST_VOTES}
        if not left_out:
            left_out = _one_sided_contestants(rated_votes)
            one_sided |= left_out
        if not left_out:
            break
        is_rated &= ~np.isin(votes.sides[0], list(left_out)) & ~np.isin(votes.sides[1], list(left_out))
    return is_rated, one_sided


def _one_sided_contestants(votes: Votes) -> set[int]:
    """Return those linked to the others by votes, but not by wins both ways; all of them if no group is largest."""
    codes, where = np.unique(np.concatenate(votes.sides[:2]), return_inverse=True)
    has_vote = ~np.isnan(votes.vote)
    first, second = where[: len(votes)][has_vote], where[len(votes) :][has_vote]
    wins = np.zeros((len(codes), len(codes)))
    np.add.at(wins, (first, second), votes.vote[has_vote])
    np.add.at(wins, (second, first), 1 - votes.vote[has_vote])
    linked = set(weak_components(wins)[0])
    groups = [group for group in strong_components(wins) if linked.issuperset(group)]
    has_core = len(groups[0]) > 1 and (len(groups) == 1 or len(groups[1]) < len(groups[0]))
    return set(codes[sorted(linked.difference(groups[0] if has_core else []))].tolist())
