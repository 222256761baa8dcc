"""Diagnostics of ratings: win rates against a reference, separability, cycles, fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.intervals.cluster_intervals import cluster_mean
from fullbench.stats.intervals.share_intervals import wilson_interval
from fullbench.stats.ratings.bradley_terry import Ratings
from fullbench.stats.ratings.match_counts import MatchCounts
from fullbench.stats.ratings.ratings_of_undefeated_and_unconnected_contestants import CompleteRatings

TieRule = Literal["half", "left out"]


def win_rates_against(
    match_counts: MatchCounts, reference: int, *, ties: TieRule = "half", level: float = 0.95
) -> list[Estimate | None]:
    """Return each contestant's share of wins against one of them, or None if they never met.

    Intervals are Wilson's. With ties left out, as in VisIT-Bench, they count neither as wins nor in n.

    >>> print(win_rates_against(MatchCounts.from_rows([0, 0, 0], [1, 1, 1], [1, 0.5, 0.5]), 1, ties="left out")[0])
    1.000 [0.207, 1.000] n=1
    """
    first, second, outcome, _ = match_counts.sample.cells
    counts = match_counts.sample.counts
    rates: list[Estimate | None] = []
    for who in range(match_counts.size):
        is_between = ((first == who) & (second == reference)) | ((second == who) & (first == reference))
        if ties == "left out":
            is_between &= outcome != 0.5
        n = round(float(counts[is_between].sum()))
        points_won = float((counts * np.where(first == who, outcome, 1 - outcome))[is_between].sum())
        rates.append(wilson_interval(points_won, n, level=level) if n else None)
    return rates


def neighbour_separability(estimates: Sequence[Estimate | None]) -> Estimate:
    """Return the share of neighbours in the ranking whose intervals do not overlap.

    >>> print(neighbour_separability([Estimate(3, 2.5, 3.5, 9), Estimate(2, 1.5, 2.6, 9), Estimate(0, -1, 1, 9)]))
    0.500 [0.095, 0.905] n=2
    """
    ranking = sorted((estimate for estimate in estimates if estimate is not None), key=lambda estimate: -estimate.value)
    if len(ranking) < 2:
        raise Undefined(Note("undefined.neighbours-need-two-rated-contestants", n=len(ranking)))
    separated_count = sum(
        better.low > worse.high for better, worse in pairwise(ranking) if not (better.why or worse.why)
    )  # fmt: skip
    return wilson_interval(separated_count, len(ranking) - 1)


def find_cycles(wins: Floats) -> list[tuple[int, int, int]]:
    """Return triples in which each contestant beat the next more often than not, and the last the first.

    >>> find_cycles(np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0]]))
    [(0, 1, 2)]
    """
    beats = wins > wins.T
    triples = []
    for a, b, c in combinations(range(len(wins)), 3):
        if beats[a, b] and beats[b, c] and beats[c, a]:
            triples.append((a, b, c))
        elif beats[b, a] and beats[a, c] and beats[c, b]:
            triples.append((b, a, c))
    return triples


@dataclass(frozen=True)
class PairPrediction:
    """Observed share of wins of `first` against `second`, and the share predicted by the ratings."""

    first: int
    second: int
    observed_share: Estimate
    predicted_share: float

    @property
    def is_missed(self) -> bool:
        """True if the prediction is outside the interval of the observed share."""
        return (
            not self.observed_share.why
            and not self.observed_share.low <= self.predicted_share <= self.observed_share.high
        )


def predict_pairs(
    ratings: Ratings | CompleteRatings, match_counts: MatchCounts, *, level: float = 0.95
) -> list[PairPrediction]:
    """Return the observed and predicted share of wins of every rated pair that met, a tie counted half.

    The observed interval is over clusters (items) if the matches have them, else Wilson's.

    >>> from fullbench.stats.ratings.bradley_terry import rate_contestants
    >>> battles = MatchCounts.from_rows([0] * 4, [1] * 4, [1, 1, 1, 0])
    >>> [round(pair.predicted_share,
    ...     3) for pair in predict_pairs(rate_contestants(battles, interval="sandwich"), battles)]
    [0.75]
    """
    first, second = match_counts.sample.cells[:2]
    pair = first * match_counts.size + second
    matches = np.bincount(pair, match_counts.sample.counts)
    # In column format: selecting a pair's cells from rows would scan every row for every pair.
    by_cell = None if match_counts.sample.profile is None else match_counts.sample.profile.tocsc()
    pairs = []
    for code in np.flatnonzero(matches).tolist():
        a, b = divmod(code, match_counts.size)
        if ratings.estimates[a] is not None and ratings.estimates[b] is not None:
            observed_share = _observed_share(match_counts, by_cell, np.flatnonzero(pair == code), level)
            pairs.append(PairPrediction(a, b, observed_share, ratings.chance(a, b)))
    return pairs


def _observed_share(match_counts: MatchCounts, by_cell: Any, cells: Ints, level: float) -> Estimate:
    outcome, counts = match_counts.sample.cells[2], match_counts.sample.counts
    if by_cell is None:
        return wilson_interval(float((counts * outcome)[cells].sum()), round(float(counts[cells].sum())), level=level)
    entries = np.concatenate([np.arange(*by_cell.indptr[cell : cell + 2]) for cell in cells])
    cluster, count = by_cell.indices[entries], by_cell.data[entries]
    points_won = count * np.repeat(outcome[cells], np.diff(by_cell.indptr)[cells])
    sizes: Floats = np.bincount(cluster, count).astype(np.float64)
    totals: Floats = np.bincount(cluster, points_won).astype(np.float64)
    there = sizes > 0
    return cluster_mean(totals[there], sizes[there], within=(0.0, 1.0), level=level)
