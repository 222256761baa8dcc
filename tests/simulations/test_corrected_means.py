"""Corrected accuracy and corrected mean marks: their intervals contain what people would say of all pairs and marks."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fullbench import Verdict
from fullbench.analysis.people.corrected_leaderboards import corrected_boards
from fullbench.analysis.people.judge_accuracy_corrected_by_votes import corrected_accuracy_table
from fullbench.columns.column_builder import columns_from_verdicts
from tests.simulations.records import at_least, at_most, names_of, pair_verdicts, record_of, show

_PAIRS = np.array(list(combinations(range(3), 2)))
WORTH = np.array([0.5, 0.0, -0.5])


def outcomes(rng, items: int):
    """All pairs on each item: people's vote, and a judge's verdicts in both orders. Hard items are hard for both."""
    item = np.repeat(np.arange(items), len(_PAIRS))
    first, second = np.tile(_PAIRS.T, items)
    gap = WORTH[first] - WORTH[second] + rng.normal(0, 0.8, items)[item] * (first - second)

    def says(lead: float):
        felt = gap + lead + rng.normal(0, 0.7, len(item))
        return np.where(np.abs(felt) < 0.2, 0.5, (felt > 0) * 1.0)

    return item, first, second, says(0.0), (says(0.3), says(-0.3))


def true_accuracy() -> float:
    _, _, _, vote, orders = outcomes(np.random.default_rng(0), 200_000)
    return float(np.mean([vote == one for one in orders]))


def accuracy_of(rng, items: int, share: float, *, always_ties: bool = False):
    item, first, second, vote, orders = outcomes(rng, items)
    cast = np.where(rng.random(len(vote)) < share, vote, np.nan)
    verdicts = pair_verdicts("human", item, first, second, cast, rater="r")
    for shown_first, shown_second, won in ((first, second, orders[0]), (second, first, 1 - orders[1])):
        verdicts += pair_verdicts("j", item, shown_first, shown_second, np.full(len(won), 0.5) if always_ties else won)
    (row,) = corrected_accuracy_table(columns_from_verdicts(record_of(verdicts))).rows
    return row[2], cast


def covered_accuracy(runs: int, items: int, share: float, seed: int = 1) -> float:
    rng, right = np.random.default_rng(seed), true_accuracy()
    found = [accuracy_of(rng, items, share)[0] for _ in range(runs)]
    return float(np.mean([one.low <= right <= one.high for one in found]))


def marks(rng, items: int):
    """Marks from 1 to 5 of three contestants on each item, by people and by a judge that gives half a mark more."""
    felt = WORTH + rng.normal(0, 0.6, (items, 1)) + rng.normal(0, 0.5, (items, 3))
    people, judge = (np.clip(np.rint(3.6 + lean + felt + rng.normal(0, 0.6, felt.shape)), 1, 5) for lean in (0, 0.5))
    return people, judge


def covered_means(runs: int, items: int, share: float, seed: int = 2) -> float:
    rng, hits = np.random.default_rng(seed), []
    right = marks(np.random.default_rng(0), 200_000)[0].mean(axis=0)
    names = names_of(3)
    for _ in range(runs):
        people, judge = marks(rng, items)
        voted = rng.random(people.shape) < share
        verdicts = [
            Verdict(f"{place}/{who}", name, f"i{place:04d}", (names[who],), "score:1-5", marks=(float(mark),),
                    rater=rater)
            for name, rater, values, there in (("human", "r", people, voted), ("j", "", judge, voted | True))
            for (place, who), mark in np.ndenumerate(values) if there[place, who]
        ]  # fmt: skip
        for board in corrected_boards(record_of(verdicts)):
            for line in board.lines_for("mean score:1-5"):
                one = line.corrected_estimate
                assert 1 <= one.low < one.high <= 5
                hits.append(one.low <= right[names.index(line.contestant)] <= one.high)
    return float(np.mean(hits))


def test_corrected_means_and_accuracy_are_covered_in_a_few_runs():
    assert covered_accuracy(12, 20, 0.5) >= 0.75
    assert covered_means(8, 30, 0.5) >= 0.8


def test_a_judge_that_always_ties_is_as_accurate_as_people_tie():
    found, cast = accuracy_of(np.random.default_rng(3), 60, 0.5, always_ties=True)
    assert found.value == pytest.approx(np.mean(cast[~np.isnan(cast)] == 0.5))
    assert found.high < 0.3


@pytest.mark.slow
@pytest.mark.parametrize(("items", "share"), [(8, 0.6), (12, 0.5), (30, 0.4), (100, 0.2)])
def test_corrected_accuracy_is_covered(items, share):
    runs = 1000
    held = covered_accuracy(runs, items, share)
    show(f"corrected accuracy, {items} items, {share:.0%} voted on: {held:.3f} of {runs}")
    assert at_least(0.92 if items < 12 else 0.93, runs) <= held <= (1 if items < 12 else at_most(0.97, runs))


@pytest.mark.slow
@pytest.mark.parametrize(("items", "share"), [(20, 0.7), (40, 0.5), (100, 0.2)])
def test_corrected_mean_marks_are_covered(items, share):
    runs = 400
    held = covered_means(runs, items, share)
    show(f"corrected mean marks, {items} items, {share:.0%} voted on: {held:.3f} of {runs}")
    assert at_least(0.93, runs) <= held <= at_most(0.97, runs)
