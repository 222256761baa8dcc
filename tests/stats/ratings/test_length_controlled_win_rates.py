"""Length-controlled win rates against scikit-learn's logistic regression, a jackknife, and AlpacaEval's own numbers."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fullbench.errors import Undefined
from fullbench.stats.ratings.length_controlled_win_rates import length_controlled_win_rates
from tests.simulations.records import at_least, show

RELEASED = Path("../shared/data/alpaca_eval/annotations.csv.gz")
PUBLISHED = {
    "FuseChat-Llama-3.1-8B-Instruct": 65.39, "FuseChat-Gemma-2-9B-Instruct": 70.18, "NullModel": 86.46,
    "FuseChat-Llama-3.2-3B-Instruct": 54.00, "claude-2": 28.16, "gpt-3.5-turbo-0301": 18.09, "gemma-7b-it": 10.43,
    "vicuna-13b": 9.22, "OpenHermes-2.5-Mistral-7B": 16.25, "FuseChat-Llama-3.2-1B-Instruct": 25.27,
    "claude-2.1_concise": 18.21, "chatglm2-6b": 4.36,
}  # fmt: skip
"""`length_controlled_winrate` of AlpacaEval 2's leaderboard (weighted_alpaca_eval_gpt4_turbo) in its repository."""


def logistic(gap):
    return 1 / (1 + np.exp(-gap))


def draw(seed: int, *, items: int = 120, contestants: int = 4, hard: float = 0.8, effect: float = 1.2):
    """Shares won against a reference; stronger contestants write longer answers, and judges like length."""
    rng = np.random.default_rng(seed)
    worth = np.linspace(-0.8, 0.4, contestants)
    code, item = np.tile(np.arange(contestants), items), np.repeat(np.arange(items), contestants)
    difference = np.rint(400 * worth[code] + rng.normal(0, 500, len(code)))
    difficulty = rng.normal(0, hard, items)[item]
    deviation = np.array([difference[code == one].std(ddof=1) for one in range(contestants)])
    longer = np.tanh(difference / deviation[code])
    won = (rng.random(len(code)) < logistic(worth[code] + effect * longer + difficulty)) * 1.0
    return code, item, np.where(rng.random(len(code)) < 0.1, 0.5, won), difference, longer


def fitted(design, shares):
    """Coefficients by scikit-learn: a share counts as a win and a loss with weights."""
    twice, labels = np.concatenate([design, design]), np.repeat([1, 0], len(shares))
    weights = np.concatenate([shares, 1 - shares])
    fit = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=10_000)
    return fit.fit(twice, labels, sample_weight=weights).coef_[0]


def by_hand(code, item, shares, longer) -> np.ndarray:
    """The whole model with scikit-learn and loops: difficulty from the others' residuals, then the final fit."""
    size = code.max() + 1
    plain = np.column_stack([np.eye(size)[code], longer])
    chance = logistic(plain @ fitted(plain, shares))
    residual, weight = shares - chance, chance * (1 - chance)
    top = bottom = 0.0
    for one in np.unique(item):
        rows = np.flatnonzero(item == one)
        for a in rows:
            for b in rows:
                if code[a] != code[b]:
                    top += residual[a] * residual[b]
                    bottom += weight[a] * weight[b]
    difficulty = np.zeros(len(code))
    for row in range(len(code)):
        others = (item == item[row]) & (code != code[row])
        difficulty[row] = residual[others].sum() / (weight[others].sum() + bottom / top)
    coefficients = fitted(np.column_stack([plain, difficulty]), shares)
    equal = logistic(coefficients[code] + coefficients[-1] * difficulty)
    return np.array([equal[code == one].mean() for one in range(size)] + [coefficients[size]])


def test_rates_and_length_effect_are_those_of_a_logistic_regression():
    code, item, shares, difference, longer = draw(1)
    found = length_controlled_win_rates(code, item, shares, difference)
    assert found.has_difficulty
    values = [rate.value for rate in found.estimates] + [found.length_effect.value]
    assert values == pytest.approx(by_hand(code, item, shares, longer).tolist(), abs=1e-4)


