"""Intervals over items, beside independent libraries and plain re-computation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import statsmodels.api as sm
from statsmodels.stats.proportion import proportion_confint

from fullbench.errors import Undefined
from fullbench.stats.intervals.bootstrap_and_jackknife import Sample, jackknife_spread
from fullbench.stats.intervals.cluster_intervals import (
    NO_SPREAD,
    ONE_ITEM,
    Spread,
    cluster_mean,
    estimate_around,
    p_of_zero,
    unseen_share,
)
from fullbench.stats.intervals.statistics_for_bootstrap import weighted_mean


def sums(values, labels):
    parts = [values[labels == label] for label in np.unique(labels)]
    return np.array([part.sum() for part in parts]), np.array([float(len(part)) for part in parts])


def rows(seed, *, equal):
    draw = np.random.default_rng(seed)
    labels = np.repeat(np.arange(40), 12) if equal else draw.integers(0, 40, 480)
    return draw.normal(size=40)[labels] + draw.normal(size=480), labels


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_is_that_of_a_regression_with_clusters_of_one_size(seed):
    values, labels = rows(seed, equal=True)
    found = cluster_mean(*sums(values, labels))
    fitted = sm.OLS(values, np.ones(480)).fit(cov_type="cluster", cov_kwds={"groups": labels}, use_t=True)
    assert found.value == pytest.approx(fitted.params[0])
    assert (found.low, found.high) == pytest.approx(tuple(fitted.conf_int()[0]))
    assert (found.n, found.units) == (480, 40)


@pytest.mark.parametrize("seed", range(3))
def test_items_of_unequal_sizes_are_left_out_one_by_one(seed):
    """The variance of the jackknife, computed anew; the general one, for any statistic, agrees."""
    values, labels = rows(seed, equal=False)
    whole = values.mean()
    left = np.array([values[labels != label].mean() for label in range(40)])
    error = np.sqrt(39 / 40 * ((left - whole) ** 2).sum())
    found = cluster_mean(*sums(values, labels))
    reach = scipy.stats.t.ppf(0.975, 39)
    assert (found.low, found.high) == pytest.approx((whole - reach * error, whole + reach * error))
    general = jackknife_spread(Sample.from_columns(values, cluster=labels), weighted_mean)
    assert general.variance**0.5 == pytest.approx(error)


def test_on_a_scale_the_interval_is_wilsons_with_students_quantile():
    hits = np.array([1.0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0])
    found = cluster_mean(hits, np.ones(12), within=(0, 1))
    # Rows that are items of their own: the number of draws is n - 1, by the factor for few items.
    reach = scipy.stats.t.ppf(0.975, 11)
    level = 2 * scipy.stats.norm.sf(reach)
    low, high = proportion_confint(0.75 * 11, 11, alpha=level, method="wilson")
    assert (found.low, found.high) == pytest.approx((low, high))
    stretched = cluster_mean(1 + 4 * hits, np.ones(12), within=(1, 5))
    assert (stretched.low, stretched.high) == pytest.approx((1 + 4 * low, 1 + 4 * high))


def test_one_odd_item_leaves_few_degrees_of_freedom():
    alike, odd = np.tile([1.0, -1.0], 10), np.append(np.zeros(19), 1.0)
    assert Spread.from_moves(alike).freedom == 19
    assert Spread.from_moves(odd).freedom == pytest.approx(2)


@pytest.mark.parametrize("items", [5, 8, 12, 20, 1000])
def test_perfect_marks_have_a_bound_and_not_a_point(items):
    found = cluster_mean(np.full(items, 15.0), np.full(items, 3.0), within=(1, 5))
    exact = proportion_confint(items, items, alpha=0.1, method="beta")[0]
    assert (found.value, found.high, found.one_sided, found.units) == (5.0, 5.0, True, items)
    assert found.low == pytest.approx(1 + 4 * exact)
    assert unseen_share(items) == pytest.approx(1 - exact)


def test_the_same_mark_everywhere_is_bounded_on_both_sides_or_says_why_not():
    found = cluster_mean(np.full(8, 9.0), np.full(8, 3.0), within=(1, 5))
    assert found.low < 3 < found.high
    assert not found.one_sided
    bare = cluster_mean(np.full(8, 9.0), np.full(8, 3.0))
    assert (bare.low, bare.high, bare.why, bare.units) == (3, 3, NO_SPREAD, 8)


@pytest.mark.parametrize("within", [None, (-1.0, 1.0)])
def test_the_p_value_of_zero_agrees_with_the_interval(within):
    draw = np.random.default_rng(7)
    for _ in range(200):
        values = np.clip(draw.normal(0.15, 0.4, 9), -1, 1)
        spread = Spread.from_moves((values - values.mean()) / 8)
        found = estimate_around(values.mean(), 9, spread, within=within)
        assert (p_of_zero(values.mean(), spread, within) < 0.05) == (not found.low <= 0 <= found.high)


def test_the_p_value_without_a_scale_is_students():
    values = np.random.default_rng(3).normal(0.3, 1, 14)
    spread = Spread.from_moves((values - values.mean()) / 13)
    assert p_of_zero(values.mean(), spread) == pytest.approx(scipy.stats.ttest_1samp(values, 0).pvalue)


def test_one_cluster_has_no_interval_and_nothing_no_mean():
    alone = cluster_mean(np.array([3.0]), np.array([2.0]))
    assert (alone.value, alone.low, alone.high, alone.why, alone.n, alone.units) == (1.5, 1.5, 1.5, ONE_ITEM, 2, 1)
    with pytest.raises(Undefined, match="no row was counted"):
        cluster_mean(np.zeros(0), np.zeros(0))
