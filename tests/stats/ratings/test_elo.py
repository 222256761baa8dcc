"""Elo against evalica in a given order, and over many orders."""

import evalica
import numpy as np
import pytest

from fullbench.errors import Undefined
from fullbench.stats.ratings import elo as rating_by_elo
from fullbench.stats.ratings.elo import elo_orders, elo_ratings
from tests.stats.ratings.test_bradley_terry import duels


def in_order(first, second, outcome, **options):
    return elo_orders(first, second, outcome, np.arange(len(first))[:, None], **options)[0]


def test_one_order_is_evalicas():
    first, second, outcome, _ = duels(500)
    winner = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    theirs = evalica.elo(first.tolist(), second.tolist(), [winner[o] for o in outcome], initial=1000, k=4, scale=400)
    assert in_order(first, second, outcome, k=4) == pytest.approx(theirs.scores.sort_index().to_numpy())


def test_points_are_neither_made_nor_lost():
    first, second, outcome, _ = duels(300)
    assert np.mean(in_order(first, second, outcome)) == pytest.approx(1000)
    assert np.mean([rating.value for rating in elo_ratings(first, second, outcome, draws=50)]) == pytest.approx(1000)


def test_many_orders_do_not_care_which_was_given():
    first, second, outcome, _ = duels(400)
    turned = [part[::-1] for part in (first, second, outcome)]
    for one, two in zip(elo_ratings(first, second, outcome), elo_ratings(*turned), strict=True):
        assert one.value == pytest.approx(two.value, abs=4)
    last = in_order(first, second, outcome)
    assert last != pytest.approx(in_order(*turned), abs=4)


def test_blocks_of_orders_are_one_run(monkeypatch):
    first, second, outcome, _ = duels(100)
    monkeypatch.setattr("fullbench.stats.ratings.elo._BLOCK", 700)
    found = elo_ratings(first, second, outcome, draws=30)
    assert all(rating.low < rating.value < rating.high for rating in found)


def test_who_met_nobody_has_no_rating():
    assert elo_ratings([0], [1], [1], contestants=3, draws=2)[2] is None
    with pytest.raises(Undefined):
        elo_ratings([], [], [])
    with pytest.raises(ValueError, match="meet itself"):
        in_order([1], [1], [1])


def test_of_very_many_duels_the_last_decide(monkeypatch):
    first, second, outcome, _ = duels(60_000)
    asked = []
    played = rating_by_elo._play_orders

    def seen(fought, rows, *more):
        asked.append(rows)
        return played(fought, rows, *more)

    monkeypatch.setattr(rating_by_elo, "_play_orders", seen)
    whole = elo_ratings(first, second, outcome, draws=40, middle="median")
    assert {len(rows) for rows in asked} == {60_000}
    asked.clear()
    monkeypatch.setattr(rating_by_elo, "_MANY", 50_000)
    monkeypatch.setattr(rating_by_elo, "_LAST", 1_000)
    by_the_last = elo_ratings(first, second, outcome, draws=40, middle="median")
    last = asked[-1]
    assert len(last) < 30_000
    # The same orders, each with all other duels played before its last ones.
    before = np.stack([np.setdiff1d(np.arange(60_000), order) for order in last.T], axis=1)
    orders = np.median(elo_orders(first, second, outcome, np.concatenate([before, last])), axis=0)
    assert [rating.value for rating in by_the_last] == pytest.approx(orders, abs=0.02)
    for one, two in zip(whole, by_the_last, strict=True):
        assert one.value == pytest.approx(two.value, abs=(one.high - one.low) / 2)


@pytest.mark.parametrize("rare", ["one duel", "a group apart"])
def test_all_duels_are_played_where_early_ones_are_remembered(monkeypatch, rare):
    size = 5
    first, second, outcome, _ = duels(8_000, size)
    if rare == "one duel":
        first, second, outcome = np.append(first, size), np.append(second, 0), np.append(outcome, 1.0)
    else:
        first, second, outcome = (
            np.concatenate([first, first + size]), np.concatenate([second, second + size]), np.tile(outcome, 2),
        )  # fmt: skip
    whole = elo_ratings(first, second, outcome, draws=20)
    monkeypatch.setattr(rating_by_elo, "_MANY", 5_000)
    monkeypatch.setattr(rating_by_elo, "_LAST", 1_000)
    assert elo_ratings(first, second, outcome, draws=20) == whole


def test_few_orders_in_plain_floats_rate_as_many_orders_in_arrays():
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 5, 400), rng.integers(5, 9, 400)
    outcome = rng.choice([0.0, 0.5, 1.0], 400)
    orders = rng.permuted(np.tile(np.arange(400), (17, 1)), axis=1).T
    for k in (4.0, 1e7):  # exp() would overflow with the second
        one_by_one = np.concatenate([elo_orders(first, second, outcome, order[:, None], k=k) for order in orders.T])
        with np.errstate(over="ignore"):
            assert one_by_one == pytest.approx(elo_orders(first, second, outcome, orders, k=k), rel=1e-9)
