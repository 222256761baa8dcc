"""What ratings say beside themselves; and whether their intervals cover the truth."""

import numpy as np
import pytest

from fullbench.stats.ratings.bradley_terry import bradley_terry, bradley_terry_from_wins, rate_contestants
from fullbench.stats.ratings.elo import elo_orders
from fullbench.stats.ratings.match_counts import MatchCounts
from fullbench.stats.ratings.rating_diagnostics import (
    find_cycles,
    neighbour_separability,
    predict_pairs,
    win_rates_against,
)


def battles(seed, m=6, n=1500, ties=0.1, spread=0.5):
    """Battles drawn from a Bradley-Terry model in which a share of all are ties whatever the strengths."""
    rng = np.random.default_rng(seed)
    strengths = np.linspace(-spread, spread, m)
    first = rng.integers(0, m, n)
    second = (first + rng.integers(1, m, n)) % m
    chance = 1 / (1 + np.exp(strengths[second] - strengths[first]))
    outcome = np.where(rng.random(n) < chance, 1.0, 0.0)
    return first, second, outcome, strengths


def covered(runs, interval, m=6, n=600):
    """How many of all intervals hold the truth they were drawn from."""
    hits = []
    for seed in range(runs):
        first, second, outcome, truth = battles(seed, m, n)
        made = bradley_terry(
            first, second, outcome, interval=interval, resamples=400, scale=1, base=np.e, centre=0, seed=seed
        )
        hits += [rating.low <= true <= rating.high for rating, true in zip(made.estimates, truth, strict=True)]
    return float(np.mean(hits))


@pytest.mark.parametrize("interval", ["sandwich", "bootstrap"])
def test_intervals_cover_the_truth_quick(interval):
    assert 0.9 < covered(40, interval) < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("interval", ["sandwich", "bootstrap"])
def test_intervals_cover_the_truth_in_93_to_97_of_100_runs(interval):
    assert 0.93 <= covered(500, interval) <= 0.97


def tied(seed, ties, m=5, n=800):
    """Battles drawn from Davidson's or Rao and Kupper's model, four of them on each item."""
    rng = np.random.default_rng(seed)
    truth = np.linspace(-0.6, 0.6, m)
    first = rng.integers(0, m, n)
    second = (first + rng.integers(1, m, n)) % m
    gap = truth[first] - truth[second]
    if ties == "davidson":
        up, down = np.exp(gap / 2), np.exp(-gap / 2)
        win, loss = up / (up + down + 0.8), down / (up + down + 0.8)
    else:
        win, loss = 1 / (1 + np.exp(0.4 - gap)), 1 / (1 + np.exp(0.4 + gap))
    lot = rng.random(n)
    return first, second, np.where(lot < win, 1.0, np.where(lot < win + loss, 0.0, 0.5)), truth


def covered_with_ties(runs, ties):
    hits = []
    for seed in range(runs):
        first, second, outcome, truth = tied(seed, ties)
        made = bradley_terry(first, second, outcome, ties=ties, interval="sandwich", scale=1, base=np.e, centre=0)
        hits += [rating.low <= true <= rating.high for rating, true in zip(made.estimates, truth, strict=True)]
    return float(np.mean(hits))


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_intervals_with_ties_cover_the_truth_quick(ties):
    assert 0.9 < covered_with_ties(40, ties) < 0.99


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_intervals_with_ties_cover_the_truth_in_93_to_97_of_100_runs(ties):
    assert 0.93 <= covered_with_ties(500, ties) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("interval", ["sandwich", "bootstrap"])
def test_intervals_of_repeated_battles_cover_the_truth_when_kept_together(interval):
    hits = []
    for seed in range(500):
        first, second, outcome, truth = battles(seed, 6, 300)
        copies = [np.repeat(part, 3) for part in (first, second, outcome)]
        made = bradley_terry(
            *copies, cluster=np.repeat(np.arange(300), 3), interval=interval, resamples=300, scale=1, base=np.e,
            centre=0, seed=seed,
        )  # fmt: skip
        hits += [rating.low <= true <= rating.high for rating, true in zip(made.estimates, truth, strict=True)]
    assert 0.93 <= np.mean(hits) <= 0.97


def test_the_fit_is_the_exact_maximum():
    """In extended precision the score of the fitted strengths is nothing but rounding."""
    first, second, outcome, _ = battles(9, m=20, n=50_000)
    fought = MatchCounts.from_rows(first, second, outcome)
    logs = np.array(rate_contestants(fought, interval="sandwich").log_strengths, dtype=np.longdouble)
    wins = fought.matrix().astype(np.longdouble)
    met = wins + wins.T
    chance = 1 / (1 + np.exp(logs[None, :] - logs[:, None]))
    score = (wins - met * chance).sum(axis=1)
    bend = met * chance * (1 - chance)
    curvature = np.diag(bend.sum(axis=1)) - bend + 1 / len(logs)
    left = np.linalg.solve(curvature.astype(float), score.astype(float))
    assert np.abs(left).max() * 400 / np.log(10) < 1e-6


