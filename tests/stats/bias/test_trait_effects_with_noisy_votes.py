"""Judges without a bias are not accused of one, whatever people's errors and whatever goes with quality.

The settings are those of the audit that found 36 to 100 % of clean judges accused.
"""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from fullbench.errors import Undefined
from fullbench.stats.bias.trait_effects_with_noisy_votes import (
    BOUNDS,
    KNOWN_ERROR,
    Votes,
    estimate_effects,
    fit_latent_scale,
)
from fullbench.stats.paired_comparison_and_test_corrections import benjamini_hochberg

ASKED = ("words", "own", "shift")
CLEAN = {
    "nothing goes with anything": {"related": 0.0},
    "long answers are better": {"related": 0.4},
    "long answers are much better": {"related": 0.7},
    "noisier than people, own family the worst": {"noise": 1.5, "best": 0},
    "uses half of the scale, own family the best": {"scale": 0.5, "best": 4},
    "good answers, noisy judge": {"middle": 4.0, "noise": 1.5},
}


def marked(draw, items, *, raters=3, related=0.4, noise=0.8, scale=1.0, best=0, middle=3.0, loves=0.0, favours=0.0):
    """Marks from 1 to 5 of a judge, and of people who err as well, on five answers an item."""
    skill = np.linspace(-0.5, 0.5, 5)
    worth = middle + 0.6 * draw.standard_normal((items, 1)) + skill + 0.6 * draw.standard_normal((items, 5))
    own = np.tile(np.arange(5) == best, (items, 1)).astype(float)
    spread = np.sqrt(0.72 + skill.var())
    words = related * (worth - middle) / spread + np.sqrt(1 - related**2) * draw.standard_normal((items, 5))
    judge = middle + scale * (worth - middle) + noise * draw.standard_normal((items, 5)) + loves * words + favours * own
    votes = worth[..., None] + 0.8 * draw.standard_normal((items, 5, raters))
    judge, votes = (np.clip(np.rint(part), 1, 5) for part in (judge, votes))
    people = Votes.from_rows(np.repeat(np.arange(5 * items), raters), votes.ravel())
    item = np.repeat(np.arange(items), 5)
    return judge.ravel(), people, {"words": words.ravel(), "own": own.ravel()}, item


def accused(runs, items, seed=1, **setting):
    """How often anything is claimed of a judge, after the correction within its card; and each thing on its own."""
    draw = np.random.default_rng(seed)
    claims = []
    for _ in range(runs):
        try:
            found = estimate_effects(*marked(draw, items, **setting), scale=(1, 5))
        except Undefined:
            claims.append((False,) * len(ASKED))
            continue
        claims.append(benjamini_hochberg([found[name].p for name in ASKED]).is_significant)
    return np.mean([any(claim) for claim in claims]), dict(zip(ASKED, np.mean(claims, axis=0), strict=True))


@pytest.mark.parametrize("raters", [1, 3])
@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_judge_is_not_accused(name, raters):
    assert accused(60, 60, raters=raters, **CLEAN[name])[0] <= 0.05 + 2 * (0.05 * 0.95 / 60) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("items", [20, 60, 300])
@pytest.mark.parametrize("raters", [1, 2, 3, 5])
@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_judge_is_not_accused_in_full(name, raters, items):
    runs = 400
    assert accused(runs, items, raters=raters, **CLEAN[name])[0] <= 0.05 + 2 * (0.05 * 0.95 / runs) ** 0.5


def test_what_is_planted_is_found_where_people_voted_several_times():
    assert accused(20, 100, loves=0.35)[1]["words"] >= 0.9
    assert accused(20, 150, favours=0.6)[1]["own"] >= 0.9


