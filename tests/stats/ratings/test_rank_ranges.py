"""Rank sets against a plain computation, one draw and one pair after the other, with the same random numbers."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from fullbench.stats.intervals.normal_and_t_quantiles import student_quantile
from fullbench.stats.ratings.match_counts import MatchCounts
from fullbench.stats.ratings.rank_ranges import rank_ranges
from fullbench.stats.ratings.ratings_of_undefeated_and_unconnected_contestants import CompleteRatings, rate_everyone


def rated(size: int, units: int, matches: int, seed: int = 0, spread: float = 1.0) -> CompleteRatings:
    rng = np.random.default_rng(seed)
    strengths = rng.normal(0, spread, size)
    one = np.concatenate([np.arange(size), rng.integers(0, size, matches)])
    two = (one + rng.integers(1, size, len(one))) % size
    won = rng.random(len(one)) < 1 / (1 + np.exp(strengths[two] - strengths[one]))
    item = rng.integers(0, units, len(one))
    return rate_everyone(MatchCounts.from_rows(one, two, won.astype(float), cluster=item), interval="sandwich")


def plain(everyone: CompleteRatings, draws: int = 1000, level: float = 0.95) -> tuple[list, list]:
    """The rank sets of a board all of whose contestants are linked by wins both ways."""
    (core,) = everyone.cores
    assert core is not None
    assert not everyone.outside
    assert not everyone.sweeps, "what a sweep adds is not computed here"
    moves, size = core.moves, len(core.components[0])
    assert moves is not None
    units, covariance = moves.units, moves.covariance()
    error = np.array([[max(0.0, covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]) ** 0.5
                       for j in range(size)] for i in range(size)])  # fmt: skip
    shrunk = min(1.0, size / units)
    values, vectors = np.linalg.eigh((1 - shrunk) * covariance + shrunk * np.diag(np.diag(covariance)))
    root = vectors * np.sqrt(np.maximum(values, 0))
    rng = np.random.default_rng(0)
    greatest = np.zeros((draws, size))
    for draw in range(draws):
        if units <= 100:
            items = rng.standard_normal((units, size)) @ root.T
            means = items.mean(axis=0)
            cross = np.cov(items.T) / units
        else:
            means, cross = root @ rng.standard_normal(size), None
        for i in range(size):
            for j in range(size):
                if i != j:
                    own = error[i, j] if cross is None else (cross[i, i] + cross[j, j] - 2 * cross[i, j]) ** 0.5
                    greatest[draw, i] = max(greatest[draw, i], abs(means[i] - means[j]) / own)
    together = np.quantile(greatest.max(axis=1), level)
    alone = np.quantile(greatest, level, axis=0)
    centred = moves.along(np.eye(size) - 1 / size)
    reach = [student_quantile(centred.spread(i).freedom, (1 + level) / 2) for i in range(size)]
    usual = student_quantile(units - 1, (1 + level) / 2)
    sets: tuple[list, list] = ([], [])
    for i in range(size):
        ratios = [(core.log_strengths[j] - core.log_strengths[i]) * usual / (error[i, j] * max(reach[i], reach[j]))
                  if i != j else 0.0 for j in range(size)]  # fmt: skip
        for ranks, limits in ((sets[0], [together] * size), (sets[1], np.maximum(alone[i], alone))):
            above = sum(ratio > limit for ratio, limit in zip(ratios, limits, strict=True))
            below = sum(-ratio > limit for ratio, limit in zip(ratios, limits, strict=True))
            ranks.append((1 + above, size - below))
    return sets


@pytest.mark.parametrize(("size", "units"), [(6, 40), (6, 160)])
def test_ranks_are_those_of_the_plain_computation(size, units):
    everyone = rated(size, units, 900)
    together, alone = plain(everyone)
    ranks = rank_ranges(everyone)
    assert len(set(ranks.together)) > 2, "a board that tells some apart"
    assert list(ranks.together) == together
    assert list(ranks.alone) == alone


@pytest.mark.slow
@pytest.mark.parametrize("units", [60, 2000])
def test_a_board_of_five_hundred_is_ranked_in_seconds(units):
    everyone = rated(500, units, 60_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    ranks = rank_ranges(everyone)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - before < 15
    assert all(rank is not None and 1 <= rank[0] <= rank[1] <= 500 for rank in ranks.together)
    best = int(np.argmax([rating.value for rating in everyone.estimates if rating is not None]))
    assert ranks.together[best] is not None
    assert ranks.together[best][1] < 250, "the best is told from many"
