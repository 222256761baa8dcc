from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr

from fullbench.errors import Undefined
from fullbench.stats.intervals import statistics_for_bootstrap
from fullbench.stats.intervals.bootstrap_and_jackknife import mean_of_groups


def test_it_is_the_mean_of_the_groups_own_figures():
    rng = np.random.default_rng(3)
    group = np.repeat(list("abc"), (40, 200, 90))
    x = rng.normal(size=len(group))
    y = x * np.repeat([1.0, 0.2, -0.5], (40, 200, 90)) + rng.normal(size=len(group))
    found = mean_of_groups(statistics_for_bootstrap.weighted_pearson, group, x, y)
    each = [pearsonr(x[group == name], y[group == name]).statistic for name in "abc"]
    assert found.value == pytest.approx(np.mean(each))
    assert found.low < found.value < found.high
    assert found.n == 330


def test_a_group_without_the_figure_is_left_out():
    found = mean_of_groups(
        statistics_for_bootstrap.weighted_pearson, list("aaaabbbb"), [1, 2, 3, 4, 7, 7, 7, 7], [1, 2, 3, 5, 1, 2, 3, 4]
    )
    assert found.method.startswith("mean of 1 groups")
    assert found.n == 4


def test_a_group_of_one_cluster_is_left_out():
    found = mean_of_groups(statistics_for_bootstrap.weighted_mean, list("aabb"), [0, 1, 9, 9], cluster=list("xyzz"))
    assert (found.value, found.n) == (0.5, 2)


def test_nothing_left_is_no_figure():
    with pytest.raises(Undefined, match="none of 1 group defines"):
        mean_of_groups(statistics_for_bootstrap.weighted_pearson, list("aaa"), [1, 1, 1], [1, 2, 3])


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(8)
    group = np.repeat(np.arange(4), 50)
    hits = 0
    for seed in range(100):
        values = rng.normal(size=200) + group
        found = mean_of_groups(statistics_for_bootstrap.weighted_mean, group, values, resamples=300, seed=seed)
        hits += found.low <= 1.5 <= found.high
    assert 87 <= hits <= 100
