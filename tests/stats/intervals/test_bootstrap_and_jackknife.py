"""Intervals: they cover what they promise, do not depend on the order of rows, and know clusters."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from fullbench.core.estimate import Estimate
from fullbench.errors import Undefined
from fullbench.stats.agreement.two_raters import absolute_error, pearson_correlation
from fullbench.stats.intervals import statistics_for_bootstrap
from fullbench.stats.intervals.bootstrap_and_jackknife import Sample, bootstrap
from fullbench.stats.intervals.cluster_intervals import ONE_ITEM
from fullbench.stats.intervals.share_intervals import wilson_interval


def likert(n: int, seed: int = 1):
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, n)
    return np.clip(truth + rng.integers(-1, 2, n), 1, 5), truth


def test_percentiles_agree_with_scipy_within_resampling_noise():
    x, y = likert(200)
    ours = bootstrap(statistics_for_bootstrap.weighted_pearson, x, y, resamples=9999, method="percentile")
    theirs = scipy.stats.bootstrap(
        (x, y), lambda a, b, axis: scipy.stats.pearsonr(a, b, axis=axis).statistic, paired=True,
        method="percentile", rng=3, n_resamples=9999, vectorized=True, batch=500,
    ).confidence_interval  # fmt: skip
    assert ours.low == pytest.approx(theirs.low, abs=0.005)
    assert ours.high == pytest.approx(theirs.high, abs=0.005)


def test_intervals_of_a_mean_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(5)
    hits = 0
    for trial in range(400):
        marks = rng.binomial(4, 0.3, 80) + 1
        found = bootstrap(statistics_for_bootstrap.weighted_mean, marks, resamples=400, seed=trial, method="percentile")
        hits += found.low <= 1 + 4 * 0.3 <= found.high
    assert 0.91 <= hits / 400 <= 0.985


def test_clusters_make_intervals_honest_where_rows_repeat_an_item():
    rng = np.random.default_rng(6)
    alone = together = 0
    for trial in range(300):
        effect = rng.normal(0, 1, 40)
        item = np.repeat(np.arange(40), 8)
        marks = effect[item] + rng.normal(0, 0.3, 320)
        by_row = bootstrap(statistics_for_bootstrap.weighted_mean, marks, resamples=300, seed=trial)
        by_item = bootstrap(statistics_for_bootstrap.weighted_mean, marks, cluster=item, resamples=300, seed=trial)
        alone += by_row.low <= 0 <= by_row.high
        together += by_item.low <= 0 <= by_item.high
    assert alone / 300 < 0.75
    assert together / 300 > 0.9


def test_clusters_of_one_row_are_no_clusters():
    x, y = likert(90)
    assert pearson_correlation(x, y, cluster=np.arange(90)) == pearson_correlation(x, y)


def test_a_resample_of_clusters_holds_whole_clusters():
    sample = Sample.from_columns([1, 2, 3, 4, 5, 6], cluster=["a", "a", "b", "b", "c", "c"])
    weights = sample.draw(np.random.default_rng(0), 50)
    assert (weights[:, 0::2] == weights[:, 1::2]).all()
    assert (weights.sum(axis=1) == 6).all()


@given(st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_order_of_rows_and_names_of_clusters_do_not_matter(random):
    x, y = likert(60)
    item = np.arange(60) % 13
    order = list(range(60))
    random.shuffle(order)
    assert pearson_correlation(x[order], y[order]).value == pytest.approx(pearson_correlation(x, y).value, abs=1e-12)
    renamed = np.array([f"item {value:02d}" for value in item])
    one, two = pearson_correlation(x, y, cluster=item), pearson_correlation(x[order], y[order], cluster=renamed[order])
    assert (one.low, one.high) == pytest.approx((two.low, two.high), abs=1e-12)


def test_a_seed_gives_the_same_interval_again_and_another_seed_another():
    x, y = likert(100)
    assert pearson_correlation(x, y, seed=4) == pearson_correlation(x, y, seed=4)
    assert pearson_correlation(x, y, seed=4).low != pearson_correlation(x, y, seed=5).low


def test_many_distinct_values_are_drawn_right():
    x = np.random.default_rng(2).normal(size=500)
    found = bootstrap(statistics_for_bootstrap.weighted_mean, x, resamples=4000)
    half = 1.96 * x.std() / 500**0.5
    assert found.high - found.low == pytest.approx(2 * half, rel=0.06)


@pytest.mark.parametrize("cluster", [None, np.arange(120_000) // 2])
def test_many_rows_have_the_interval_that_theory_gives(cluster):
    x = np.random.default_rng(2).binomial(4, 0.4, 120_000)
    found = bootstrap(statistics_for_bootstrap.weighted_mean, x, cluster=cluster, resamples=2000)
    assert found.high - found.low == pytest.approx(2 * 1.96 * x.std() / 120_000**0.5, rel=0.08)


@pytest.mark.parametrize(
    ("x", "y"), [([], []), ([1, 1, 1], [1, 2, 3]), ([1, 2], [1, 2]), ([1, 1, 1, 1, 1, 2], [1, 1, 1, 1, 1, 2])]
)
def test_what_cannot_be_computed_says_so(x, y):
    with pytest.raises(Undefined):
        pearson_correlation(x, y)


def test_one_cluster_gives_the_value_without_interval():
    alone = absolute_error([1, 2, 3], [2, 2, 2], cluster=["a", "a", "a"])
    assert (alone.value, alone.why, alone.n, alone.units) == (pytest.approx(2 / 3), ONE_ITEM, 3, 1)
    tested = bootstrap(statistics_for_bootstrap.weighted_mean, [1.0, 2.0], cluster=["a", "a"], zero=True)
    assert (tested.why, tested.p) == (ONE_ITEM, 1.0)


def test_nan_is_refused_at_the_door_and_never_leaves():
    with pytest.raises(ValueError, match="not finite"):
        pearson_correlation([1, float("nan"), 3], [1, 2, 3])
    with pytest.raises(Undefined):
        Estimate(float("nan"), 0, 1, 3)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="found 3, 2"):
        pearson_correlation([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="one label a row"):
        absolute_error([1, 2, 3], [1, 2, 3], cluster=["a"])


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_statsmodels(pair):
    hits, n = pair
    found = wilson_interval(hits, n)
    assert (found.low, found.high) == pytest.approx(proportion_confint(hits, n, method="wilson"), abs=1e-12)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_no_share_of_nothing():
    with pytest.raises(Undefined):
        wilson_interval(0, 0)
    with pytest.raises(ValueError, match="3 of 2"):
        wilson_interval(3, 2)
