"""The alternative annotator test beside a plain computation in loops, and its error rates on data of our own."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fullbench.errors import Undefined
from fullbench.stats.agreement.alternative_annotator_test import alternative_annotator


def plainly(judge, people, epsilon):
    """Winning rate by loops over annotators and rows, each row a cluster of its own, one-sided paired t-tests."""
    ps, wins = [], []
    for aside in range(len(people)):
        ours, theirs = [], []
        for row in range(people.shape[1]):
            rest = [people[other, row] for other in range(len(people)) if other != aside]
            far = [np.sqrt(np.mean([(mark - who) ** 2 for mark in rest])) for who in (judge[row], people[aside, row])]
            ours.append(float(far[0] <= far[1]))
            theirs.append(float(far[1] <= far[0]))
        gap = np.array(ours) - np.array(theirs)
        ps.append(stats.ttest_1samp(gap, -epsilon, alternative="greater").pvalue)
        wins += ours
    harmonic = sum(1 / (place + 1) for place in range(len(ps)))
    order = np.sort(ps)
    limit = max((p for place, p in enumerate(order, 1) if p <= 0.05 * place / len(ps) / harmonic), default=-1)
    return np.mean(np.array(ps) <= limit), np.mean(wins), ps


@pytest.mark.parametrize("noise", [0.4, 1.0, 1.8])
@pytest.mark.parametrize("epsilon", [0.1, 0.2])
def test_it_is_that_of_a_plain_computation(noise, epsilon):
    rng = np.random.default_rng(2)
    truth = rng.normal(3, 1, 80)
    people = np.clip(np.round(truth + rng.normal(0, 1, (5, 80))), 1, 5)
    judge = np.clip(np.round(truth + rng.normal(0, noise, 80)), 1, 5)
    found = alternative_annotator(judge, people, np.arange(80), list("abcde"), epsilon=epsilon)
    rate, advantage, ps = plainly(judge, people, epsilon)
    assert found.rate == pytest.approx(rate)
    assert found.advantage.value == pytest.approx(advantage)
    assert [one.p for one in found.annotators] == pytest.approx(ps)


def test_too_few_people_or_rows_are_said():
    rng = np.random.default_rng(3)
    people = rng.normal(size=(4, 40))
    people[3, 20:] = np.nan
    found = alternative_annotator(people[0], people, np.arange(40), list("abcd"))
    assert found.left_out == ("d",)
    with pytest.raises(Undefined, match="needs 3 people with 30 shared rulings each; found 0"):
        alternative_annotator(people[0], people[2:], np.arange(40), ["c", "d"])


def rate_of(noise: float, runs: int) -> float:
    """How often a judge of some noise passes where people's noise is 1, strong item effects, five rows an item."""
    passed = 0
    for run in range(runs):
        rng = np.random.default_rng(run)
        truth = rng.normal(0, 1, 200)
        hard = np.repeat(rng.gamma(1.5, 0.7, 40), 5)
        people = truth + hard * rng.normal(0, 1, (4, 200))
        judge = truth + hard * rng.normal(0, noise, 200)
        passed += alternative_annotator(judge, people, np.repeat(np.arange(40), 5), list("abcd"), epsilon=0.1).passes
    return passed / runs


def test_a_good_judge_passes_and_a_bad_one_does_not():
    assert rate_of(0.3, 40) > 0.9
    assert rate_of(2.5, 40) < 0.05


@pytest.mark.slow
def test_a_judge_that_is_worse_by_epsilon_passes_in_one_of_twenty_at_most():
    # At this noise a judge is nearer than a person in 44.9 % of the rows: it loses by a little more than epsilon.
    assert rate_of(1.22, 400) <= 0.05 + 2 * (0.05 * 0.95 / 400) ** 0.5
