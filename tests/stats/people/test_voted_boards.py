"""Corrected numbers, accusations and warnings in simulated worlds with known truth. Slow cells have 1,000 or more."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from fullbench import Verdict
from fullbench.analysis.people.corrected_leaderboards import corrected_boards
from fullbench.analysis.people.paired_verdicts_and_votes import Votes
from fullbench.analysis.people.rated_matches import select_rated_matches
from fullbench.analysis.people.voted_rows_check import check_voted_rows
from fullbench.columns.column_builder import columns_from_verdicts
from fullbench.stats.people.prediction_powered import corrected_mean
from fullbench.stats.people.voted_versus_unvoted_row_test import differing_variables, stratified_chances
from fullbench.stats.ratings.corrected_ratings import corrected_ratings
from tests.stats.people.vote_worlds import SIZE, bradley_terry, choose, make_world, truth

NAMES = [f"m{who}" for who in range(SIZE)]


def rows_of(world, vote, chance=None):
    return Votes(
        world.item, world.judge[None], vote, chance, 0, 0, (world.first, world.second), (0 * world.item,) * 2,
        order_gap=world.order_gap,
    )  # fmt: skip


def coverage(items, votes, way, kind, *, worlds, seed):
    """Shares of ratings and of shares won that hold people's own, and of worlds with a board."""
    ratings, shares = truth()
    rng, shown, held, held_shares = np.random.default_rng(seed), 0, [], []
    for _ in range(worlds):
        world = make_world(rng, items, kind)
        vote, chance = choose(rng, world, votes, way)
        if not select_rated_matches(rows_of(world, vote, chance))[0].all():
            continue
        shown += 1
        fit = corrected_ratings(
            world.first, world.second, vote, world.judge, contestants=SIZE, probability=chance, cluster=world.item
        )
        held.append([one.low <= true <= one.high for one, true in zip(fit.corrected_estimates, ratings, strict=True)])
        for who in range(SIZE):
            mine = (world.first == who) | (world.second == who)
            turned = world.second[mine] == who
            won = corrected_mean(
                np.where(turned, 1 - vote[mine], vote[mine]),
                np.where(turned, 1 - world.judge[mine], world.judge[mine]),
                probability=None if chance is None else chance[mine], cluster=world.item[mine], within=(0.0, 1.0),
            ).corrected_estimate  # fmt: skip
            held_shares.append(won.low <= shares[who] <= won.high)
    return shown / worlds, np.array(held), np.array(held_shares).reshape(-1, SIZE)


def lower_bound(held):
    """The share that holds, and two standard errors of it: contestants of one world belong together."""
    by_world = held.mean(axis=1)
    return by_world.mean(), 2 * by_world.std() / np.sqrt(len(by_world))


def test_corrected_ratings_hold_peoples_in_a_few_worlds():
    shown, ratings, shares = coverage(20, 80, "random", "length", worlds=40, seed=1)
    assert shown == 1
    for held in (ratings, shares):
        mean, room = lower_bound(held)
        assert mean + 1.5 * room > 0.93


@pytest.mark.slow
@pytest.mark.parametrize(("items", "share"), [(5, 0.7), (8, 0.5), (12, 0.4), (20, 0.4), (60, 0.4), (300, 0.2)])
@pytest.mark.parametrize("way", ["random", "designed"])
def test_corrected_ratings_and_shares_hold_peoples(items, share, way):
    _, ratings, shares = coverage(items, int(items * 10 * share), way, "length", worlds=2000, seed=items)
    for held in (ratings, shares):
        mean, room = lower_bound(held)
        assert mean + room > (0.92 if items < 12 else 0.93)
        assert mean - room < (1 if items < 12 else 0.97)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["useless", "contrary", "sharp"])
def test_few_votes_give_no_rating_and_enough_give_a_sound_one_whatever_the_judge(kind):
    for votes in (5, 20):
        assert coverage(60, votes, "random", kind, worlds=300, seed=3)[0] == 0
    for votes in (40, 120):
        mean, room = lower_bound(coverage(60, votes, "random", kind, worlds=1000, seed=votes)[1])
        assert mean + room > 0.93


