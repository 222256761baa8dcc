"""Active sampling of human votes: chances that shrink corrected ratings fastest, in an unbiased order.

Active inference (Zrnic and Candes 2024, arXiv:2403.03208): a pair's worth is its effect on the ratings times the
uncertainty that judges leave about its outcome. Chances follow that worth, and votes are weighted by their chance, so
estimates stay those of people. The order is Pareto sampling (Rosen 1997, doi:10.1016/S0378-3758(96)00186-3): its first
n are a sample with these chances for every n, so the number of votes need not be known beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fullbench.stats.array_checks import Bools, Floats, Ints

FLOOR = 0.1
"""Least chance of a pair as a share of an even chance, so that no vote gets too large a weight."""
# weight of the ratings' prediction; the verdict of each judge has weight 2
_SHRUNK = 1.5
# fewest votes from which the uncertainty is learnt
_PILOT = 40


def vote_leverage(first: Ints, second: Ints, strengths: Floats) -> Floats:
    """Return how far a vote on each pair moves all ratings together.

    >>> vote_leverage(np.array([0, 0, 1]), np.array([1, 1, 2]), np.zeros(3)).round(2).tolist()
    [4.9, 4.9, 9.8]
    """
    size = len(strengths)
    match_shares = np.bincount(first * size + second, minlength=size * size).reshape(size, size) / len(first)
    chance = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    bend = (match_shares + match_shares.T) * chance * (1 - chance)
    inverse = np.linalg.inv(np.diag(bend.sum(axis=1)) - bend + 1 / size) - 1 / size
    moves = inverse[:, :, None] - inverse[:, None, :]
    reach = np.sqrt((moves**2).sum(axis=0))
    pair_leverage: Floats = reach[first, second]
    return pair_leverage


def remaining_variance(judge_outcomes: Floats, strengths_say: Floats, vote: Floats | None = None) -> Floats:
    """Return the variance that judges leave in people's vote on each pair.

    `judge_outcomes` has a row per judge, NaN without a verdict; `strengths_say` is the chance by the ratings alone.
    With votes on some pairs (NaN elsewhere), the variance is learnt from their distance to the judges' outcomes.
    """
    is_judged = ~np.isnan(judge_outcomes)
    count = is_judged.sum(axis=0)
    mean = np.where(count > 0, np.nansum(np.where(is_judged, judge_outcomes, 0.0), axis=0) / np.maximum(count, 1), 0.5)
    sure = (mean * 2 * count + strengths_say * _SHRUNK) / (2 * count + _SHRUNK)
    guess: Floats = sure * (1 - sure)
    if vote is None or int((~np.isnan(vote)).sum()) < _PILOT:
        return guess
    there = ~np.isnan(vote)
    votes_cast = vote[there]
    feature = np.array([np.ones(len(mean)), np.abs(2 * mean - 1), guess])
    fit = np.linalg.lstsq(np.array([np.ones(len(mean)), mean]).T[there], votes_cast, rcond=None)[0]
    left = (votes_cast - np.array([np.ones(len(mean)), mean]).T[there] @ fit) ** 2
    ridge = np.diag([0.0, 1.0, 1.0])
    weight = np.linalg.solve(feature[:, there] @ feature[:, there].T + ridge, feature[:, there] @ left)
    learnt_variance: Floats = np.clip(weight @ feature, 0.02, 0.25)
    return learnt_variance


def vote_chances(worth: Floats, votes: int) -> Floats:
    """Return chances proportional to the worth that add up to `votes`, neither tiny nor above one.

    >>> vote_chances(np.array([1.0, 1.0, 2.0, 0.0]), 2).round(3).tolist()
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
    final_chances: Floats = chance
    return final_chances


def sampling_order(chance: Floats, luck: Floats, is_done: Bools | None = None) -> Ints:
    """Return the order of pairs, without those in `is_done`; `luck` is a random number from 0 to 1 per pair."""
    odds = luck / np.maximum(1 - luck, 1e-300) * (1 - chance) / chance
    order: Ints = np.argsort(odds, kind="stable").astype(np.int64)
    return order if is_done is None else order[~is_done[order]]


@dataclass(frozen=True)
class Gain:
    """Variance left by this order, as a share of the variance left by as many uniformly drawn votes."""

    share: float

    @classmethod
    def from_chances(cls, reach: Floats, left: Floats, chance: Floats) -> Gain:
        """Compute from each pair's effect on the ratings, the variance of its vote, and its chance."""
        spread = reach**2 * left
        even = float(spread.sum()) * len(spread)
        return cls(float((spread / chance).sum() * chance.sum()) / even)