def test_one_contestant_has_no_item_difficulty():
    code, item, shares, difference, longer = draw(2, contestants=1)
    found = length_controlled_win_rates(code, item, shares, difference)
    assert not found.has_difficulty
    coefficients = fitted(np.column_stack([np.ones(len(code)), longer]), shares)
    assert found.estimates[0].value == pytest.approx(logistic(coefficients[0]), abs=1e-5)


def test_the_standard_error_is_that_of_a_jackknife_over_items():
    code, item, shares, difference, longer = draw(3, items=60, contestants=3)
    found = length_controlled_win_rates(code, item, shares, difference)
    without = np.array([by_hand(*(part[item != one] for part in (code, item, shares, longer))) for one in range(60)])
    errors = ((without - without.mean(axis=0)) ** 2).sum(axis=0) ** 0.5 * (59 / 60) ** 0.5
    for rate, error in zip(found.estimates, errors, strict=False):
        odds = np.log(rate.high / (1 - rate.high)) - np.log(rate.value / (1 - rate.value))
        ours = odds / 2.001 * rate.value * (1 - rate.value)
        assert ours == pytest.approx(error, rel=0.12)


def test_what_cannot_be_estimated_is_said():
    with pytest.raises(Undefined, match="won or lost all"):
        length_controlled_win_rates([0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 0], [1, 2, 3, 4])
    with pytest.raises(Undefined, match="differs in length"):
        length_controlled_win_rates([0, 0, 0], [0, 1, 2], [1, 0, 1], [0, 0, 0])
    with pytest.raises(Undefined, match="length decides"):
        length_controlled_win_rates([0] * 6, range(6), [1, 0, 1, 0, 1, 0], [9, -9, 9, -9, 9, -9])
    undefeated = [1] * 6, [1, 0, 0, 1, 1, 0]
    found = length_controlled_win_rates(
        [0] * 6 + [1] * 6, [*range(6)] * 2, np.concatenate(undefeated), [1, 2, 3, 4, 5, 6, 3, -3, 2, 1, -1, 2]
    )
    assert [rate is None for rate in found.estimates] == [True, False]


@pytest.mark.skipif(not RELEASED.exists(), reason="the released annotations of AlpacaEval are not here")
def test_rates_of_released_annotations_are_near_those_that_alpaca_eval_published():
    rows = []
    with gzip.open(RELEASED, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if (
                row["annotator"] == "weighted_alpaca_eval_gpt4_turbo"
                and row["preference"]
                and row["model"] in PUBLISHED
            ):
                rows.append(row)
    models = sorted(PUBLISHED)
    found = length_controlled_win_rates(
        [models.index(row["model"]) for row in rows], [row["instruction"] for row in rows],
        [(float(row["preference"]) or 1.5) - 1 for row in rows],
        [float(row["chars_model"]) - float(row["chars_baseline"]) for row in rows],
    )  # fmt: skip
    rates = np.array([100 * rate.value for rate in found.estimates])
    published = np.array([PUBLISHED[model] for model in models])
    show(f"AlpacaEval, 12 models: {np.abs(rates - published).mean():.2f} points from the published rates")
    assert np.abs(rates - published).mean() < 2
    assert np.corrcoef(rates, published)[0, 1] > 0.99


def covered(runs: int, items: int, contestants: int, hard: float) -> float:
    truth = [
        rate.value
        for rate in length_controlled_win_rates(
            *draw(0, items=60_000, contestants=contestants, hard=hard)[:4]
        ).estimates
    ]
    hits = []
    for seed in range(1, runs + 1):
        found = length_controlled_win_rates(*draw(seed, items=items, contestants=contestants, hard=hard)[:4])
        hits += [rate.low <= right <= rate.high for rate, right in zip(found.estimates, truth, strict=True) if rate]
    return float(np.mean(hits))


def test_intervals_hold_in_a_few_runs():
    assert covered(30, 60, 3, 0.8) >= 0.85


@pytest.mark.slow
@pytest.mark.parametrize(("items", "contestants", "hard"), [(40, 3, 0.8), (100, 5, 0.8), (100, 2, 0.0), (400, 5, 1.5)])
def test_intervals_hold(items, contestants, hard):
    share = covered(300, items, contestants, hard)
    show(f"length-controlled: {items} items, {contestants} contestants, difficulty {hard}: {share:.3f} of 300 boards")
    # Rates of one board share their items, so the room is that of boards.
    assert share >= at_least(0.95, 300)
