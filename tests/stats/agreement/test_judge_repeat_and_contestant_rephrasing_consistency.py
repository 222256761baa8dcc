"""The alignment score: against the definition, numpy and the bootstrap of an independent library."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fullbench.errors import Undefined
from fullbench.stats.agreement.judge_repeat_and_contestant_rephrasing_consistency import (
    alignment_score,
    spreads_by_seed,
)

SEEDS = st.lists(st.lists(st.integers(1, 10), min_size=1, max_size=6), min_size=2, max_size=12)


def rows(marks):
    return [place for place, found in enumerate(marks) for _ in found], [mark for found in marks for mark in found]


@given(SEEDS)
def test_it_is_the_definition(marks):
    seed, values = rows(marks)
    several = [np.std(found) for found in marks if len(found) > 1]
    if len(several) < 2:
        return
    found = alignment_score(seed, values, resamples=50)
    expected = math.inf if sum(several) == 0 else len(several) / sum(several)
    assert found.value == pytest.approx(expected)
    assert (found.seeds, found.left_out, found.as_zero) == (len(several), len(marks) - len(several), 0)
    assert found.steady == sum(spread == 0 for spread in several)
    literal = alignment_score(seed, values, one_variant="zero", resamples=50)
    assert literal.value == pytest.approx(math.inf if sum(several) == 0 else len(marks) / sum(several))
    assert literal.value >= found.value or math.isclose(literal.value, found.value)
    assert (literal.left_out, literal.as_zero) == (0, found.left_out)


@given(SEEDS, st.randoms())
def test_it_does_not_depend_on_the_order_of_rows(marks, random):
    seed, values = rows(marks)
    places = list(range(len(seed)))
    random.shuffle(places)
    _, spread, variants = spreads_by_seed([seed[i] for i in places], [values[i] for i in places])
    assert np.allclose(spread, spreads_by_seed(seed, values)[1])
    assert variants.tolist() == [len(found) for found in marks]


def test_the_interval_is_that_of_the_mean_spread_turned_over():
    rng = np.random.default_rng(3)
    marks = rng.integers(1, 11, size=(150, 6))
    found = alignment_score(np.repeat(np.arange(150), 6), marks.ravel(), resamples=4000)
    estimate = found.estimate
    theirs = stats.bootstrap(
        (marks.std(axis=1),), lambda x, axis: 1 / x.mean(axis=axis), n_resamples=4000, method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    assert estimate.value == pytest.approx(1 / marks.std(axis=1).mean())
    assert estimate.low == pytest.approx(theirs.low, abs=0.004)
    assert estimate.high == pytest.approx(theirs.high, abs=0.004)
    assert estimate.n == 150


def test_an_infinite_score_is_said_and_never_a_number():
    found = alignment_score(["a", "a", "b", "b"], [7, 7, 3, 3])
    assert found.value == math.inf
    with pytest.raises(Undefined, match="infinite"):
        _ = found.estimate


def test_an_open_end_is_said():
    found = alignment_score(["a", "a", "b", "b"], [7, 7, 3, 5])
    assert found.value == 2.0
    with pytest.raises(Undefined, match="no upper end"):
        _ = found.estimate


def test_what_cannot_be_had():
    with pytest.raises(Undefined, match="no seed has two variants"):
        alignment_score(["a", "b"], [1, 2])
    with pytest.raises(ValueError, match="left out"):
        alignment_score(["a", "a"], [1, 2], one_variant="dropped")
    with pytest.raises(ValueError, match="one length"):
        alignment_score(["a"], [1, 2])
