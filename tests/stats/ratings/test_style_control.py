"""Style control against statsmodels' logistic regression."""

import numpy as np
import pytest
import statsmodels.api as sm

from fullbench.errors import Undefined
from fullbench.stats.ratings.bradley_terry import bradley_terry
from fullbench.stats.ratings.style_control import rate_with_style_control, relative_lead


@pytest.fixture(scope="module")
def drawn():
    rng = np.random.default_rng(3)
    m, n = 5, 3000
    strengths = np.linspace(-0.6, 0.6, m)
    first = rng.integers(0, m, n)
    second = (first + rng.integers(1, m, n)) % m
    length = rng.normal(0, 1, n) - 0.5 * (strengths[first] - strengths[second])
    lists = rng.normal(0, 1, n)
    chance = 1 / (1 + np.exp(strengths[second] - strengths[first] - 0.8 * length + 0.3 * lists))
    return first, second, (rng.random(n) < chance).astype(float), length, lists, strengths


def log_strengths(made):
    return [(rating.value - 1000) * np.log(10) / 400 for rating in made.estimates]


def test_strengths_effects_and_errors_are_those_of_a_logistic_regression(drawn):
    first, second, outcome, length, lists, _ = drawn
    made = rate_with_style_control(first, second, outcome, [length, lists])
    design = np.zeros((len(first), 5))
    rows = np.arange(len(first))
    design[rows, first] += 1
    design[rows, second] -= 1
    fitted = sm.Logit(outcome, np.column_stack([design[:, 1:], length, lists])).fit(disp=0, cov_type="HC0")
    strengths = np.concatenate([[0.0], fitted.params[:4]])
    assert log_strengths(made) == pytest.approx(strengths - strengths.mean(), abs=1e-6)
    assert [effect.value for effect in made.effects] == pytest.approx(fitted.params[4:], abs=1e-6)
    errors = [(effect.high - effect.low) / 2 / 1.959964 for effect in made.effects]
    assert errors == pytest.approx(fitted.bse[4:], rel=2e-3)  # ours allow for few items: here, 3,000


def test_style_control_finds_what_plain_ratings_miss(drawn):
    first, second, outcome, length, lists, truth = drawn
    plain = bradley_terry(first, second, outcome, interval="sandwich", scale=1, base=np.e, centre=0)
    made = rate_with_style_control(first, second, outcome, [length, lists])
    off = [abs(rating.value - true) for rating, true in zip(plain.estimates, truth, strict=True)]
    left = [abs(value - true) for value, true in zip(log_strengths(made), truth, strict=True)]
    assert max(left) < 0.15 < max(off)


def test_clusters_of_copies_widen_the_intervals(drawn):
    first, second, outcome, length, _, _ = (np.repeat(part, 4) if len(part) > 5 else part for part in drawn)
    single = rate_with_style_control(first, second, outcome, [length])
    grouped = rate_with_style_control(first, second, outcome, [length], cluster=np.repeat(np.arange(3000), 4))
    wide = (grouped.effects[0].high - grouped.effects[0].low) / (single.effects[0].high - single.effects[0].low)
    assert wide == pytest.approx(2, rel=1e-3)


def test_the_lead_is_a_share_in_standard_deviations():
    assert relative_lead([1, 0, 3], [1, 0, 1]).std() == pytest.approx(1)
    assert relative_lead([5, 5], [5, 5]).tolist() == [0, 0]


def test_a_covariate_that_tells_nothing_is_refused():
    with pytest.raises(Undefined, match="does not vary"):
        rate_with_style_control([0, 1], [1, 0], [1, 1], [[2, 2]])
    with pytest.raises(Undefined, match="style decides"):
        rate_with_style_control([0, 0, 1, 1], [1, 1, 0, 0], [1, 0, 1, 0], [[1, -1, 1, -1]])
    with pytest.raises(Undefined, match="2 items are too few for 1 effects"):
        rate_with_style_control([0, 1, 0, 1], [1, 0, 1, 0], [1, 1, 0, 0.5], [[1, -2, 2, 1]], cluster=[0, 0, 1, 1])
    with pytest.raises(Undefined, match="2 groups"):
        rate_with_style_control([0, 0], [1, 1], [1, 1], [[1, 2]])
