"""Leaderboards that may be watched while they grow: intervals that hold at every look, and when it is enough.

An interval that is right for one look is wrong for many: whoever looks after each match sooner or later sees a false
separation. A confidence sequence holds at all looks together (here the asymptotic one of a normal mixture,
Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2021, arXiv:2103.06476), whatever decides the next match and whenever
one stops. Time is counted by information, which is one over the variance.
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
"""Fewer matches of a contestant than this decide nothing: the sequence is right for many."""


def anytime(variance: float, *, alpha: float, best_at: float) -> float:
    """Half of an interval that holds at every look; narrowest, for its kind, once the variance is `best_at`.

    >>> round(anytime(0.01, alpha=0.05, best_at=0.01) / anytime(0.01, alpha=0.05, best_at=0.0001), 2)
    0.35
    """
    wanted = -2 * math.log(alpha)
    scale = (wanted + math.log(wanted) + 1) * best_at
    time = scale / variance
    return math.sqrt(variance * (1 + 1 / time) * math.log((time + 1) / alpha**2))


@dataclass(frozen=True)
class Standing:
    """What a look says of two neighbours: which is ahead for sure, that they are equal, or nothing yet."""

    ahead: int
    behind: int
    gap: float
    half: float
    zone: float

    @property
    def separated(self) -> bool:
        """Whether one is ahead for sure."""
        return self.gap > self.half

    @property
    def equal(self) -> bool:
        """Whether the gap surely lies within the zone in which nobody cares."""
        return self.gap + self.half <= self.zone

    @property
    def decided(self) -> bool:
        return self.separated or self.equal


@dataclass(frozen=True)
class Look:
    """All neighbours at one look, best first; gaps in points."""

    order: tuple[int, ...]
    neighbours: tuple[Standing, ...]
    design: Design

    @property
    def undecided(self) -> list[Standing]:
        """The neighbours of whom nothing is sure yet."""
        return [pair for pair in self.neighbours if not pair.decided]


def look(
    one: Ints, two: Ints, won: Floats, item: Ints, contestants: int, *, zone: float = 30.0, alpha: float = 0.05
) -> Look:
    """Where the board stands after some matches: `won` is what `one` took, items are kept together.

    All pairs share `alpha`, since which are neighbours is for the data to say. `zone` is in points.
    """
    wins = np.zeros((contestants, contestants))
    np.add.at(wins, (one, two), won)
    np.add.at(wins, (two, one), 1 - won)
    design = Design.of(wins)
    covariance = _covariance(one, two, won, item, design)
    played = (wins + wins.T).sum(axis=1)
    order = np.argsort(-design.strengths, kind="stable")
    share = alpha / (contestants * (contestants - 1) / 2)
    neighbours = []
    for ahead, behind in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        model, seen = (float(part[ahead, ahead] + part[behind, behind] - 2 * part[ahead, behind])
                       for part in (design.covariance, covariance))  # fmt: skip
        # Few items show too little of their own spread: the model's variance is the least that is believed.
        half = anytime(max(model, seen), alpha=share, best_at=(zone / POINTS / 4) ** 2) * POINTS
        if min(played[ahead], played[behind]) < _LEAST:
            half = math.inf
        gap = POINTS * float(design.strengths[ahead] - design.strengths[behind])
        neighbours.append(Standing(ahead, behind, gap, half, zone))
    return Look(tuple(order.tolist()), tuple(neighbours), design)


def _covariance(one: Ints, two: Ints, won: Floats, item: Ints, design: Design) -> Floats:
    """The sandwich over items, at the strengths of the design."""
    size = len(design.strengths)
    chance = 1 / (1 + np.exp(design.strengths[two] - design.strengths[one]))
    _, place = np.unique(item, return_inverse=True)
    clusters = int(place.max()) + 1 if len(place) else 1
    pulled = np.bincount(place * size + one, won - chance, clusters * size)
    pulled = pulled - np.bincount(place * size + two, won - chance, clusters * size)
    parts = pulled.reshape(clusters, size) @ design.covariance
    covariance: Floats = parts.T @ parts * clusters / max(1, clusters - 1)
    return covariance


def next_matches(
    seen: Look, count: int, *, price: Floats | None = None, allowed: Sequence[tuple[int, int]] | None = None
) -> list[tuple[int, int]]:
    """The pairs to play next, the most telling for its price first; each counts as played when the next is chosen.

    What a match takes off the variance of every undecided gap, weighed by how near that gap is to a decision.
    """
    size = len(seen.order)
    pairs = list(combinations(range(size), 2)) if allowed is None else list(allowed)
    gaps = seen.undecided or list(seen.neighbours)
    wanted = np.zeros((len(gaps), size))
    for row, gap in enumerate(gaps):
        wanted[row, gap.ahead], wanted[row, gap.behind] = 1.0, -1.0
    covariance, strengths = seen.design.covariance.copy(), seen.design.strengths
    one, two = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    chance = 1 / (1 + np.exp(strengths[two] - strengths[one]))
    weight = chance * (1 - chance)
    cost = np.ones(len(pairs)) if price is None else price[one, two]
    chosen = []
    for _ in range(count):
        across = covariance[:, one] - covariance[:, two]
        spread = across[one, np.arange(len(pairs))] - across[two, np.arange(len(pairs))]
        # In units of each gap's own variance, so that a far-off gap does not take everything.
        own = np.einsum("ga,ab,gb->g", wanted, covariance, wanted)
        taken = (wanted @ across) ** 2 * weight / (1 + weight * spread) / np.maximum(own, 1e-12)[:, None]
        best = int(np.argmax(taken.sum(axis=0) / cost))
        chosen.append(pairs[best])
        line = across[:, best]
        covariance -= weight[best] * np.outer(line, line) / (1 + weight[best] * spread[best])
    return chosen