def test_votes_without_error_are_a_plain_regression():
    draw = np.random.default_rng(2)
    marks, _, traits, item = marked(draw, 80)
    people = Votes.from_rows(np.arange(400), draw.integers(1, 6, 400).astype(float) + marks / 2)
    found = estimate_effects(marks, people, traits, item)
    design = sm.add_constant(np.column_stack([people.mean, *traits.values()]))
    fitted = sm.OLS(marks, design).fit()
    assert found["words"].way == BOUNDS
    names = {"constant": 0, "scale": 1, "words": 2, "own": 3}
    for name, place in names.items():
        assert found[name].estimate.value == pytest.approx(fitted.params[place])
    # At the other end: the regression of people on the judge, turned round.
    turned = sm.OLS(people.mean, sm.add_constant(np.column_stack([marks, *traits.values()]))).fit().params
    assert found["scale"].other_bound.value == pytest.approx(1 / turned[1])
    assert found["words"].other_bound.value == pytest.approx(-turned[2] / turned[1])


def test_the_intervals_of_known_errors_cover_the_planted_effect():
    draw = np.random.default_rng(3)
    hits = []
    for _ in range(150):
        worth = draw.standard_normal(300)
        words = 0.5 * worth + draw.standard_normal(300)
        vote = np.repeat(worth, 2) + 0.8 * draw.standard_normal(600)
        people = Votes.from_rows(np.repeat(np.arange(300), 2), vote)
        judge = 0.2 + 0.7 * worth + 0.25 * words + 0.6 * draw.standard_normal(300)
        found = estimate_effects(judge, people, {"words": words}, np.arange(300) // 5)
        assert found["words"].way == KNOWN_ERROR
        hits.append([found["words"].estimate.low <= 0.25 <= found["words"].estimate.high,
                     found["scale"].estimate.low <= 0.7 <= found["scale"].estimate.high])  # fmt: skip
    assert np.mean(hits, axis=0).min() >= 0.92 - 2 * (0.92 * 0.08 / 150) ** 0.5


def test_a_lenient_rater_is_no_noise():
    """Raters that differ by a constant, all on all responses, leave no error once that is taken out."""
    worth = np.random.default_rng(4).standard_normal(50)
    response, rater = np.repeat(np.arange(50), 3), np.tile(np.arange(3), 50)
    vote = worth[response] + np.array([-1.0, 0.0, 1.0])[rater]
    assert Votes.from_rows(response, vote, rater).squares.sum() == pytest.approx(0, abs=1e-12)
    assert Votes.from_rows(response, vote).squares.sum() == pytest.approx(100)


def test_marks_as_felt_know_nothing_of_the_end_of_the_scale():
    """Beside an optimiser on the likelihood of grouped data, written out."""
    from scipy.optimize import minimize
    from scipy.stats import norm

    draw = np.random.default_rng(5)
    marks = np.clip(np.rint(draw.normal(4.4, 1.2, 800)), 1, 5)
    found = fit_latent_scale(marks, np.arange(800) // 4, 200, (1, 5))

    def against(point):
        low = np.where(marks == 1, -np.inf, marks - 0.5)
        high = np.where(marks == 5, np.inf, marks + 0.5)
        return -np.log(norm.cdf(high, point[0], np.exp(point[1])) - norm.cdf(low, point[0], np.exp(point[1]))).sum()

    best = minimize(against, [4.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-8}).x
    assert (found.centre, found.spread) == pytest.approx((best[0], np.exp(best[1])), abs=1e-4)
    assert found.centre == pytest.approx(4.4, abs=0.15)
    with pytest.raises(Undefined, match="three different marks"):
        fit_latent_scale(np.array([1.0, 2.0, 1.0]), np.arange(3), 3, (1, 5))


def test_people_who_do_not_agree_at_all_leave_nothing_to_tell():
    draw = np.random.default_rng(6)
    first = draw.integers(1, 6, 200).astype(float)
    people = Votes.from_rows(np.tile(np.arange(200), 2), np.concatenate([first, draw.permutation(6 - first)]))
    with pytest.raises(Undefined, match="agree too little"):
        estimate_effects(draw.integers(1, 6, 200).astype(float), people, {}, np.arange(200) // 4)
