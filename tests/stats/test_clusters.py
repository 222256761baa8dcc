"""Means from sums by cluster, beside an independent library."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from fullbench.stats.bootstrap import bootstrap
from fullbench.stats.clusters import cluster_mean, cluster_share
from fullbench.stats.estimates import Undefined
from fullbench.stats.weighted import mean


def sums(values, labels):
    centre = values.mean()
    parts = [values[labels == label] for label in np.unique(labels)]
    squares = sum((part.sum() - centre * len(part)) ** 2 for part in parts)
    return float(values.sum()), len(values), len(parts), float(squares)


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_is_that_of_a_regression_with_clusters(seed):
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 40, 500)
    values = draw.normal(size=40)[labels] + draw.normal(size=500)
    found = cluster_mean(*sums(values, labels))
    fitted = sm.OLS(values, np.ones(500)).fit(cov_type="cluster", cov_kwds={"groups": labels}, use_t=True)
    assert found.value == pytest.approx(fitted.params[0])
    assert (found.low, found.high) == pytest.approx(tuple(fitted.conf_int()[0]))
    resampled = bootstrap(mean, values, cluster=labels)
    assert found.high - found.low == pytest.approx(resampled.high - resampled.low, rel=0.2)


def test_one_cluster_has_no_interval_and_nothing_no_mean():
    with pytest.raises(Undefined, match="two of them"):
        cluster_mean(3.0, 2, 1, 0.0)
    with pytest.raises(Undefined, match="nothing"):
        cluster_mean(0.0, 0, 0, 0.0)


def test_a_share_stays_between_0_and_1():
    found = cluster_share(9.5, 10, 5, 2.0)
    assert (found.value, found.high) == (0.95, 1.0)
