"""Thresholds with a promise: by resampling from populations whose agreement at every threshold is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from fullbench.stats.people.confidence_thresholds import NEVER, find_trusted_threshold, least_items, lower_bound

TARGET, RISK = 0.85, 0.05


def test_the_bound_is_the_exact_one_of_scipy():
    for hits, n in ((0, 7), (5, 7), (7, 7), (180, 200)):
        exact = binomtest(hits, n, alternative="greater").proportion_ci(0.975, method="exact").low
        assert lower_bound(hits, n, 0.025) == pytest.approx(exact, abs=1e-12)
    n = least_items(TARGET, 0.025)
    assert lower_bound(n, n, 0.025) >= TARGET > lower_bound(n - 1, n - 1, 0.025)


def population(rng, right, alike):
    """20,000 rulings, two of each item; the chance of being right depends on the sureness; `alike` within items."""
    level = np.repeat(rng.choice(list(right), 10_000), 2)
    chance = np.vectorize(right.get)(level)
    lot = np.where(rng.random(20_000) < alike, np.repeat(rng.random(10_000), 2), rng.random(20_000))
    return level, (lot < chance).astype(float), np.repeat(np.arange(10_000), 2)


@pytest.mark.parametrize("alike", [0.0, 0.8])
@pytest.mark.parametrize("right", [{1.0: 0.93, 0.75: 0.80, 0.5: 0.6}, {1.0: 0.845, 0.5: 0.7}])
def test_the_promise_is_broken_in_at_most_as_many_resamples_as_was_said(right, alike):
    rng = np.random.default_rng(7)
    level, hits, items = population(rng, right, alike)
    broken, trusted_with_some = 0, 0
    resamples = 400
    for _ in range(resamples):
        chosen = rng.choice(10_000, 150, replace=False)
        rows = np.concatenate([2 * chosen, 2 * chosen + 1])
        threshold = find_trusted_threshold(level[rows], hits[rows], items[rows], target=TARGET, risk=RISK).threshold
        trusted_with_some += threshold != NEVER
        broken += threshold != NEVER and hits[level >= threshold].mean() < TARGET
    # Were the promise just kept, so many would be broken in 999 of 1,000 such tests at most.
    assert broken <= binom.ppf(0.999, resamples, RISK)
    if right[1.0] > 0.9:
        assert trusted_with_some > 0.5 * resamples, "a judge that is good when sure is trusted then"


def test_no_promise_from_fewer_items_than_if_all_were_right():
    """Many rulings on each of a few items, one of them wrong: the others look independent, and are not many."""
    few = least_items(TARGET, 0.025) - 1
    for items, passes in ((few, False), (few + 1, True)):
        hits = np.ones(items * 24)
        hits[5] = 0
        found = find_trusted_threshold(
            np.ones(len(hits)), hits, np.repeat(np.arange(items), 24), target=TARGET, risk=0.025
        )
        assert (found.threshold < NEVER) == passes
