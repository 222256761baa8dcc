"""Judge replacement: a contestant that only the new judge met gets the rating that the old judge would have given."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fullbench.studies.leaderboards.common_scale_after_judge_replacement import fit_common_scales
from tests.simulations.records import POINTS, at_least, at_most, logistic, names_of, pair_verdicts, record_of, show

WORTH = np.array([0.6, 0.2, -0.2, -0.9, 0.3])
NEW = 4
"""The contestant that the old judge never saw."""


def judged(rng, judge: str, items: range, who: range, *, sharpness: float, place: float):
    """Verdicts on all pairs of `who`, each in one order drawn by chance."""
    every = np.array(list(combinations(who, 2)))
    item = np.repeat(np.array(items), len(every))
    first, second = np.tile(every.T, len(items))
    turned = rng.random(len(item)) < 0.5
    first, second = np.where(turned, second, first), np.where(turned, first, second)
    won = rng.random(len(item)) < logistic(sharpness * (WORTH[first] - WORTH[second]) + place)
    return pair_verdicts(judge, item, first, second, won * 1.0)


def newcomer_covered(
    seed: int, *, old: int, shared: int, new: int, sharpness: float, place: float
) -> tuple[bool, float]:
    rng = np.random.default_rng(seed)
    verdicts = judged(rng, "old", range(old), range(4), sharpness=1.0, place=0.0)
    verdicts += judged(rng, "new", range(shared), range(4), sharpness=sharpness, place=place)
    verdicts += judged(rng, "new", range(1000, 1000 + new), range(5), sharpness=sharpness, place=place)
    (scale,) = fit_common_scales(record_of(verdicts), "old", "new")
    assert scale.shared_matches == shared * 6
    rating = scale.ratings[names_of(5)[NEW]]
    right = 1000 + POINTS * (WORTH[NEW] - WORTH.mean())
    return rating.low <= right <= rating.high, rating.value - right


def share(runs: int, **world) -> tuple[float, float]:
    """Share of intervals that contain the true rating, and the mean error in points."""
    hits, errors = zip(*(newcomer_covered(seed, **world) for seed in range(runs)), strict=True)
    return float(np.mean(hits)), float(np.mean(errors))


def test_the_newcomers_rating_is_covered_in_a_few_runs():
    covered, error = share(6, old=150, shared=60, new=100, sharpness=1.6, place=0.5)
    assert covered >= 0.66
    assert abs(error) < 25


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "shared", "new", "sharpness", "place"),
    [(200, 100, 100, 1.6, 0.0), (200, 100, 100, 0.6, 0.8), (100, 20, 40, 1.6, 0.5)],
)
def test_the_newcomers_rating_is_covered(old, shared, new, sharpness, place):
    runs = 200
    covered, error = share(runs, old=old, shared=shared, new=new, sharpness=sharpness, place=place)
    show(f"replacement, sharpness {sharpness}, place {place}, {shared} shared: {covered:.3f}, error {error:.1f}")
    assert at_least(0.95, runs) <= covered <= at_most(0.95, runs) + 0.02
    assert abs(error) < 10
