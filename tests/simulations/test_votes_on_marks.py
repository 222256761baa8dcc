"""Responses that people marked: a random part is not warned about, a chosen part is, and ratings near 5 of 5 hold."""

from __future__ import annotations

import numpy as np
import pytest

from fullbench import Verdict
from fullbench.analysis.people.corrected_leaderboards import corrected_boards
from fullbench.analysis.people.voted_rows_check import CaseFacts
from tests.simulations.records import POINTS, at_least, at_most, fitted_strengths, names_of, record_of, show

NAMES = names_of(5)
WAYS = {
    "random": lambda marks, words: 0 * marks,
    "high marks": lambda marks, words: 1.5 * marks,
    "long": lambda marks, words: 1.5 * np.log(words),
    "one contestant": lambda marks, words: 0 * marks + 3.0 * (np.arange(5) == 0),
    "extreme marks": lambda marks, words: 2 * np.abs(marks - marks.mean()),
}


def is_warned(rng, items: int, share: float, way: str = "random") -> bool:
    """Return True if the board of one world warns. Items differ, and people and the judge see these differences."""
    worth = np.linspace(-0.6, 0.6, 5) + rng.normal(0, 0.5, (items, 1)) + rng.normal(0, 0.5, (items, 5))
    people, judge = (np.clip(np.rint(3.4 + lean + worth + rng.normal(0, 0.7, worth.shape)), 1, 5) for lean in (0, 0.3))
    words = np.exp(rng.normal(3, 0.5, worth.shape)) + 1
    wish = WAYS[way](judge, words) + rng.normal(0, 1, worth.shape)
    voted = wish > np.quantile(wish, 1 - share)
    verdicts = [
        Verdict(f"{item}/{who}", name, f"i{item:04d}", (NAMES[who],), "score:1-5", marks=(float(mark),), rater=rater)
        for name, rater, marks, there in (("human", "r", people, voted), ("j", "", judge, voted | True))
        for (item, who), mark in np.ndenumerate(marks) if there[item, who]
    ]  # fmt: skip
    lengths = {(f"i{item:04d}", NAMES[who], 0): float(np.log2(count)) for (item, who), count in np.ndenumerate(words)}
    boards = corrected_boards(record_of(verdicts), facts=CaseFacts({}, lengths), together=False)
    return any("WARNING" in str(note) for board in boards for note in board.notes)


def share_warned(runs: int, items: int, share: float, way: str = "random", seed: int = 4) -> float:
    rng = np.random.default_rng([seed, items])
    return sum(is_warned(rng, items, share, way) for _ in range(runs)) / runs


def test_marks_on_a_random_part_are_not_warned_about_and_high_marks_are():
    assert share_warned(40, 8, 0.8) <= at_most(0.05, 40)
    assert share_warned(8, 20, 0.4, "high marks") >= 7 / 8


def draw_near_the_ceiling(rng, items: int):
    """Return marks of people and of a judge that is a little milder; about half of all marks are 5 of 5."""
    worth = np.linspace(-0.6, 0.6, 5) + rng.normal(0, 0.5, (items, 1)) + 0.4 * rng.standard_t(5, (items, 5))
    return [np.clip(np.rint(4.6 + lean + worth + rng.normal(0, 0.65, worth.shape)), 1, 5) for lean in (0, 0.3)]


def true_ratings() -> np.ndarray:
    people, _ = draw_near_the_ceiling(np.random.default_rng(0), 100_000)
    first, second = np.triu_indices(5, 1)
    won = [np.mean((people[:, one] > people[:, two]) + (people[:, one] == people[:, two]) / 2)
           for one, two in zip(first, second, strict=True)]  # fmt: skip
    return 1000 + POINTS * fitted_strengths(first, second, np.array(won), 5)


def covered_ratings(runs: int, items: int, share: float) -> tuple[float, float]:
    """Return the share of corrected ratings, and of people's own, whose intervals hold people's on endless items."""
    rng, right, held = np.random.default_rng([6, items]), true_ratings(), []
    for _ in range(runs):
        people, judge = draw_near_the_ceiling(rng, items)
        voted = rng.random(people.shape) < share
        verdicts = [
            Verdict(f"{item}/{who}", name, f"i{item:04d}", (NAMES[who],), "score:1-5", marks=(float(mark),),
                    rater=rater)
            for name, rater, marks, there in (("human", "r", people, voted), ("j", "", judge, voted | True))
            for (item, who), mark in np.ndenumerate(marks) if there[item, who]
        ]  # fmt: skip
        for board in corrected_boards(record_of(verdicts), together=False):
            for line in board.lines_for("rating"):
                true = right[NAMES.index(line.contestant)]
                held.append([one.low <= true <= one.high for one in (line.corrected_estimate, line.people)])
    corrected, alone = np.mean(held, axis=0).tolist()
    return corrected, alone


def test_a_contestant_with_few_marks_and_many_pairs_has_one_row():
    """Contestant m000 has 9 marks, which make 36 voted pairs: a rating, but no mean mark."""
    rng = np.random.default_rng(8)
    people, judge = draw_near_the_ceiling(rng, 12)
    verdicts = [
        Verdict(f"{item}/{who}", name, f"i{item:04d}", (NAMES[who],), "score:1-5", marks=(float(mark),), rater=rater)
        for name, rater, marks in (("human", "r", people), ("j", "", judge))
        for (item, who), mark in np.ndenumerate(marks) if name == "j" or (who and item < 11) or item < 9
    ]  # fmt: skip
    (board,) = corrected_boards(record_of(verdicts), together=False)
    ratings, means = board.tables()
    assert sorted(ratings.column("contestant")) == NAMES
    assert dict(zip(ratings.column("contestant"), ratings.column("votes"), strict=True))[NAMES[0]] == 36
    assert "No corrected mean mark for m000 (9): fewer than 10 marks each by people." in map(str, board.notes)
    assert NAMES[0] not in [row[1] for row in means.rows if "mean" in str(row[0])]


def test_ratings_near_the_ceiling_hold_in_a_few_worlds():
    assert min(covered_ratings(12, 12, 0.7)) >= 0.8


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize(("items", "share"), [(8, 0.7), (12, 0.5), (12, 0.7), (20, 0.4), (40, 0.4)])
def test_ratings_near_the_ceiling_hold(items, share):
    runs = 1000
    both = covered_ratings(runs, items, share)
    show(f"ratings near the ceiling, {items} items, {share:.0%}: corrected, people {both} of {runs}")
    assert min(both) >= at_least(0.92 if items < 12 else 0.93, runs)


@pytest.mark.slow
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("items", [5, 8, 12, 20])
@pytest.mark.parametrize("share", [0.4, 0.6, 0.8])
def test_random_marks_are_not_warned_about(items, share):
    runs = 1000
    warned = share_warned(runs, items, share)
    show(f"marks on a random part, {items} items, {share:.0%}: warned {warned:.3f} of {runs}")
    assert warned <= at_most(0.05, runs)


@pytest.mark.slow
@pytest.mark.parametrize("way", sorted(set(WAYS) - {"random"}))
def test_chosen_marks_are_warned_about(way):
    runs = 200
    warned = share_warned(runs, 20, 0.4, way)
    show(f"marks on chosen responses, {way}, 20 items: warned {warned:.3f} of {runs}")
    assert warned >= 0.85