def test_votes_below_ten_for_each_contestant_give_no_rating():
    rng = np.random.default_rng(2)
    world = make_world(rng, 60, "follower")
    assert not select_rated_matches(rows_of(world, choose(rng, world, 20)[0]))[0].any()
    vote, _ = choose(rng, world, 200)
    vote[(world.first == 3) | (world.second == 3)] = np.nan
    is_rated, _ = select_rated_matches(rows_of(world, vote))
    assert (is_rated == ((world.first != 3) & (world.second != 3))).all()


def strong_world(rng, items):
    """Return a world whose third contestant wins 19 of 20 matches, so that few votes often show it undefeated."""
    world = make_world(rng, items, "length")
    wins_anyway = (rng.random(len(world.item)) < 0.85) & ((world.first == 2) | (world.second == 2))
    return replace(world, people=np.where(wins_anyway, (world.first == 2) * 1.0, world.people))


@cache
def strong_truth(members):
    """Return people's ratings of some contestants, over 60,000 items."""
    world = strong_world(np.random.default_rng(98), 60_000)
    inside = np.isin(world.first, members) & np.isin(world.second, members)
    places = np.searchsorted(members, world.first[inside]), np.searchsorted(members, world.second[inside])
    return bradley_terry(*places, world.people[inside], len(members))


def strong_coverage(items, votes, *, worlds, seed):
    """Return the shares of ratings that hold people's own, by world, and the share of worlds that leave one out."""
    rng, held, left_out = np.random.default_rng(seed), [], 0
    for _ in range(worlds):
        world = strong_world(rng, items)
        vote, _ = choose(rng, world, votes)
        is_rated, one_sided = select_rated_matches(rows_of(world, vote))
        left_out += one_sided == {2}
        if not is_rated.any():
            continue
        members = np.unique(np.concatenate([world.first[is_rated], world.second[is_rated]]))
        fit = corrected_ratings(
            np.searchsorted(members, world.first[is_rated]), np.searchsorted(members, world.second[is_rated]),
            vote[is_rated], world.judge[is_rated], contestants=len(members), cluster=world.item[is_rated],
        )  # fmt: skip
        assert not fit.has_prior
        truth_here = strong_truth(tuple(members.tolist()))
        held.append(np.mean([
            one.low <= truth_here[code] <= one.high
            for code, one in zip(fit.rated_codes, fit.corrected_estimates, strict=True)
        ]))  # fmt: skip
    return np.array(held), left_out / worlds


def test_undefeated_contestant_is_left_out_and_the_others_keep_their_coverage():
    """A prior that keeps its rating finite moved all others: .62 to .78 of the intervals held then."""
    held, left_out = strong_coverage(12, 48, worlds=60, seed=4)
    assert 0.1 < left_out < 0.9
    assert held.mean() + 3 * held.std() / np.sqrt(len(held)) > 0.93


@pytest.mark.slow
@pytest.mark.parametrize(("items", "share"), [(5, 0.7), (8, 0.6), (12, 0.4), (20, 0.4), (40, 0.2)])
def test_corrected_ratings_hold_peoples_next_to_a_strong_contestant(items, share):
    held, _ = strong_coverage(items, int(items * 10 * share), worlds=2000, seed=items)
    room = 2 * held.std() / np.sqrt(len(held))
    assert held.mean() + room > (0.92 if items < 12 else 0.93)


def test_board_names_an_undefeated_contestant_and_does_not_call_its_votes_few():
    names, record = ("a", "b", "c"), []
    for item, (one, two) in product(range(20), combinations(names, 2)):
        people = (1.0, 0.0) if one == "a" or item % 2 else (0.0, 1.0)
        for judge, marks in (("judge", (1.0, 0.0) if item % 3 else (0.0, 1.0)), ("human", people)):
            if judge == "judge" or item < 15:
                case = f"{item}/{one}/{two}"
                record.append(Verdict(case, judge, f"i{item}", (one, two), "choice", marks=marks))
    (board,) = corrected_boards(columns_from_verdicts(record))
    rated = {line.contestant for line in board.lines if line.metric == "rating"}
    assert (rated, {line.contestant for line in board.lines} - rated) == ({"b", "c"}, {"a"})
    assert any(note.startswith("No corrected rating for a: won or lost every match") for note in board.notes)
    assert not any("fewer than" in note for note in board.notes)


