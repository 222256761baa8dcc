"""Number of further votes that would decide the order of neighbours on a leaderboard, if they differ as they do now.

The votes are on the two neighbours alone, on new items, with a power of 80 % and for all ranks together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from fullbench.core.table import Cell
from fullbench.core.translatable_note import Note
from fullbench.stats.array_checks import Floats
from fullbench.stats.people.power_analysis import MOST_VOTES, PairVotes, explained_share
from fullbench.stats.ratings.corrected_ratings import CorrectedRatings
from fullbench.stats.ratings.rank_ranges import Ranks
from fullbench.stats.ratings.ratings_of_undefeated_and_unconnected_contestants import CompleteRatings

POWER = 0.8
POINTS = 400 / math.log(10)
"""Points of one unit of log strength."""
COLUMN = "votes to decide"


VotedRows = tuple[npt.NDArray[Any], npt.NDArray[Any], Floats]
"""First and second contestant of each match by people, and the outcome of the first."""


def votes_to_decide_columns(
    ratings: CompleteRatings | None,
    ranks: Ranks,
    order: Sequence[int],
    names: Sequence[str],
    voted_rows: VotedRows,
    *,
    notes: list[str],
) -> list[tuple[str, Sequence[Cell]]]:
    """Return the column of a leaderboard by people, by contestant, and add its notes; empty without two ratings.

    A cell has the votes that would separate the contestant from the next one in `order`. It is None if the two are
    separated already, if one of them won or lost all its matches, or if too many votes would be needed.
    """
    core = ratings.cores[0] if ratings is not None and ratings.cores else None
    if core is None or core.moves is None or ranks.quantile is None:
        return []
    members = list(core.components[0])
    strengths = np.array([core.log_strengths[who] for who in members], dtype=np.float64)
    counts = _count_pairs(voted_rows, len(names))[np.ix_(members, members)]
    covariance, share_of_ties = core.moves.covariance(), float((voted_rows[2] == 0.5).mean())
    quantile = ranks.quantile

    def votes_between(who: int, rival: int) -> tuple[float, int | None] | None:
        if who not in members or rival not in members:
            return None
        pair = members.index(who), members.index(rival)
        gap = float(strengths[pair[0]] - strengths[pair[1]])
        now = pair_votes(pair, strengths, covariance, counts, share_of_ties=share_of_ties)
        return gap, now.further_votes(gap, quantile=quantile, power=POWER)

    return [(COLUMN, _neighbour_cells(order, ranks, names, votes_between, notes))]


def corrected_votes_to_decide(
    fit: CorrectedRatings, names: Sequence[str], ranks: Ranks, voted_rows: VotedRows, *, notes: list[str]
) -> list[int | None]:
    """Return the same cells for a corrected leaderboard, by contestant, and add the notes.

    Args:
        fit: The ratings.
        names: Contestants in the order of the ratings.
        ranks: Ranks of the same contestants.
        voted_rows: Matches that people voted on, with contestants as positions in `names`.
        notes: Notes of the board.
    """
    if ranks.quantile is None:
        return [None] * len(names)
    counts, share_of_ties = _count_pairs(voted_rows, len(names)), float((voted_rows[2] == 0.5).mean())
    quantile = ranks.quantile

    def votes_between(who: int, rival: int) -> tuple[float, int | None]:
        gap = float(fit.strengths[who] - fit.strengths[rival])
        line = np.zeros(len(names))
        line[who], line[rival] = 1.0, -1.0
        explained = explained_share(
            fit.vote_count, fit.rows, float(line @ fit.people_covariance @ line), float(line @ fit.covariance @ line)
        )
        now = pair_votes(
            (who, rival), fit.strengths, fit.covariance, counts, share_of_ties=share_of_ties, explained=explained
        )
        return gap, now.further_votes(gap, quantile=quantile, power=POWER)

    order = np.argsort(-fit.strengths, kind="stable").tolist()
    return _neighbour_cells(order, ranks, names, votes_between, notes)


def _neighbour_cells(
    order: Sequence[int],
    ranks: Ranks,
    names: Sequence[str],
    votes_between: Callable[[int, int], tuple[float, int | None] | None],
    notes: list[str],
) -> list[int | None]:
    """Return the votes between each contestant and the next one if their order is undecided, and add the notes."""
    cells: list[int | None] = [None] * len(names)
    for position, (who, rival) in enumerate(pairwise(order)):
        gap_and_votes = None if ranks.surely_above[who, rival] else votes_between(who, rival)
        if gap_and_votes is not None:
            gap, cells[who] = gap_and_votes
            if not position:
                notes.append(_lead_note((names[who], names[rival]), gap, cells[who]))
    if any(cells):
        notes.append(Note("votes-to-decide.column"))
    return cells


def _count_pairs(voted_rows: VotedRows, size: int) -> npt.NDArray[np.int64]:
    pair_codes = voted_rows[0].astype(np.int64) * size + voted_rows[1]
    return np.bincount(pair_codes, minlength=size * size).reshape(size, size)


def pair_votes(
    pair: tuple[int, int],
    strengths: Floats,
    covariance: Floats,
    counts: npt.NDArray[np.int64],
    *,
    share_of_ties: float,
    explained: float = 0.0,
) -> PairVotes:
    """Return what is known of the difference of two contestants, and what a vote on them adds.

    Args:
        pair: Positions of the two.
        strengths: Log strengths.
        covariance: Covariance of the log strengths.
        counts: Matches of each two contestants, in either half of the matrix.
        share_of_ties: A tie is half a win, so ties make a vote less variable.
        explained: Share of a vote's variance that judges explain.
    """
    line = np.zeros(len(strengths))
    line[pair[0]], line[pair[1]] = 1.0, -1.0
    chances = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    weights = (counts + counts.T) * chances * (1 - chances)
    # Strengths are defined up to a constant, so the information matrix is singular; 1 / size makes it invertible.
    information = np.diag(weights.sum(axis=1)) - weights + 1 / len(strengths)
    slope = float(chances[pair] * (1 - chances[pair]))
    spread = max(slope - share_of_ties / 4, 0.05 * slope) * (1 - explained)
    return PairVotes(
        float(line @ covariance @ line), 1 / float(line @ np.linalg.solve(information, line)), slope, max(spread, 1e-9)
    )


def _lead_note(names: tuple[str, str], gap: float, votes: int | None) -> str:
    """Return one sentence on the votes that would decide the lead between the first two contestants."""
    first, second = names
    points = POINTS * gap
    if votes is None:
        return Note("votes-to-decide.too-many", first=first, second=second, points=points, most=MOST_VOTES)
    return Note("votes-to-decide.lead", first=first, second=second, points=points, n=votes, power=POWER)
