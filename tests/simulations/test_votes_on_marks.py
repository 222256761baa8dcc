"""Responses that people marked: a random part is not warned about, a chosen part is."""

from __future__ import annotations

import numpy as np
import pytest

from fullbench import Verdict
from fullbench.analysis.people.corrected_leaderboards import corrected_boards
from fullbench.analysis.people.voted_rows_check import CaseFacts
from tests.simulations.records import at_most, names_of, record_of, show

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
