"""`people next`: votes in its order give corrected ratings that are right, and narrower than votes drawn evenly."""

from __future__ import annotations

import numpy as np
import pytest

from fullbench import Record
from fullbench.analysis.people.corrected_leaderboards import corrected_boards
from fullbench.analysis.people.next_pairs_to_vote_on import build_queue
from fullbench.columns.column_builder import columns_from_verdicts
from tests.simulations.records import (
    POINTS,
    at_least,
    fitted_strengths,
    logistic,
    names_of,
    pair_verdicts,
    record_of,
    show,
)

STRENGTHS = np.linspace(0.9, -0.9, 5)
SHARES = np.array([0.32, 0.32, 0.2, 0.1, 0.06])
"""How often contestants are drawn for a pair: the last ones are newcomers."""


def draw(seed: int, items: int):
    """Pairs on items (three each) with item effects; a third of them are unclear to everybody. Two judges."""
    rng = np.random.default_rng(seed)
    rows = items * 3
    item = np.repeat(np.arange(items), 3)
    # Two different contestants, drawn by their shares: the largest two of log-share plus Gumbel noise.
    sides = np.argsort(-(np.log(SHARES) + rng.gumbel(size=(rows, 5))), axis=1)[:, :2]
    first, second = sides.min(axis=1), sides.max(axis=1)
    effect = rng.normal(0, 0.4, (items, 5))
    gap = STRENGTHS[first] - STRENGTHS[second] + effect[item, first] - effect[item, second]
    unclear = rng.random(rows) < 0.33
    better = rng.random(rows) < logistic(gap)
    vote = np.where(rng.random(rows) < np.where(unclear, 0.5, 0.95), better, ~better) * 1.0
    judges = [np.where(rng.random(rows) < np.where(unclear, 0.5, 0.88), better, ~better) * 1.0 for _ in range(2)]
    key = np.unique(np.column_stack([item, first, second]), axis=0, return_index=True)[1]
    return item[key], first[key], second[key], vote[key], [each[key] for each in judges], rng


def true_ratings() -> np.ndarray:
    _, first, second, vote, _, _ = draw(5_000_000, 60_000)
    return 1000 + POINTS * fitted_strengths(first, second, vote, 5)


def board_after(seed: int, votes: int, *, items: int, aimed: bool):
    item, first, second, vote, judges, rng = draw(seed, items)
    verdicts = [
        one for name, ruled in zip("jk", judges, strict=True) for one in pair_verdicts(name, item, first, second, ruled)
    ]
    if aimed:
        row_of = {
            (f"i{place:06d}", a, b): row for row, (place, a, b) in enumerate(zip(item, first, second, strict=True))
        }
        queue = build_queue(columns_from_verdicts(record_of(verdicts)), ["j", "k"], planned_votes=votes, seed=seed)
        code = {name: number for number, name in enumerate(names_of(5))}
        asked = queue.pairs[:votes]
        chosen = np.array([row_of[one.item, *sorted(code[name] for name in one.contestants)] for one in asked])
        chances = np.array([one.probability for one in asked])
    else:
        chosen, chances = rng.choice(len(item), votes, replace=False), None
    verdicts += pair_verdicts(
        "human", item[chosen], first[chosen], second[chosen], vote[chosen], rater="r", chances=chances
    )
    (board,) = [one for one in corrected_boards(Record(tuple(verdicts)), judges=()) if len(one.judges) == 2]
    return {line.contestant: line.corrected_estimate for line in board.lines_for("rating")}


def widths_and_cover(runs: int, votes: int, *, items: int, aimed: bool) -> tuple[float, float]:
    right = dict(zip(names_of(5), true_ratings(), strict=True))
    halves, hits = [], []
    for seed in range(runs):
        ratings = board_after(seed, votes, items=items, aimed=aimed)
        halves.append(np.mean([((one.high - one.low) / 2) ** 2 for one in ratings.values()]) ** 0.5)
        hits += [one.low <= right[name] <= one.high for name, one in ratings.items()]
    return float(np.mean(halves)), float(np.mean(hits))


def test_votes_in_the_order_narrow_the_board_in_a_few_runs():
    even, _ = widths_and_cover(2, 200, items=250, aimed=False)
    aimed, _ = widths_and_cover(2, 200, items=250, aimed=True)
    assert aimed < even


@pytest.mark.slow
def test_fewer_votes_give_the_same_width_and_intervals_still_hold():
    runs = 60
    even, _ = widths_and_cover(runs, 400, items=600, aimed=False)
    aimed, held = widths_and_cover(runs, 300, items=600, aimed=True)
    saved = 1 - 300 / 400 * (aimed / even) ** 2
    show(f"people next: 300 aimed votes ±{aimed:.1f}, 400 even ±{even:.1f}: {saved:.0%} fewer; covered {held:.3f}")
    assert saved >= 0.15
    # Ratings of one board depend on each other, so the room is that of boards, not of ratings.
    assert held >= at_least(0.95, runs)
