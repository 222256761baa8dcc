"""Models of ties against a general optimiser on the textbook likelihoods."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fullbench.errors import Undefined
from fullbench.stats.ratings.bradley_terry import bradley_terry, rate_contestants
from fullbench.stats.ratings.match_counts import MatchCounts
from fullbench.stats.ratings.tie_models import expected_outcome, fit_tie_model


def played(seed=0, m=4, n=400, tie=0.7):
    """Battles drawn from Davidson's model, and the strengths they were drawn from."""
    rng = np.random.default_rng(seed)
    strengths = np.linspace(-0.8, 0.8, m)
    first = rng.integers(0, m, n)
    second = (first + rng.integers(1, m, n)) % m
    pi, pj = np.exp(strengths[first]), np.exp(strengths[second])
    weights = np.stack([pj, tie * np.sqrt(pi * pj), pi])
    edges = np.cumsum(weights / weights.sum(axis=0), axis=0)
    outcome = np.array([0.0, 0.5, 1.0])[(rng.random(n) > edges[:2]).sum(axis=0)]
    return first, second, outcome, strengths


def textbook(ties, first, second, outcome, m):
    """Strengths and tie parameter by minimising the negative log likelihood as it is printed in the papers."""

    def negative(x):
        pi, pj = np.exp(x[first]), np.exp(x[second])
        if ties == "davidson":
            nu = np.exp(x[m])
            total = pi + pj + nu * np.sqrt(pi * pj)
            win, draw, loss = pi / total, nu * np.sqrt(pi * pj) / total, pj / total
        else:
            theta = 1 + np.exp(x[m])
            win, loss = pi / (pi + theta * pj), pj / (pj + theta * pi)
            draw = (theta**2 - 1) * pi * pj / ((pi + theta * pj) * (pj + theta * pi))
        return -np.log(np.where(outcome == 1, win, np.where(outcome == 0, loss, draw))).sum() + x[:m].sum() ** 2

    found = minimize(negative, np.zeros(m + 1), method="BFGS", options={"gtol": 1e-8}).x
    tie = found[m] if ties == "davidson" else np.log1p(np.exp(found[m]))
    return found[:m] - found[:m].mean(), tie


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_the_fit_is_the_maximum_of_the_printed_likelihood(ties):
    first, second, outcome, _ = played()
    made = fit_tie_model(MatchCounts.from_rows(first, second, outcome), ties)
    strengths, tie = textbook(ties, first, second, outcome, 4)
    assert made.strengths == pytest.approx(strengths, abs=2e-5)
    assert made.tie == pytest.approx(tie, abs=2e-5)


@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
@pytest.mark.parametrize("interval", ["sandwich", "bootstrap"])
def test_both_intervals_have_about_one_width(ties, interval):
    first, second, outcome, _ = played(n=600)
    made = bradley_terry(first, second, outcome, ties=ties, interval=interval, resamples=200)
    other = bradley_terry(first, second, outcome, ties=ties, interval="sandwich")
    for one, two in zip(made.estimates, other.estimates, strict=True):
        assert one.value == two.value
        assert (one.high - one.low) / (two.high - two.low) == pytest.approx(1, abs=0.3)


def test_davidson_finds_the_strengths_it_was_drawn_from():
    first, second, outcome, truth = played(n=20_000)
    made = rate_contestants(
        MatchCounts.from_rows(first, second, outcome),
        ties="davidson",
        interval="sandwich",
        scale=1,
        base=np.e,
        centre=0,
    )
    assert [rating.value for rating in made.estimates] == pytest.approx(truth, abs=0.06)
    assert np.exp(made.tie) == pytest.approx(0.7, abs=0.05)


@pytest.mark.parametrize("ties", ["half", "davidson", "rao-kupper"])
def test_the_expected_outcomes_of_both_sides_add_up_to_one(ties):
    assert expected_outcome(0.9, ties, 0.4) + expected_outcome(-0.9, ties, 0.4) == pytest.approx(1)
    assert expected_outcome(3.0, ties, 0.4) > expected_outcome(1.0, ties, 0.4) > 0.5


def test_without_any_tie_the_models_say_so():
    with pytest.raises(Undefined, match="no tie was seen"):
        bradley_terry([0, 0, 1], [1, 1, 0], [1, 0, 1], ties="davidson")
