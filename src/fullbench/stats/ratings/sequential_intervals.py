"""Sequential intervals for growing leaderboards: valid at every look, with a stopping rule and next matches.

An interval that is valid for one look is wrong for many: looking after each match sooner or later shows a false
separation. A confidence sequence is valid at all looks together, however the next match is chosen and whenever one
stops. This is the asymptotic one of a normal mixture (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2021,
arXiv:2103.06476). Time is measured by information, which is one over the variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.ratings.next_match import Design

POINTS = 400 / math.log(10)
_LEAST = 8
"""Fewest matches of a contestant for a decision: the confidence sequence is asymptotic."""


def anytime_half_width(variance: float, *, alpha: float, best_at: float) -> float:
    """Return half of an interval that is valid at every look; it is tightest at the variance `best_at`.

    >>> round(anytime_half_width(0.01, alpha=0.05, best_at=0.01) / anytime_half_width(0.01, alpha=0.05,
    ...     best_at=0.0001), 2)
    0.35
    """
    log_term = -2 * math.log(alpha)
    scale = (log_term + math.log(log_term) + 1) * best_at
    time = scale / variance
    return math.sqrt(variance * (1 + 1 / time) * math.log((time + 1) / alpha**2))


@dataclass(frozen=True)
class Standing:
    """Comparison of two neighbours at one look: separated, equal, or undecided."""

    ahead: int
    behind: int
    gap: float
    half: float
    zone: float

    @property
    def is_separated(self) -> bool:
        """True if one is surely ahead."""
        return self.gap > self.half

    @property
    def is_equal(self) -> bool:
        """True if the gap is surely within the zone of indifference."""
        return self.gap + self.half <= self.zone

    @property
    def is_decided(self) -> bool:
        return self.is_separated or self.is_equal


@dataclass(frozen=True)
class Look:
    """All neighbours at one look, best first; gaps in points."""

    order: tuple[int, ...]
    neighbours: tuple[Standing, ...]
    design: Design

    @property
    def undecided_pairs(self) -> list[Standing]:
        """Return the neighbours that are still undecided."""
        return [pair for pair in self.neighbours if not pair.is_decided]


def compute_look(
    first: Ints, second: Ints, outcome: Floats, item: Ints, contestants: int, *, zone: float = 30.0, alpha: float = 0.05
) -> Look:
    """Compare all neighbours after some matches; `outcome` is for `first`, and items stay together.

    All pairs share `alpha`, because the data decide which are neighbours. `zone` is in points.
    """
    wins = np.zeros((contestants, contestants))
    np.add.at(wins, (first, second), outcome)
    np.add.at(wins, (second, first), 1 - outcome)
    design = Design.from_wins(wins)
    covariance = _sandwich_covariance(first, second, outcome, item, design)
    matches_played = (wins + wins.T).sum(axis=1)
    order = np.argsort(-design.strengths, kind="stable")
    share = alpha / (contestants * (contestants - 1) / 2)
    neighbours = []
    for ahead, behind in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        model_variance, observed_variance = (float(part[ahead, ahead] + part[behind, behind] - 2 * part[ahead, behind])
                       for part in (design.covariance, covariance))  # fmt: skip
        # Few items underestimate their own spread, so the model's variance is the minimum.
        half = (
            anytime_half_width(max(model_variance, observed_variance), alpha=share, best_at=(zone / POINTS / 4) ** 2)
            * POINTS
        )
        if min(matches_played[ahead], matches_played[behind]) < _LEAST:
            half = math.inf
        gap = POINTS * float(design.strengths[ahead] - design.strengths[behind])
        neighbours.append(Standing(ahead, behind, gap, half, zone))
    return Look(tuple(order.tolist()), tuple(neighbours), design)


def _sandwich_covariance(first: Ints, second: Ints, outcome: Floats, item: Ints, design: Design) -> Floats:
    size = len(design.strengths)
    chance = 1 / (1 + np.exp(design.strengths[second] - design.strengths[first]))
    _, place = np.unique(item, return_inverse=True)
    clusters = int(place.max()) + 1 if len(place) else 1
    score_sums = np.bincount(place * size + first, outcome - chance, clusters * size)
    score_sums = score_sums - np.bincount(place * size + second, outcome - chance, clusters * size)
    parts = score_sums.reshape(clusters, size) @ design.covariance
    covariance: Floats = parts.T @ parts * clusters / max(1, clusters - 1)
    return covariance


def next_matches(
    board_look: Look, count: int, *, price: Floats | None = None, allowed_pairs: Sequence[tuple[int, int]] | None = None
) -> list[tuple[int, int]]:
    """Return the pairs to play next, most informative per price first; each counts as played for the next choice.

    The score is the variance reduction of every undecided gap, relative to that gap's variance.
    """
    size = len(board_look.order)
    pairs = list(combinations(range(size), 2)) if allowed_pairs is None else list(allowed_pairs)
    gaps = board_look.undecided_pairs or list(board_look.neighbours)
    gap_contrasts = np.zeros((len(gaps), size))
    for row, gap in enumerate(gaps):
        gap_contrasts[row, gap.ahead], gap_contrasts[row, gap.behind] = 1.0, -1.0
    covariance, strengths = board_look.design.covariance.copy(), board_look.design.strengths
    first, second = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    chance = 1 / (1 + np.exp(strengths[second] - strengths[first]))
    weight = chance * (1 - chance)
    cost = np.ones(len(pairs)) if price is None else price[first, second]
    next_pairs = []
    for _ in range(count):
        across = covariance[:, first] - covariance[:, second]
        spread = across[first, np.arange(len(pairs))] - across[second, np.arange(len(pairs))]
        # Relative to each gap's own variance, so that one wide gap does not dominate.
        gap_variances = np.einsum("ga,ab,gb->g", gap_contrasts, covariance, gap_contrasts)
        variance_drops = (
            (gap_contrasts @ across) ** 2 * weight / (1 + weight * spread) / np.maximum(gap_variances, 1e-12)[:, None]
        )
        best = int(np.argmax(variance_drops.sum(axis=0) / cost))
        next_pairs.append(pairs[best])
        line = across[:, best]
        covariance -= weight[best] * np.outer(line, line) / (1 + weight[best] * spread[best])
    return next_pairs