def test_chain_of_wins_without_a_largest_group_gives_no_rating():
    world = make_world(np.random.default_rng(1), 30)
    vote = (world.first < world.second) * 1.0
    is_rated, one_sided = select_rated_matches(rows_of(world, vote))
    assert not is_rated.any()
    assert one_sided == set(range(SIZE))


def share_accused(items, votes, kind, worlds, *, spread=1.0, seed=5):
    rng, accused = np.random.default_rng(seed), 0
    for _ in range(worlds):
        world = make_world(rng, items, kind, spread=spread)
        vote, _ = choose(rng, world, votes)
        fit = corrected_ratings(
            world.first, world.second, vote, world.judge, contestants=SIZE, cluster=world.item
        )  # fmt: skip
        accused += any(fit.scales[0].is_biased)
    return accused / worlds


def test_a_noisy_judge_is_not_called_biased_and_one_that_loves_a_contestant_is():
    assert share_accused(60, 240, "noisy", 30) <= 0.05
    assert share_accused(60, 360, "own", 15) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["noisy", "lapses", "ties", "sharp", "follower", "useless"])
@pytest.mark.parametrize(("items", "votes"), [(20, 80), (60, 120), (60, 360), (300, 1200)])
@pytest.mark.parametrize("spread", [1.0, 2.0])
def test_judges_without_a_bias_are_not_accused(kind, items, votes, spread):
    worlds = 1000
    assert share_accused(items, votes, kind, worlds, spread=spread) < 0.05 + 2 * np.sqrt(0.05 * 0.95 / worlds)


def share_warned(items, votes, way, worlds, seed=6):
    rng, warned = np.random.default_rng(seed), 0
    for _ in range(worlds):
        world = make_world(rng, items, "length")
        vote, _ = choose(rng, world, votes, way)
        warned += bool(check_voted_rows(rows_of(world, vote), NAMES, [str(n) for n in range(items)]).differences)
    return warned / worlds


def test_votes_on_easy_pairs_are_warned_about_and_random_ones_are_not():
    assert share_warned(60, 120, "easy", 20) == 1
    assert share_warned(60, 120, "split", 20) == 1
    assert share_warned(60, 120, "random", 30) <= 0.17


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "share"), [(5, 0.7), (8, 0.5), (12, 0.4), (20, 0.2), (60, 0.05), (60, 0.2), (300, 0.1)]
)
def test_random_votes_are_not_warned_about(items, share):
    for way in ("random", "items"):
        assert share_warned(items, int(items * 10 * share), way, 1000) < 0.05 + 2 * np.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["easy", "split", "longer won", "one contestant"])
def test_votes_by_choice_are_warned_about(way):
    assert share_warned(60, 120, way, 300) > 0.9


def test_the_test_of_one_variable_is_students_on_sums_of_items():
    """With votes on every item, p is that of a one-sample t-test of each item's sum."""
    rng = np.random.default_rng(8)
    item, value = np.repeat(np.arange(30), 6), rng.normal(size=180)
    is_voted = rng.random(180) < 1 / (1 + np.exp(-0.6 * value))
    (found,) = differing_variables(is_voted, {"value": value}, item)
    sums = np.bincount(item, (value - value.mean()) * (is_voted - is_voted.mean()))
    assert found.p == pytest.approx(stats.ttest_1samp(sums, 0).pvalue, rel=0.6)
    assert (found.voted_mean, found.unvoted_mean) == pytest.approx((value[is_voted].mean(), value[~is_voted].mean()))


def test_reweighted_votes_undo_a_known_choice():
    """People vote three times as often where the judge is sure; reweighted, their share of wins is that of all."""
    rng = np.random.default_rng(4)
    is_sure = rng.random(20_000) < 0.5
    opinion = (rng.random(20_000) < np.where(is_sure, 0.9, 0.5)) * 1.0
    is_voted = rng.random(20_000) < np.where(is_sure, 0.3, 0.1)
    chances = stratified_chances(is_voted, [is_sure * 1.0])
    vote = np.where(is_voted, opinion, np.nan)
    assert corrected_mean(vote, is_sure * 1.0, probability=chances).people.value == pytest.approx(0.7, abs=0.015)
    assert np.nanmean(vote) > 0.78
