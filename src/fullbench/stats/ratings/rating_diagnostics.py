"""What a set of ratings says and does not say: wins against a reference, separability, cycles, fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.intervals.cluster_intervals import cluster_mean
from fullbench.stats.intervals.share_intervals import wilson
from fullbench.stats.ratings.bradley_terry import Ratings
from fullbench.stats.ratings.match_counts import Battles
from fullbench.stats.ratings.penalised_ratings import Everyone

TieRule = Literal["half", "left out"]


def win_rates_against(
    battles: Battles, reference: int, *, ties: TieRule = "half", level: float = 0.95
) -> list[Estimate | None]:
    """Each contestant's share of wins against one of them, with Wilson's interval; None for those that never met it.

    With ties left out, as in VisIT-Bench, they are in neither the wins nor n.

    >>> print(win_rates_against(Battles.of([0, 0, 0], [1, 1, 1], [1, 0.5, 0.5]), 1, ties="left out")[0])
    1.000 [0.207, 1.000] n=1
    """
    first, second, outcome, _ = battles.sample.cells
    counts = battles.sample.counts
    rates: list[Estimate | None] = []
    for who in range(battles.size):
        between = ((first == who) & (second == reference)) | ((second == who) & (first == reference))
        if ties == "left out":
            between &= outcome != 0.5
        n = round(float(counts[between].sum()))
        won = float((counts * np.where(first == who, outcome, 1 - outcome))[between].sum())
        rates.append(wilson(won, n, level=level) if n else None)
    return rates


def separability(estimates: Sequence[Estimate | None]) -> Estimate:
    """The share of neighbours in the ranking whose intervals do not overlap.

    >>> print(separability([Estimate(3, 2.5, 3.5, 9), Estimate(2, 1.5, 2.6, 9), Estimate(0, -1, 1, 9)]))
    0.500 [0.095, 0.905] n=2
    """
    ranked = sorted((estimate for estimate in estimates if estimate is not None), key=lambda estimate: -estimate.value)
    if len(ranked) < 2:
        raise Undefined(
            Note(
                "undefined.neighbours-need-two-rated-contestants",
                "neighbours need two rated contestants; found {n}",
                n=len(ranked),
            )
        )
    apart = sum(
        better.low > worse.high for better, worse in pairwise(ranked) if not (better.why or worse.why)
    )  # fmt: skip
    return wilson(apart, len(ranked) - 1)


def cycles(wins: Floats) -> list[tuple[int, int, int]]:
    """Three contestants of whom each beat the next more often than not, the last beating the first.

    >>> cycles(np.array([[0, 2, 1], [1, 0, 2], [2, 1, 0]]))
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
class Foreseen:
    """How often `first` won against `second`, and how often the ratings say it would."""

    first: int
    second: int
    observed: Estimate
    predicted: float

    @property
    def missed(self) -> bool:
        """Whether the prediction lies outside the interval of what was observed."""
        return not self.observed.why and not self.observed.low <= self.predicted <= self.observed.high


def foreseen(ratings: Ratings | Everyone, battles: Battles, *, level: float = 0.95) -> list[Foreseen]:
    """For every two rated contestants that met: observed and predicted share of wins, a tie counted half.

    The interval of what was observed is over clusters (items) where the battles have them, else Wilson's.

    >>> from fullbench.stats.ratings.bradley_terry import rate
    >>> battles = Battles.of([0] * 4, [1] * 4, [1, 1, 1, 0])
    >>> [round(pair.predicted, 3) for pair in foreseen(rate(battles, interval="sandwich"), battles)]
    [0.75]
    """
    first, second = battles.sample.cells[:2]
    pair = first * battles.size + second
    matches = np.bincount(pair, battles.sample.counts)
    # By columns: taking a pair's cells out of rows looks at every row, for every pair.
    by_cell = None if battles.sample.profile is None else battles.sample.profile.tocsc()
    pairs = []
    for code in np.flatnonzero(matches).tolist():
        a, b = divmod(code, battles.size)
        if ratings.estimates[a] is not None and ratings.estimates[b] is not None:
            observed = _observed(battles, by_cell, np.flatnonzero(pair == code), level)
            pairs.append(Foreseen(a, b, observed, ratings.chance(a, b)))
    return pairs


def _observed(battles: Battles, by_cell: Any, chosen: Ints, level: float) -> Estimate:
    """The share that the first won of the battles in some cells."""
    outcome, counts = battles.sample.cells[2], battles.sample.counts
    if by_cell is None:
        return wilson(float((counts * outcome)[chosen].sum()), round(float(counts[chosen].sum())), level=level)
    entries = np.concatenate([np.arange(*by_cell.indptr[cell : cell + 2]) for cell in chosen])
    cluster, count = by_cell.indices[entries], by_cell.data[entries]
    won = count * np.repeat(outcome[chosen], np.diff(by_cell.indptr)[chosen])
    sizes: Floats = np.bincount(cluster, count).astype(np.float64)
    totals: Floats = np.bincount(cluster, won).astype(np.float64)
    there = sizes > 0
    return cluster_mean(totals[there], sizes[there], within=(0.0, 1.0), level=level)
