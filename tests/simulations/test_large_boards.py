"""Large boards: a million rows and 500 contestants give the numbers of a small exact computation."""

from __future__ import annotations

import numpy as np
import pytest

from fullbench.analysis.boards.leaderboard import build_boards
from fullbench.columns.column_builder import Builder
from tests.simulations.records import CHOICE, POINTS, at_least, fitted_strengths, logistic, names_of, show


def columns_of(item, first, second, outcome):
    """Verdicts as columns, added in chunks as a store adds them: Python objects for a million rows take gigabytes."""
    names, rows = names_of(int(max(first.max(), second.max())) + 1), len(item)
    builder = Builder()
    for start in range(0, rows, 20_000):
        part = slice(start, start + 20_000)
        builder.extend(
            (
                ("default", "j", "overall", CHOICE, "", None, (names[one], names[two]), (0, 0), 0, 0, 1, 0, 0, None),
                f"i{place:06d}", f"{place}/{one}/{two}", (won, 1 - won), 0, 0, 0.0, 0.0, float("nan"), float("nan"),
            )
            for place, one, two, won in zip(
                item[part].tolist(), first[part].tolist(), second[part].tolist(), outcome[part].tolist(), strict=True
            )
        )  # fmt: skip
    return builder.finish()


def draw(seed: int, rows: int, contestants: int, per_item: int, worth: np.ndarray):
    """Different pairs on each item, shown in either order, 10 % ties."""
    rng = np.random.default_rng(seed)
    items = rows // per_item
    item = np.repeat(np.arange(items), per_item)
    pairs = np.column_stack(np.triu_indices(contestants, 1))
    start, step = rng.integers(0, len(pairs), items), 1 + rng.integers(0, 7, items)
    code = (np.repeat(start, per_item) + np.tile(np.arange(per_item), items) * np.repeat(step, per_item)) % len(pairs)
    first, second = pairs[code].T
    turned = rng.random(len(item)) < 0.5
    first, second = np.where(turned, second, first), np.where(turned, first, second)
    effect = rng.normal(0, 0.4, (items, contestants)) if contestants < 100 else np.zeros((1, contestants))
    place = item if contestants < 100 else np.zeros_like(item)
    gap = worth[first] - worth[second] + effect[place, first] - effect[place, second]
    won = (rng.random(len(item)) < logistic(gap)) * 1.0
    return item, first, second, np.where(rng.random(len(item)) < 0.1, 0.5, won)


def sandwich(item, first, second, outcome, strengths) -> np.ndarray:
    """Standard errors over items, written out as matrices."""
    size, items = len(strengths), int(item.max()) + 1
    chance = logistic(strengths[first] - strengths[second])
    weight = chance * (1 - chance)
    bend = np.zeros((size, size))
    np.add.at(bend, (first, second), -weight)
    np.add.at(bend, (second, first), -weight)
    np.fill_diagonal(bend, 0)
    np.fill_diagonal(bend, -bend.sum(axis=1))
    scores = np.zeros((items, size))
    np.add.at(scores, (item, first), outcome - chance)
    np.add.at(scores, (item, second), chance - outcome)
    inverse = np.linalg.pinv(bend)
    errors: np.ndarray = np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse))
    return errors


def compare_exactly(rows: int, contestants: int, per_item: int) -> None:
    item, first, second, outcome = draw(4, rows, contestants, per_item, np.linspace(1, -1, contestants))
    (board,) = build_boards(columns_of(item, first, second, outcome))
    assert len(board.matches) == rows
    strengths = fitted_strengths(first, second, outcome, contestants)
    errors = POINTS * sandwich(item, first, second, outcome, strengths)
    won = dict(zip(board.contestants, board.standings.column("matches won"), strict=True))
    for code, name in enumerate(names_of(contestants)):
        rating = board.rating_of(name)
        assert rating.value == pytest.approx(1000 + POINTS * strengths[code], abs=1e-3)
        assert (rating.high - rating.low) / 2 == pytest.approx(1.96 * errors[code], rel=0.02)
        both = np.concatenate([outcome[first == code], 1 - outcome[second == code]])
        assert won[name].value == pytest.approx(both.mean(), abs=1e-12)
        assert won[name].n == len(both)


def test_ten_thousand_rows_give_the_numbers_of_an_exact_computation():
    compare_exactly(10_000, 12, 10)


@pytest.mark.slow
def test_a_million_rows_give_the_numbers_of_an_exact_computation():
    compare_exactly(1_000_000, 25, 20)


@pytest.mark.slow
def test_five_hundred_contestants_have_ratings_and_ranks_that_hold():
    runs, size = 20, 500
    worth = np.linspace(1.5, -1.5, size)
    # With 10 % ties that count half, Bradley-Terry strengths are a little smaller than the ones drawn from.
    expected = ratings_with_ties(worth)
    covered, ranks_hold = [], []
    for seed in range(runs):
        item, first, second, outcome = draw(seed + 20, 60_000, size, 20, worth)
        (board,) = build_boards(columns_of(item, first, second, outcome))
        ratings = [board.rating_of(name) for name in names_of(size)]
        covered.append(np.mean([one.low <= right <= one.high for one, right in zip(ratings, expected, strict=True)]))
        spans = dict(zip(board.contestants, map(str, board.standings.column("rank")), strict=True))
        held = []
        for place, name in enumerate(names_of(size), start=1):
            best, _, worst = spans[name].partition("-")
            held.append(int(best) <= place <= int(worst or best))
        ranks_hold.append(all(held))
        if not seed:
            exact = 1000 + POINTS * fitted_strengths(first, second, outcome, size)
            assert [one.value for one in ratings] == pytest.approx(exact.tolist(), abs=0.05)
    share = float(np.mean(covered))
    show(f"500 contestants: ratings covered {share:.4f}, all ranks hold in {np.mean(ranks_hold):.2f} of {runs}")
    assert 0.94 <= share <= 0.96
    assert np.mean(ranks_hold) >= at_least(0.95, runs)


def ratings_with_ties(worth: np.ndarray) -> np.ndarray:
    """Ratings of a population in which every pair meets equally often and 10 % of the matches are ties."""
    size = len(worth)
    chance = 0.9 * logistic(worth[:, None] - worth[None, :]) + 0.05
    np.fill_diagonal(chance, 0)
    met = np.ones((size, size)) - np.eye(size)
    strength = np.ones(size)
    for _ in range(5_000):
        new = chance.sum(axis=1) / (met / (strength[:, None] + strength[None, :])).sum(axis=1)
        new /= np.exp(np.log(new).mean())
        done = np.abs(np.log(new / strength)).max() < 1e-9
        strength = new
        if done:
            break
    return 1000 + POINTS * np.log(strength)
