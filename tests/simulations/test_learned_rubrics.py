"""Gain of a learned rubric: its interval contains the true gain, and none is claimed where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from fullbench.core.rubric import Criterion
from fullbench.studies.rubrics.learned_rubric_weights import MarkedResponses, learn_weights
from tests.simulations.records import at_least, at_most, show

CRITERIA = [Criterion(name, name, ballot="score:1-5") for name in ("sharp", "round", "long")]
TASTE = np.array([0.7, 0.3, 0.0])
"""What people care about; the third criterion does not matter to them."""
_SPREAD = 0.5


def draw(seed: int, items: int, noise: float) -> MarkedResponses:
    """Three responses an item. The overall mark is people's own formula with an error of spread `noise`."""
    rng = np.random.default_rng(seed)
    rows = items * 3
    own = rng.normal(0, 1, (rows, 3)) + np.repeat(rng.normal(0, 0.7, (items, 3)), 3, axis=0)
    worth = own @ TASTE
    people = worth + rng.normal(0, _SPREAD, rows)
    overall = worth + rng.normal(0, noise, rows)
    names = [f"item {number}" for number in np.repeat(np.arange(items), 3)]
    return MarkedResponses(own, overall, people, names, 0)


def gains(runs: int, items: int, noise: float) -> tuple[float, float]:
    """Share of intervals that contain the true gain of the learned weights, and share of gains claimed."""
    population = draw(99_999, 40_000, noise)
    of_overall = np.corrcoef(population.overall, population.people)[0, 1]
    hits, claims = [], []
    for seed in range(runs):
        learned = learn_weights(draw(seed, items, noise), CRITERIA, seed=seed)
        weight = {line.name: line.weight for line in learned.criteria}
        total = population.shares @ np.array([weight.get(line.name, 0.0) for line in CRITERIA])
        right = np.corrcoef(total, population.people)[0, 1] - of_overall
        assert learned.gain is not None
        hits.append(learned.gain.low <= right <= learned.gain.high)
        claims.append(learned.gain.low > 0)
    return float(np.mean(hits)), float(np.mean(claims))


def test_a_gain_is_covered_and_found_in_a_few_runs():
    covered, claimed = gains(10, 60, 1.2)
    assert covered >= 0.7
    assert claimed >= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("items", [40, 150])
def test_a_gain_is_covered_and_found(items):
    runs = 200
    covered, claimed = gains(runs, items, 1.2)
    show(f"rubric gain, {items} items: {covered:.3f} covered, {claimed:.3f} claimed")
    assert covered >= at_least(0.95, runs) - 0.02
    assert claimed >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("items", [40, 150])
def test_no_gain_is_claimed_where_there_is_none(items):
    """The overall mark is people's own formula without an error: nothing can be gained."""
    runs = 200
    _, claimed = gains(runs, items, 0.01)
    show(f"rubric without gain, {items} items: {claimed:.3f} claimed")
    assert claimed <= at_most(0.025, runs)
