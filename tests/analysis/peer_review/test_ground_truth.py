"""The truth of a peer review: one criterion, one ballot, votes joined by the rule of all boards, with intervals."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import combinations
from statistics import fmean

import numpy as np
import pytest
from scipy import stats

from fullbench.analysis.peer_review.ground_truth import truth_from_record
from fullbench.analysis.peer_review.ranking_methods import correlation_ranges
from fullbench.core.item import Item
from fullbench.core.rubric import REVIEW_BALLOTS
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record

REVIEW = next(iter(REVIEW_BALLOTS))
NAMES = ("ant", "bee", "cat", "dog")


def ledger_of_votes(seed=1):
    """Three people's choices on most pairs of 12 questions on 4 pictures, and votes of three other kinds."""
    draw = random.Random(seed)
    items = {f"q{n}": Item.ask(f"q{n}", f"What is {n}?", tags={"image": f"p{n % 4}"}) for n in range(12)}
    verdicts, joined = [], defaultdict(list)
    for item in items:
        for pair in combinations(NAMES, 2):
            for rater in draw.sample(("ann", "bob", "cy"), draw.randint(1, 3)):
                best = pair[0] if draw.random() < 0.7 else pair[1]
                marks = (0.5, 0.5) if draw.random() < 0.2 else tuple(float(name == best) for name in pair)
                verdicts.append(Verdict(f"{item}{pair}", "human", item, pair, "choice+tie", marks=marks, rater=rater))
                joined[item, pair].append(marks)
        for name in NAMES:
            common = {"judge": "human", "item": item, "contestants": (name,), "rater": "ann"}
            verdicts.append(Verdict(f"s{item}{name}", ballot="score:1-10", marks=(9.0,), **common))
            verdicts.append(Verdict(f"a{item}{name}", ballot="likert:no|yes", criterion=REVIEW, marks=(1.0,), **common))
            verdicts.append(Verdict(f"v{item}{name}", ballot="choice", criterion="visual", marks=(1.0,), **common))
    return Record(tuple(verdicts), items), joined


def majority(votes):
    counts = Counter(votes)
    most = [vote for vote, count in counts.items() if count == max(counts.values())]
    return most[0] if len(most) == 1 else (0.5, 0.5)


def test_other_ballots_and_criteria_do_not_change_the_truth_and_are_counted():
    record, joined = ledger_of_votes()
    expected = defaultdict(list)
    for (_, pair), votes in joined.items():
        for name, mark in zip(pair, majority(votes), strict=True):
            expected[name].append(mark)
    found = truth_from_record(record)
    assert found.scores == pytest.approx({name: fmean(marks) for name, marks in expected.items()})
    pairs_alone = tuple(one for one in record.verdicts if one.ballot == "choice+tie")
    assert found.scores == truth_from_record(replace(record, verdicts=pairs_alone)).scores
    votes = sum(map(len, joined.values()))
    assert f"by {votes} votes of 3 on {len(joined)} sets of answers" in found.source
    assert "(overall, choice+tie)" in found.source
    assert "the majority" in found.source
    assert "48 votes on other criteria or ballots are left out" in found.source


def test_true_scores_have_intervals_over_pictures():
    record, _ = ledger_of_votes()
    found = truth_from_record(record)
    assert all(one.units == 4 and one.low < one.value < one.high for one in found.estimates.values())
    assert all(0 <= one.low < one.high <= 1 for one in found.estimates.values())
    assert found.draws.shape == (500, 4)
    assert found.draws.mean(axis=0) == pytest.approx(list(found.scores.values()), abs=0.03)


def test_ranges_of_correlations_are_those_of_scipy():
    draws = np.random.default_rng(3).normal([0, 1, 2, 2.5], 1, (60, 4)).round(1)
    scores = [0.3, 0.2, 0.8, 0.8]
    tests = (stats.pearsonr, stats.spearmanr, stats.kendalltau)
    for test, found in zip(tests, correlation_ranges(scores, draws), strict=True):
        sample = [test(scores, draw).statistic for draw in draws]
        assert found == pytest.approx(tuple(np.quantile(sample, [0.025, 0.975])))
