"""The estimators of bias against independent computations, and their intervals against what was planted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from fullbench.errors import Undefined
from fullbench.stats.bias.position_bias_and_latent_mark_regression import (
    clustered_mean,
    latent_marks,
    position_bias,
    swap_flips,
)
from fullbench.stats.intervals.cluster_intervals import ONE_ITEM

SEEDS = 100
LEAST = int(stats.binom.ppf(0.001, SEEDS, 0.95))
"""Intervals that hold what they promise cover less often than this in one test of a thousand."""
ITEMS, CONTESTANTS = 60, 6
CLUSTERS = np.repeat(np.arange(ITEMS), CONTESTANTS)


def scored(seed, *, sight=1.0, leniency=0.0, length=0.0, ego=0.0, noise=0.5):
    """Felt marks of a judge on 60 items of 6 responses, with the truth in marks, the lengths and the favourite."""
    rng = np.random.default_rng(seed)
    skill = np.array([0.95, 0.95, 0.8, 0.7, 0.6, 0.3])
    truth = 1 + 4 * np.where(
        rng.random((ITEMS, CONTESTANTS)) < 0.3,
        rng.choice([0.25, 0.5, 0.75], (ITEMS, CONTESTANTS)),
        rng.random((ITEMS, CONTESTANTS)) < skill,
    )
    doublings = (
        rng.normal(0, 0.5, (ITEMS, 1)) + np.array([0, 2, -1.5, 0, 0, 0]) + rng.normal(0, 0.2, (ITEMS, CONTESTANTS))
    )
    favoured = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0], (ITEMS, 1))
    felt = 3 + sight * (truth - 3) + leniency + length * doublings + ego * favoured
    felt = felt + noise * rng.standard_normal(felt.shape)
    return felt.ravel(), truth.ravel(), doublings.ravel(), favoured.ravel()


def swapped(seed, place, *, noise=0.6, pairs=10):
    """The leans of both hearings of `pairs` pairs for each item, ruled by place alone in a share of cases."""
    rng = np.random.default_rng(seed)
    gap = rng.choice([-1, -0.5, 0, 0, 0.5, 1], (ITEMS, pairs)) + rng.normal(0, 0.3, (ITEMS, 1))
    leans = []
    for sign in (1, -1):
        felt = sign * gap + noise * rng.standard_normal(gap.shape)
        lean = np.where(abs(felt) < 0.3, 0.0, np.sign(felt))
        lazy = rng.random(gap.shape) < abs(place)
        leans.append(np.where(lazy, np.sign(place), lean).ravel())
    return leans[0], leans[1], np.repeat(np.arange(ITEMS), pairs)


def regressors(truth, doublings, favoured):
    return {"sight": truth - 3, "leniency": np.ones_like(truth), "length": doublings, "ego": favoured}


def held(estimate, value):
    return estimate.low <= value <= estimate.high


def test_a_clustered_mean_of_single_rows_is_students_interval():
    values = np.random.default_rng(0).normal(size=25)
    found = clustered_mean(values, range(25))
    low, high = stats.t.interval(0.95, 24, values.mean(), stats.sem(values))
    assert (found.value, found.low, found.high) == pytest.approx((values.mean(), low, high))
    assert found.n == 25


def test_latent_marks_are_at_the_top_of_the_likelihood():
    felt, truth, doublings, favoured = scored(8, leniency=0.8, length=0.4)
    marks = np.clip(np.floor(felt + 0.5), 1, 5)
    design = np.column_stack(list(regressors(truth, doublings, favoured).values()))

    def loss(point):
        normal = stats.norm(3 + design @ point[:-1], np.exp(point[-1]))
        upper = np.where(marks == 5, 1.0, normal.cdf(marks + 0.5))
        lower = np.where(marks == 1, 0.0, normal.cdf(marks - 0.5))
        return -np.log(upper - lower).sum()

    best = optimize.minimize(loss, [1, 0, 0, 0, 0], method="Nelder-Mead", options={"maxiter": 5000, "fatol": 1e-9})
    found = latent_marks(marks - 3, regressors(truth, doublings, favoured), CLUSTERS, low=-2, high=2)
    assert [e.value for e in found.values()] == pytest.approx([*best.x[:-1], np.exp(best.x[-1])], abs=2e-3)


def test_latent_marks_cover_what_was_planted():
    planted = {"sight": 0.9, "leniency": 0.8, "length": 0.4, "ego": 1.0, "noise": 0.7}
    hits = dict.fromkeys(planted, 0)
    for seed in range(SEEDS):
        felt, truth, doublings, favoured = scored(seed, **planted)
        marks = np.clip(np.floor(felt + 0.5), 1, 5) - 3
        found = latent_marks(marks, regressors(truth, doublings, favoured), CLUSTERS, low=-2, high=2)
        for name, value in planted.items():
            hits[name] += held(found[name], value)
    assert min(hits.values()) >= LEAST, hits


def test_latent_marks_seldom_flag_what_was_not_planted():
    flagged = dict.fromkeys(("leniency", "length", "ego"), 0)
    for seed in range(SEEDS):
        felt, truth, doublings, favoured = scored(1000 + seed)
        marks = np.clip(np.floor(felt + 0.5), 1, 5) - 3
        found = latent_marks(marks, regressors(truth, doublings, favoured), CLUSTERS, low=-2, high=2)
        for name in flagged:
            flagged[name] += not held(found[name], 0.0)
    assert max(flagged.values()) <= SEEDS - LEAST, flagged


def test_on_a_short_scale_the_plain_shift_shrinks_and_the_latent_one_does_not():
    felt, truth, doublings, favoured = scored(2, leniency=0.8)
    marks = np.clip(np.floor(felt + 0.5), 1, 5)
    assert clustered_mean(marks - truth, CLUSTERS).high < 0.8
    found = latent_marks(marks - 3, regressors(truth, doublings, favoured), CLUSTERS, low=-2, high=2)
    assert held(found["leniency"], 0.8)


@pytest.mark.parametrize("place", [0.35, 0.0, -0.2])
def test_position_bias_covers_what_was_planted(place):
    hits = sum(held(position_bias(*swapped(seed, place)), place) for seed in range(SEEDS))
    assert hits >= LEAST


@given(st.lists(st.tuples(*[st.sampled_from([-1.0, 0.0, 1.0])] * 2), min_size=4, max_size=40))
def test_swapping_the_names_of_the_orders_changes_nothing_and_turning_the_leans_turns_the_bias(pairs):
    one, other = np.array(pairs).T
    items = [index // 2 for index in range(len(pairs))]
    found, turned = position_bias(one, other, items), position_bias(-other, -one, items)
    assert position_bias(other, one, items) == found
    assert (turned.value, turned.low) == pytest.approx((-found.value, -found.high))
    flips = swap_flips(one, other, items)
    assert flips == swap_flips(other, one, items) == swap_flips(-one, -other, items)
    assert 0 <= flips.low <= flips.value <= flips.high <= 1


def test_flips_count_every_ruling_that_moved():
    one, other = [1, 1, 0, 1, 0], [-1, 1, 0, 0, 0]
    assert swap_flips(one, other, range(5)).value == 2 / 5


def test_flips_that_cluster_have_wider_intervals_than_independent_ones():
    flipped = np.repeat([1.0, -1.0] * 20, 10)
    clustered = swap_flips(np.ones(400), flipped, np.repeat(np.arange(40), 10))
    apart = swap_flips(np.ones(400), flipped, range(400))
    assert clustered.high - clustered.low > 2 * (apart.high - apart.low)


@pytest.mark.parametrize(
    "compute",
    [
        lambda: clustered_mean([], []),
        lambda: latent_marks([1, 2, 3, 4] * 5, {"shift": [1] * 20}, [0] * 20, low=1, high=5),
        lambda: latent_marks([1, 2, 3, 4], {"shift": [1] * 4, "ego": [0, 0, 0, 1]}, range(4), low=1, high=5),
        lambda: latent_marks([1, 2, 3, 4] * 5, {"truth": [1, 2, 3, 4] * 5}, range(20), low=1, high=5),
    ],
    ids=["no rows", "effects of one cluster", "hangs on one", "no noise"],
)
def test_what_cannot_be_estimated_is_said(compute):
    with pytest.raises(Undefined, match=r"no row|cannot|single cluster|without noise"):
        compute()


def test_one_cluster_has_a_mean_without_interval_and_says_why():
    alone = clustered_mean([1.0, 2.0], ["a", "a"])
    assert (alone.value, alone.why, alone.n, alone.units) == (1.5, ONE_ITEM, 2, 1)


def test_a_row_without_its_cluster_is_a_mistake():
    with pytest.raises(ValueError, match="every row needs its cluster"):
        clustered_mean([1.0, 2.0], ["a"])
