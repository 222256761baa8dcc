"""Ratings for those who never lost, and ranks that hold for a whole board."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from fullbench.core.estimate import Estimate
from fullbench.stats.ratings.bradley_terry import rate_contestants
from fullbench.stats.ratings.match_counts import MatchCounts
from fullbench.stats.ratings.rank_ranges import rank_ranges, rank_ranges_of_estimates
from fullbench.stats.ratings.ratings_of_undefeated_and_unconnected_contestants import penalised_strengths, rate_everyone


def battles(draw, items, theta, between=0.5):
    first, second = np.triu_indices(len(theta), 1)
    own = theta + between * draw.standard_normal((items, len(theta)))
    won = draw.random((items, len(first))) < 1 / (1 + np.exp(own[:, second] - own[:, first]))
    item = np.repeat(np.arange(items), len(first))
    counts = (np.tile(first, items), np.tile(second, items), won.astype(float).ravel())
    return MatchCounts.from_rows(*counts, contestants=len(theta), cluster=item, shares=True)


def rated(fought):
    return rate_everyone(fought, interval="sandwich")


@pytest.mark.parametrize("ace", [0, 3])
def test_the_undefeated_stands_first_with_a_lower_end_only(ace):
    draw = np.random.default_rng(1)
    others = [who for who in range(4) if who != ace]
    first, second, won, item = [], [], [], []
    for place in range(15):
        for a in range(4):
            for b in range(a + 1, 4):
                first, second, item = [*first, a], [*second, b], [*item, place]
                won.append(1.0 if a == ace else 0.0 if b == ace else float(draw.random() < 0.5))
    fought = MatchCounts.from_rows(first, second, won, cluster=item)
    found = rated(fought)
    best = found.estimates[ace]
    assert found.outside == {ace: "above"}
    assert best.one_sided
    assert (best.high, best.units) == (best.value, 15)
    assert best.low < best.value
    assert best.value > max(found.estimates[who].value for who in others)
    # The others keep the ratings that maximum likelihood gives them, with their mean at 1000.
    core = rate_contestants(fought, interval="sandwich")
    assert all(found.estimates[who] == core.estimates[who] for who in others)
    assert np.mean([found.estimates[who].value for who in others]) == pytest.approx(1000)
    assert rank_ranges(found).together[ace] == (1, 1)


def test_the_lower_end_is_where_the_opponents_would_be_beaten_as_often_as_the_exact_bound_says():
    fought = MatchCounts.from_rows([0] * 9 + [1, 2], [1] * 9 + [2, 1], [1] * 11, cluster=[*range(9), 20, 21])
    low = rated(fought).estimates[0].low
    chance = 1 / (1 + 10 ** ((1000 - low) / 400))
    assert chance == pytest.approx(0.05 ** (1 / 9), abs=1e-4)


def test_who_lost_every_match_and_who_met_the_rest_only_through_others():
    fought = MatchCounts.from_rows(
        [1, 2, 1, 2, 0, 0, 3, 3], [2, 1, 2, 1, 1, 2, 1, 4], [1, 1, 1, 1, 0, 0, 1, 1], cluster=[0, 1, 2, 3, 4, 5, 6, 7]
    )
    found = rated(fought)
    assert found.outside == {0: "below", 3: "above", 4: "beside"}
    assert found.estimates[0].low == found.estimates[0].value < found.estimates[0].high
    assert found.estimates[4].why == "met the rest only through others"


def test_groups_that_never_met_have_scales_of_their_own():
    fought = MatchCounts.from_rows([0, 1, 0, 1, 2, 3, 2], [1, 0, 1, 0, 3, 2, 3], [1, 1, 0, 1, 1, 1, 1], contestants=5)
    found = rated(fought)
    assert found.groups == ((0, 1), (2, 3))
    assert found.unrated_reasons == {4: "no match"}
    assert found.estimates[4] is None
    for group in found.groups:
        assert np.mean([found.estimates[who].value for who in group]) == pytest.approx(1000)
    assert rank_ranges(found).together == ((1, 4), (1, 4), (1, 4), (1, 4), None)


def test_nobody_linked_both_ways_still_has_an_order():
    fought = MatchCounts.from_rows([0, 0, 1] * 6, [1, 2, 2] * 6, [1] * 18, cluster=np.repeat(np.arange(6), 3))
    found = rated(fought)
    values = [estimate.value for estimate in found.estimates]
    assert values == sorted(values, reverse=True)
    assert np.mean(values) == pytest.approx(1000)


def test_the_penalised_likelihood_is_firths():
    """Beside the penalised likelihood written out, climbed by an optimiser that knows nothing of leverages."""
    from scipy.optimize import minimize

    wins = np.array([[0.0, 5, 3], [0, 0, 2], [0, 1, 0]])
    pairs = [(a, b, n) for a in range(3) for b in range(3) if (n := wins[a, b])]

    def against(free):
        theta = np.append(free, -free.sum())
        design = np.array([np.eye(3)[a] - np.eye(3)[b] for a, b, _ in pairs]) @ np.array([[1, 0], [0, 1], [-1, -1]])
        chance = np.array([1 / (1 + np.exp(theta[b] - theta[a])) for a, b, _ in pairs])
        counts = np.array([n for *_, n in pairs])
        information = design.T @ (design * (counts * chance * (1 - chance))[:, None])
        return -(counts @ np.log(chance)) - 0.5 * np.linalg.slogdet(information)[1]

    best = minimize(against, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x
    found = penalised_strengths(wins, np.zeros(3), np.ones(3, dtype=bool))
    assert found == pytest.approx(np.append(best, -best.sum()), abs=1e-4)


def test_all_ties_are_bounded_by_what_unseen_items_could_do():
    fought = MatchCounts.from_rows([0, 0, 1] * 8, [1, 2, 2] * 8, [0.5] * 24, cluster=np.repeat(np.arange(8), 3))
    found = rated(fought).estimates[0]
    chance = 1 / (1 + 10 ** ((1000 - found.low) / 400))
    assert found.low < 1000 < found.high
    assert chance == pytest.approx(0.5 * 0.05 ** (1 / 8), abs=1e-4)


def test_one_item_has_ratings_and_no_interval():
    found = rated(MatchCounts.from_rows([0, 1, 0], [1, 0, 1], [1, 1, 1], cluster=["a"] * 3))
    assert {estimate.why for estimate in found.estimates} == {"one item"}
    assert rank_ranges(found).together == ((1, 2), (1, 2))


def test_ranks_of_independent_means_follow_their_intervals():
    estimates = [Estimate(1, 0, 2, 5), Estimate(5, 4, 6, 5), None, Estimate(1.5, 1, 3, 5)]
    found = rank_ranges_of_estimates(estimates)
    assert found.alone == ((2, 3), (1, 1), None, (2, 3))
    bare = rank_ranges_of_estimates([Estimate(9, 9, 9, 1, why="one item"), Estimate(1, 0, 2, 5)])
    assert bare.alone == ((1, 2), (1, 2))


def test_the_sandwich_is_that_of_a_logistic_regression_with_clusters():
    draw = np.random.default_rng(3)
    fought = battles(draw, 60, np.array([0.5, 0.0, -0.5]))
    first, second = np.triu_indices(3, 1)
    core = rate_contestants(fought, interval="sandwich")
    # The same duels as rows of a regression without a constant: the third contestant is held at 0.
    draw = np.random.default_rng(3)
    own = np.array([0.5, 0.0, -0.5]) + 0.5 * draw.standard_normal((60, 3))
    won = (draw.random((60, 3)) < 1 / (1 + np.exp(own[:, second] - own[:, first]))).astype(float).ravel()
    design = np.tile([np.eye(3)[a][:2] - np.eye(3)[b][:2] for a, b in zip(first, second, strict=True)], (60, 1))
    item = np.repeat(np.arange(60), 3)
    fitted = sm.Logit(won, design).fit(disp=0, cov_type="cluster", cov_kwds={"groups": item, "use_correction": False})
    contrast = np.array([[1.0, 0, -1], [0, 1, -1]])
    covariance = contrast @ core.moves.covariance() @ contrast.T
    assert covariance == pytest.approx(fitted.cov_params() * 60 / 59, rel=1e-6)


def false_separations(contestants, items, runs, seed=5):
    """How often a board of equals has any contestant that is told from another."""
    draw = np.random.default_rng(seed)
    wrong = 0
    for _ in range(runs):
        sets = rank_ranges(rated(battles(draw, items, np.zeros(contestants), 1.0))).together
        wrong += any(rank is not None and rank != (1, contestants) for rank in sets)
    return wrong / runs


@pytest.mark.parametrize(("contestants", "items"), [(4, 12), (20, 20)])
def test_equals_are_not_told_apart(contestants, items):
    """The audit found 46 % for 20 equal models; two standard errors of room."""
    assert false_separations(contestants, items, 60) <= 0.05 + 2 * (0.05 * 0.95 / 60) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("contestants", "items"), [(4, 8), (4, 100), (8, 12), (20, 8), (20, 20), (20, 100), (20, 400)])
def test_equals_are_not_told_apart_in_full(contestants, items):
    assert false_separations(contestants, items, 500) <= 0.05 + 2 * (0.05 * 0.95 / 500) ** 0.5


def strong_covered(items, runs, seed=6):
    """How often the interval of a model that is hard to beat holds its true distance from the mean of the others."""
    theta = np.array([5.0, -0.8, -0.3, 0.3, 0.8])
    draw = np.random.default_rng(seed)
    whole = rate_contestants(battles(draw, 60_000, theta), interval="sandwich").log_strengths
    truth = whole[0] - np.mean(whole[1:])
    hits, undefeated = [], 0
    for _ in range(runs):
        found = rated(battles(draw, items, theta))
        estimate = found.estimates[0]
        rest = np.mean([found.estimates[who].value for who in range(1, 5)])
        points = rest + 400 / np.log(10) * truth
        undefeated += 0 in found.outside
        hits.append(estimate.low <= points <= (np.inf if estimate.one_sided else estimate.high))
    return np.mean(hits), undefeated / runs


@pytest.mark.parametrize("items", [8, 20])
def test_a_model_that_is_hard_to_beat_is_covered(items):
    """The audit found 0.83 at 20 items by the sandwich, and no rating at all in half of the runs."""
    found, undefeated = strong_covered(items, 100)
    assert found >= 0.92 - 2 * (0.92 * 0.08 / 100) ** 0.5
    assert undefeated > 0.2


@pytest.mark.slow
@pytest.mark.parametrize("items", [5, 8, 12, 20, 60])
def test_a_model_that_is_hard_to_beat_is_covered_in_full(items):
    assert strong_covered(items, 600)[0] >= 0.92 - 2 * (0.92 * 0.08 / 600) ** 0.5
