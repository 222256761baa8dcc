"""Agreement of a judge with people on many items: intervals contain what scipy and scikit-learn find on 100,000."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from fullbench import Verdict
from fullbench.analysis.agreement.judges_with_people import compare_with_people, judge_agreements
from tests.simulations.records import CHOICE, at_least, record_of, show

METRICS = ("Pearson", "Spearman", "kappa, quadratic", "accuracy with ties", "kappa")


def draw(seed: int, items: int):
    """Marks of three responses on each item, and a choice on the first two; items differ in how hard they are."""
    rng = np.random.default_rng(seed)
    worth = rng.normal(0, 1, (items, 3)) + rng.normal(0, 0.6, (items, 1))
    hard = rng.uniform(0.3, 1.3, (items, 1))
    people, judge = (np.clip(np.rint(3 + worth + hard * rng.normal(size=worth.shape)), 1, 5) for _ in range(2))
    choices = []
    for _ in range(2):
        gap = worth[:, 0] - worth[:, 1] + hard[:, 0] * rng.normal(size=items)
        choices.append(np.where(np.abs(gap) < 0.2, 0.5, (gap > 0) * 1.0))
    return people, judge, *choices


@cache
def true_values() -> dict[str, float]:
    people, judge, chosen, judged = draw(10**6, 100_000)
    ours, theirs = judge.ravel(), people.ravel()
    return {
        "Pearson": stats.pearsonr(ours, theirs)[0],
        "Spearman": stats.spearmanr(ours, theirs)[0],
        "kappa, quadratic": cohen_kappa_score(theirs.astype(int), ours.astype(int), weights="quadratic"),
        "accuracy with ties": float((chosen == judged).mean()),
        "kappa": cohen_kappa_score((2 * chosen).astype(int), (2 * judged).astype(int)),
    }


def estimates(seed: int, items: int) -> dict:
    people, judge, chosen, judged = draw(seed, items)
    verdicts = []
    for name, marks, choices, rater in (("human", people, chosen, "r"), ("j", judge, judged, "")):
        for item in range(items):
            verdicts += [
                Verdict(f"{item}/{who}", name, f"i{item}", (f"m{who}",), "score:1-5", marks=(float(marks[item, who]),),
                        rater=rater)
                for who in range(3)
            ]  # fmt: skip
            won = float(choices[item])
            verdicts.append(
                Verdict(f"{item}", name, f"i{item}", ("m0", "m1"), CHOICE, marks=(won, 1 - won), rater=rater)
            )
    found = judge_agreements(compare_with_people(record_of(verdicts)), "j")
    return {name: value for agreement in found for name, value in agreement.metrics.items() if name in METRICS}


def covered(runs: int, items: int) -> dict[str, float]:
    hits = dict.fromkeys(METRICS, 0)
    for seed in range(runs):
        for name, value in estimates(seed, items).items():
            hits[name] += value.low <= true_values()[name] <= value.high
    return {name: count / runs for name, count in hits.items()}


def test_agreement_is_covered_in_a_few_runs():
    assert min(covered(8, 60).values()) >= 0.6


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_agreement_on_300_items_is_covered():
    runs = 200
    shares = covered(runs, 300)
    show(f"agreement, 300 items: {shares} of {runs}")
    # 800 runs came to 93.4 to 94.5 %: percentiles of a bootstrap are a little too narrow.
    assert min(shares.values()) >= at_least(0.94, runs)
