"""Number of further votes that would decide the order of neighbours on a leaderboard, if they differ as they do now.

The votes are on the two neighbours alone, on new items, with a power of 80 % and for all ranks together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from fullbench.analysis.boards.matches_from_verdicts import Matches
from fullbench.core.table import Cell
from fullbench.core.translatable_note import Note
from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.people.power_analysis import MOST_VOTES, PairVotes, explained_share
from fullbench.stats.ratings.corrected_ratings import CorrectedRatings
from fullbench.stats.ratings.penalised_ratings import CompleteRatings
from fullbench.stats.ratings.rank_ranges import Ranks

POWER = 0.8
POINTS = 400 / math.log(10)
"""Points of one unit of log strength."""
COLUMN = "votes to decide"


def votes_to_decide_columns(
    ratings: CompleteRatings | None, ranks: Ranks, order: Sequence[int], matches: Matches, notes: list[str]
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
    size = len(matches.names)
    pair_codes = matches.rows.first.astype(np.int64) * size + matches.rows.second
    counts = np.bincount(pair_codes, minlength=size * size).reshape(size, size)[np.ix_(members, members)]
    covariance, share_of_ties = core.moves.covariance(), matches.ties / len(matches)
    cells: list[Cell] = [None] * len(order)
    for position, (who, rival) in enumerate(pairwise(order)):
        if who not in members or rival not in members or ranks.surely_above[who, rival]:
            continue
        pair = members.index(who), members.index(rival)
        gap = float(strengths[pair[0]] - strengths[pair[1]])
        now = pair_votes(pair, strengths, covariance, counts, share_of_ties=share_of_ties)
        cells[who] = votes = now.further_votes(gap, quantile=ranks.quantile, power=POWER)
        if not position:
            notes.append(_lead_note((matches.names[who], matches.names[rival]), gap, votes))
    if any(cells):
        notes.append(Note("votes-to-decide.column"))
    return [(COLUMN, cells)]


def votes_to_decide_notes(
    fit: CorrectedRatings, names: Sequence[str], ranks: Ranks, sides: tuple[Ints, Ints], vote: Floats
) -> list[str]:
    """Return one sentence on the lead of a corrected leaderboard, and one on each further undecided neighbours.

    Args:
        fit: The ratings.
        names: Contestants in the order of the ratings.
        ranks: Ranks of the same contestants.
        sides: Contestants of each pair, as codes of `fit.rated_codes`.
        vote: People's vote on each pair, NaN without one.
    """
    if ranks.quantile is None:
        return []
    place = {code: number for number, code in enumerate(fit.rated_codes)}
    is_voted = ~np.isnan(vote) & np.isin(sides[0], fit.rated_codes) & np.isin(sides[1], fit.rated_codes)
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    for first, second in zip(sides[0][is_voted].tolist(), sides[1][is_voted].tolist(), strict=True):
        counts[place[first], place[second]] += 1
    share_of_ties = float((vote[is_voted] == 0.5).mean())
    notes: list[str] = []
    further: list[str] = []
    for position, (who, rival) in enumerate(pairwise(np.argsort(-fit.strengths, kind="stable").tolist())):
        if ranks.surely_above[who, rival]:
            continue
        gap = float(fit.strengths[who] - fit.strengths[rival])
        line = np.zeros(len(names))
        line[who], line[rival] = 1.0, -1.0
        explained = explained_share(
            fit.vote_count, fit.rows, float(line @ fit.people_covariance @ line), float(line @ fit.covariance @ line)
        )
        now = pair_votes(
            (who, rival), fit.strengths, fit.covariance, counts, share_of_ties=share_of_ties, explained=explained
        )
        votes = now.further_votes(gap, quantile=ranks.quantile, power=POWER)
        if not position:
            notes.append(_lead_note((names[who], names[rival]), gap, votes))
        elif votes is not None:
            further.append(f"{names[who]} - {names[rival]}: {votes:,}")
    return [*notes, *([Note("votes-to-decide.further", pairs="; ".join(further))] if further else [])]


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