def test_counts_rows_and_matrices_give_the_same_ratings():
    first, second, outcome, _ = battles(1)
    outcome[::7] = 0.5
    by_rows = bradley_terry(first, second, outcome, cluster=np.arange(len(first)), interval="sandwich")
    counted = rate_contestants(MatchCounts.from_rows(first, second, outcome), interval="sandwich")
    wins, drawn = np.zeros((6, 6)), np.zeros((6, 6))
    np.add.at(wins, (np.where(outcome == 1, first, second), np.where(outcome == 1, second, first)), outcome != 0.5)
    np.add.at(drawn, (first, second), outcome == 0.5)
    of_wins = bradley_terry_from_wins(wins, drawn + drawn.T, interval="sandwich")
    for one, two, three in zip(by_rows.estimates, counted.estimates, of_wins.estimates, strict=True):
        assert (one.value, one.low) == pytest.approx((two.value, two.low), abs=1e-6)
        assert (one.value, one.low) == pytest.approx((three.value, three.low), abs=1e-6)


def test_a_weight_is_worth_as_many_copies_but_is_one_battle():
    first, second, outcome, _ = battles(2, n=300)
    weight = np.where(np.arange(300) % 3 == 0, 3.0, 1.0)
    weighted = bradley_terry(first, second, outcome, weight=weight, interval="sandwich")
    times = weight.astype(int)
    copies = bradley_terry(*(np.repeat(part, times) for part in (first, second, outcome)), interval="sandwich")
    for one, two in zip(weighted.estimates, copies.estimates, strict=True):
        assert one.value == pytest.approx(two.value, abs=1e-6)
        assert one.high - one.low > two.high - two.low
    assert weighted.matches == 300


def test_many_battles_are_drawn_with_the_same_widths():
    first, second, outcome, _ = battles(3, m=5, n=150_000)
    boot = bradley_terry(first, second, outcome, interval="bootstrap")
    wide = bradley_terry(first, second, outcome, interval="sandwich")
    for one, two in zip(boot.estimates, wide.estimates, strict=True):
        assert (one.high - one.low) / (two.high - two.low) == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (([0], [0], [1]), "cannot meet itself"),
        (([0], [1], [0.7]), "an outcome is"),
        (([0], [1], [float("nan")]), "not finite"),
        (([-1], [1], [1]), "codes"),
        ((["a"], ["b"], [1]), "codes"),
        (([0, 1], [1], [1]), "one length"),
    ],
)
def test_bad_battles_are_refused(given, complaint):
    with pytest.raises(ValueError, match=complaint):
        MatchCounts.from_rows(*given)


@pytest.mark.parametrize(
    ("wins", "complaint"),
    [
        ([[1, 1], [0, 0]], "meet itself"),
        ([[0, 1.5], [0, 0]], "whole numbers"),
        ([[0, 1, 2], [0, 0, 1]], "square"),
        ([[0, float("nan")], [1, 0]], "whole numbers"),
    ],
)
def test_bad_matrices_are_refused(wins, complaint):
    with pytest.raises(ValueError, match=complaint):
        bradley_terry_from_wins(wins)


def test_win_rates_against_a_reference_count_ties_as_told():
    fought = MatchCounts.from_rows([0, 0, 2, 1], [1, 1, 1, 2], [1, 0.5, 0, 0.5])
    half = win_rates_against(fought, 1)
    assert (half[0].value, half[0].n) == (0.75, 2)
    assert half[1] is None
    assert (half[2].value, half[2].n) == (0.25, 2)
    left = win_rates_against(fought, 1, ties="left out")
    assert (left[0].value, left[0].n, left[2].n) == (1.0, 1, 1)


def test_a_cycle_is_found_and_an_order_is_none():
    assert find_cycles(np.array([[0, 1, 3], [3, 0, 1], [1, 3, 0]])) == [(1, 0, 2)]
    assert find_cycles(np.array([[0, 2, 2], [1, 0, 2], [1, 1, 0]])) == []


def test_predictions_of_a_true_model_are_seldom_missed():
    first, second, outcome, _ = battles(4, n=4000)
    fought = MatchCounts.from_rows(first, second, outcome)
    ratings = rate_contestants(fought, interval="sandwich")
    pairs = predict_pairs(ratings, fought)
    assert len(pairs) == 15
    assert sum(pair.is_missed for pair in pairs) <= 3
    assert neighbour_separability(ratings.estimates).n == 5


def test_elo_one_by_one_is_elo_as_evalica_plays_it():
    import evalica

    first, second, outcome, _ = battles(5, n=500)
    names = [f"m{code}" for code in range(6)]
    winner = [{1.0: evalica.Winner.X, 0.0: evalica.Winner.Y}[result] for result in outcome]
    theirs = evalica.elo([names[a] for a in first], [names[b] for b in second], winner, initial=1000, k=4.0)
    mine = elo_orders(first, second, outcome, np.arange(500)[:, None], k=4.0)[0]
    assert mine == pytest.approx([theirs.scores[name] for name in names], abs=1e-6)
    assert sum(mine) == pytest.approx(6000)
