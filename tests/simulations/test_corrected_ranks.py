"""Corrected leaderboards: equal contestants are seldom separated, unequal ones often, and votes to decide do decide."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from fullbench.analysis.boards.votes_to_decide import pair_votes
from fullbench.analysis.people.corrected_leaderboards import corrected_boards
from fullbench.stats.people.power_analysis import explained_share
from fullbench.stats.ratings.corrected_ratings import corrected_ratings
from tests.simulations.records import at_most, logistic, pair_verdicts, record_of, show

_PAIRS = np.array(list(combinations(range(5), 2)))


def draw(rng, worth: np.ndarray, items: int):
    """All pairs on each item with item effects: people's vote, and a judge that follows it in 80 %."""
    item = np.repeat(np.arange(items), len(_PAIRS))
    first, second = np.tile(_PAIRS.T, items)
    effect = rng.normal(0, 0.4, (items, 5))
    vote = (
        rng.random(len(item)) < logistic(worth[first] - worth[second] + effect[item, first] - effect[item, second])
    ) * 1.0
    vote = np.where(rng.random(len(item)) < 0.1, 0.5, vote)
    judge = np.where(rng.random(len(item)) < 0.8, vote, rng.integers(0, 2, len(item)) * 1.0)
    return item, first, second, vote, judge


def wrong_and_right(seed: int, worth: np.ndarray, items: int, votes: int) -> tuple[bool, float]:
    """Whether ranks separate two contestants wrongly, and the share of neighbours that they separate."""
    rng = np.random.default_rng(seed)
    item, first, second, vote, judge = draw(rng, worth, items)
    cast = np.full(len(vote), np.nan)
    chosen = rng.choice(len(vote), votes, replace=False)
    cast[chosen] = vote[chosen]
    verdicts = pair_verdicts("j", item, first, second, judge) + pair_verdicts(
        "human", item, first, second, cast, rater="r"
    )
    (board,) = corrected_boards(record_of(verdicts))
    (table, *_) = board.tables()
    spans = {}
    for name, text in zip(table.column("contestant"), map(str, table.column("rank")), strict=True):
        best, _, worst = text.partition("-")
        spans[int(name[1:])] = int(best), int(worst or best)
    # Equal contestants share all ranks that they have among them.
    above, equal = (worth[None] > worth[:, None]).sum(axis=1), (worth[None] == worth[:, None]).sum(axis=1)
    wrong = any(spans[who][0] > above[who] + 1 or spans[who][1] < above[who] + equal[who] for who in range(5))
    order = np.argsort(-worth)
    return wrong, float(np.mean([spans[a][1] < spans[b][0] for a, b in pairwise(order)]))


def shares(runs: int, worth: np.ndarray, items: int, votes: int) -> tuple[float, float]:
    wrong, separated = zip(*(wrong_and_right(seed, worth, items, votes) for seed in range(runs)), strict=True)
    return float(np.mean(wrong)), float(np.mean(separated))


def test_equal_contestants_are_not_separated_in_a_few_runs():
    assert shares(6, np.zeros(5), 40, 120)[0] <= 1 / 6


@pytest.mark.slow
@pytest.mark.parametrize(("items", "votes"), [(20, 100), (60, 120), (60, 300)])
def test_equal_contestants_are_seldom_separated(items, votes):
    runs = 200
    wrong, _ = shares(runs, np.zeros(5), items, votes)
    show(f"corrected ranks, equal contestants, {items} items, {votes} votes: {wrong:.3f} of {runs} separated")
    assert wrong <= at_most(0.05, runs)


@pytest.mark.slow
def test_unequal_contestants_are_separated_and_in_the_right_order():
    runs = 120
    wrong, separated = shares(runs, np.linspace(0.9, -0.9, 5), 60, 300)
    show(f"corrected ranks, unequal contestants: wrong {wrong:.3f}, neighbours separated {separated:.3f}")
    assert wrong <= at_most(0.05, runs)


def errors_after_votes(runs: int) -> tuple[float, float]:
    """Standard error of the first two's difference after 150 votes on them: predicted from a pilot, and as it came."""
    worth = np.linspace(0.4, -0.4, 5)
    line = np.array([1.0, -1.0, 0, 0, 0])
    told, came = [], []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        item, first, second, vote, judge = draw(rng, worth, 500)
        pilot, later = np.full(len(vote), np.nan), np.full(len(vote), np.nan)
        chosen = rng.choice(len(vote), 300, replace=False)
        pilot[chosen] = later[chosen] = vote[chosen]
        fit = corrected_ratings(first, second, pilot, judge[None], cluster=item)
        counts = np.zeros((5, 5), dtype=np.int64)
        np.add.at(counts, (first[chosen], second[chosen]), 1)
        explained = explained_share(300, len(vote), line @ fit.people_covariance @ line, line @ fit.covariance @ line)
        ties = float((vote[chosen] == 0.5).mean())
        now = pair_votes((0, 1), fit.strengths, fit.covariance, counts, share_of_ties=ties, explained=explained)
        told.append(now.error(150))
        open_pairs = np.flatnonzero((first == 0) & (second == 1) & np.isnan(pilot))
        more = rng.choice(open_pairs, 150, replace=False)
        later[more] = vote[more]
        after = corrected_ratings(first, second, later, judge[None], cluster=item)
        came.append(float(line @ after.covariance @ line) ** 0.5)
    return float(np.mean(told)), float(np.mean(came))


def test_the_error_after_more_votes_on_two_contestants_is_as_predicted():
    told, came = errors_after_votes(12)
    show(f"corrected, error after 150 votes on two contestants: predicted {told:.3f}, came {came:.3f}")
    assert told == pytest.approx(came, rel=0.1)
