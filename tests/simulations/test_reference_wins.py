"""Wins against a reference: the interval contains the true share, items and repeated answers together."""

from __future__ import annotations

import numpy as np
import pytest

from fullbench.analysis.boards.leaderboard import Settings, build_boards
from tests.simulations.records import at_least, logistic, names_of, pair_verdicts, record_of, show

GAP = 0.8
ITEM_SPREAD = 1.0


def draw(seed: int, items: int, trials: int):
    """One contestant against the reference m001: both orders, `trials` times, 10 % ties, item effects."""
    rng = np.random.default_rng(seed)
    effect = np.repeat(rng.normal(0, ITEM_SPREAD, items), 2 * trials)
    item = np.repeat(np.arange(items), 2 * trials)
    trial = np.tile(np.repeat(np.arange(trials), 2), items)
    turned = np.tile([False, True], items * trials)
    won = (rng.random(len(item)) < logistic(GAP + effect)) * 1.0
    won = np.where(rng.random(len(item)) < 0.1, 0.5, won)
    first, second = np.where(turned, 1, 0), np.where(turned, 0, 1)
    return item, first, second, np.where(turned, 1 - won, won), trial, won


def true_share(trials: int) -> float:
    """Share of decided matches that m000 wins: a match is the mean of both orders of one trial."""
    item, _, _, _, trial, won = draw(10_000, 200_000 // trials, trials)
    both = won.reshape(-1, 2).mean(axis=1)
    assert len(both) == len(np.unique(item)) * len(np.unique(trial))
    decided = both != 0.5
    return float(both[decided].mean())


def covered(runs: int, items: int, trials: int) -> float:
    right = true_share(trials)
    hits = []
    for seed in range(runs):
        item, first, second, outcome, trial, won = draw(seed, items, trials)
        (board,) = build_boards(
            record_of(pair_verdicts("j", item, first, second, outcome, trial=trial)), Settings(reference="m001")
        )
        place = board.contestants.index(names_of(2)[0])
        cell = board.standings.column("wins against the reference")[place]
        both = won.reshape(-1, 2).mean(axis=1)
        assert cell.value == pytest.approx(both[both != 0.5].mean())
        hits.append(cell.low <= right <= cell.high)
    return float(np.mean(hits))


def test_a_share_of_wins_against_the_reference_is_covered_in_a_few_runs():
    assert covered(40, 30, 2) >= 0.85


@pytest.mark.slow
@pytest.mark.parametrize(("items", "trials"), [(10, 1), (30, 1), (30, 3), (100, 3)])
def test_a_share_of_wins_against_the_reference_is_covered(items, trials):
    runs = 400
    share = covered(runs, items, trials)
    show(f"reference wins: {items} items, {trials} trials: {share:.3f} of {runs}")
    assert share >= at_least(0.95, runs)
