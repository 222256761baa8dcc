"""A judge's agreement with one person, less that of two people, if it reverses its verdicts on whole items."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fullbench.analysis.agreement.judges_with_people import compare_with_people
from fullbench.analysis.agreement.with_single_votes import single_vote_table
from tests.simulations.records import at_least, pair_verdicts, record_of, show

PAIRS = np.array(list(combinations(range(4), 2)))
RATERS = 3


def draw(rng, items: int, reversed_share: float, noise: float):
    """Return votes (items, pairs, raters) and a judge's verdicts in two orders: 1, 0 or a tie, 0.5."""
    worth = np.linspace(-0.8, 0.8, 4) + rng.normal(0, 0.7, (items, 4))
    gap = worth[:, PAIRS[:, 0]] - worth[:, PAIRS[:, 1]]
    side = np.where(rng.random(items) < reversed_share, -1, 1)[:, None]

    def outcome(felt):
        return np.where(np.abs(felt) < 0.15, 0.5, (felt > 0) * 1.0)

    votes = outcome(gap[:, :, None] + rng.normal(0, 1, (*gap.shape, RATERS)))
    return votes, [outcome(side * gap + noise * rng.normal(0, 1, gap.shape)) for _ in range(2)]


def true_values(reversed_share: float, noise: float) -> tuple[float, float]:
    """Return the agreement with one person, and its difference from that of two people."""
    votes, judge = draw(np.random.default_rng(0), 100_000, reversed_share, noise)
    with_one = np.mean([(votes == one[:, :, None]).mean() for one in judge])
    together = np.mean([(votes[:, :, a] == votes[:, :, b]).mean() for a, b in combinations(range(RATERS), 2)])
    return float(with_one), float(with_one - together)


def shown_cells(rng, items: int, reversed_share: float, noise: float):
    votes, judge = draw(rng, items, reversed_share, noise)
    item, (first, second) = np.repeat(np.arange(items), len(PAIRS)), np.tile(PAIRS.T, items)
    verdicts = pair_verdicts("j", item, first, second, judge[0].ravel())
    verdicts += pair_verdicts("j", item, second, first, 1 - judge[1].ravel())
    for rater in range(RATERS):
        verdicts += pair_verdicts("human", item, first, second, votes[:, :, rater].ravel(), rater=f"r{rater}")
    (row,) = single_vote_table(compare_with_people(record_of(verdicts))).rows
    return row[2], row[4]


def covered(runs: int, items: int, reversed_share: float, noise: float) -> float:
    """Return the smaller share of intervals that hold, of both columns."""
    rng, true = np.random.default_rng([3, items]), true_values(reversed_share, noise)
    shown = [shown_cells(rng, items, reversed_share, noise) for _ in range(runs)]
    held = [[one.low <= value <= one.high for one, value in zip(cells, true, strict=True)] for cells in shown]
    return float(np.mean(held, axis=0).min())


def test_a_few_intervals_hold_the_true_values():
    assert covered(40, 8, 0.2, 0.3) >= 0.85


@pytest.mark.parametrize("seed", range(3))
def test_the_p_value_agrees_with_the_interval(seed):
    rng = np.random.default_rng(seed)
    for reversed_share in (0.0, 0.5):
        for _ in range(4):
            share, one = shown_cells(rng, 8, reversed_share, 0.3)
            assert 0 <= share.low < share.value < share.high <= 1
            assert (one.p < 0.05) == (one.low > 0 or one.high < 0)
            assert -1 <= one.low < one.value < one.high <= 1


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("items", [5, 8, 12, 20, 40])
@pytest.mark.parametrize(("reversed_share", "noise"), [(0.0, 0.3), (0.1, 0.3), (0.2, 0.3), (0.3, 1.0), (0.5, 1.0)])
def test_agreement_and_difference_are_covered(items, reversed_share, noise):
    runs = 1000
    held = covered(runs, items, reversed_share, noise)
    show(f"agreement with single votes, {items} items, {reversed_share:.0%} reversed: {held:.3f} of {runs}")
    assert held >= at_least(0.92 if items < 12 else 0.93, runs)
