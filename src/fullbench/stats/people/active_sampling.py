"""Whom to ask about what: chances that shrink the corrected ratings fastest, and an order that keeps them unbiased.

Active inference (Zrnic and Candes 2024, arXiv:2403.03208): a pair is worth a vote as much as it moves the ratings times
how little judges can tell its outcome. Chances follow that worth; votes count by their chance, so the figures stay
people's. The order is that of Pareto sampling (Rosen 1997, doi:10.1016/S0378-3758(96)00186-3): its first n are a sample
with such chances for every n, so nobody must know beforehand how many votes will come.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fullbench.stats.array_checks import Bools, Floats, Ints

FLOOR = 0.1
"""No pair has less than this share of an even chance, so that no vote weighs too much."""
_SHRUNK = 1.5
_PILOT = 40


def leverage(one: Ints, two: Ints, strengths: Floats) -> Floats:
    """How far a vote on each pair moves all ratings together.

    >>> leverage(np.array([0, 0, 1]), np.array([1, 1, 2]), np.zeros(3)).round(2).tolist()
    [4.9, 4.9, 9.8]
    """
    size = len(strengths)
    met = np.bincount(one * size + two, minlength=size * size).reshape(size, size) / len(one)
    chance = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    bend = (met + met.T) * chance * (1 - chance)
    inverse = np.linalg.inv(np.diag(bend.sum(axis=1)) - bend + 1 / size) - 1 / size
    moves = inverse[:, :, None] - inverse[:, None, :]
    reach = np.sqrt((moves**2).sum(axis=0))
    reached: Floats = reach[one, two]
    return reached


def doubt(ruled: Floats, strengths_say: Floats, vote: Floats | None = None) -> Floats:
    """The variance that judges leave in people's vote on each pair.

    `ruled` has a line for each judge, NaN where it did not rule; `strengths_say` is the chance by the ratings alone.
    With votes on some pairs (NaN elsewhere) the doubt is learnt from how far they lay from what the judges said.
    """
    known = ~np.isnan(ruled)
    count = known.sum(axis=0)
    mean = np.where(count > 0, np.nansum(np.where(known, ruled, 0.0), axis=0) / np.maximum(count, 1), 0.5)
    sure = (mean * 2 * count + strengths_say * _SHRUNK) / (2 * count + _SHRUNK)
    guess: Floats = sure * (1 - sure)
    if vote is None or int((~np.isnan(vote)).sum()) < _PILOT:
        return guess
    there = ~np.isnan(vote)
    seen = vote[there]
    feature = np.array([np.ones(len(mean)), np.abs(2 * mean - 1), guess])
    fit = np.linalg.lstsq(np.array([np.ones(len(mean)), mean]).T[there], seen, rcond=None)[0]
    left = (seen - np.array([np.ones(len(mean)), mean]).T[there] @ fit) ** 2
    ridge = np.diag([0.0, 1.0, 1.0])
    weight = np.linalg.solve(feature[:, there] @ feature[:, there].T + ridge, feature[:, there] @ left)
    learnt: Floats = np.clip(weight @ feature, 0.02, 0.25)
    return learnt


def chances(worth: Floats, votes: int) -> Floats:
    """Chances of being asked that follow the worth, add up to so many votes, and are neither tiny nor above one.

    >>> chances(np.array([1.0, 1.0, 2.0, 0.0]), 2).round(3).tolist()
    [0.475, 0.475, 1.0, 0.05]
    """
    rows = len(worth)
    share = np.maximum(worth, 0.0)
    share = share / share.sum() if share.any() else np.full(rows, 1 / rows)
    even = votes / rows
    low = FLOOR * even
    chance = np.clip(votes * share, low, 1.0)
    for _ in range(50):
        free = (chance > low) & (chance < 1.0)
        off = votes - chance.sum()
        if abs(off) < 1e-9 * votes or not free.any():
            break
        chance[free] *= max(0.0, 1 + off / chance[free].sum())
        chance = np.clip(chance, low, 1.0)
    settled: Floats = chance
    return settled


def drawn_order(chance: Floats, luck: Floats, done: Bools | None = None) -> Ints:
    """The order in which pairs are asked about; `luck` is a number from 0 to 1 of each, `done` those that were."""
    odds = luck / np.maximum(1 - luck, 1e-300) * (1 - chance) / chance
    order: Ints = np.argsort(odds, kind="stable").astype(np.int64)
    return order if done is None else order[~done[order]]


@dataclass(frozen=True)
class Gain:
    """What the order is worth: the variance it leaves as a share of what as many votes drawn evenly would leave."""

    share: float

    @classmethod
    def of(cls, reach: Floats, left: Floats, chance: Floats) -> Gain:
        """From how far each pair moves the ratings, the variance of its vote, and its chance."""
        spread = reach**2 * left
        even = float(spread.sum()) * len(spread)
        return cls(float((spread / chance).sum() * chance.sum()) / even)
