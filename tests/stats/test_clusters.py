"""Means from sums by cluster, beside an independent library."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from fullbench.errors import Undefined
from fullbench.stats.bootstrap import bootstrap
from fullbench.stats.clusters import PoissonBootstrap, cluster_mean, cluster_share
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


def passed_by(values, labels, block, **rest):
    made = PoissonBootstrap(**rest)
    parts = [values[labels == label] for label in np.unique(labels)]
    for start in range(0, len(parts), block):
        some = parts[start : start + block]
        made.add([part.sum() for part in some], [len(part) for part in some])
    return made


@pytest.mark.parametrize("seed", range(3))
def test_resampling_in_one_pass_is_resampling(seed):
    """Beside the bootstrap that has all rows in memory, on clusters of very different sizes."""
    draw = np.random.default_rng(seed)
    labels = (60 * draw.random(1500) ** 2).astype(int)
    values = draw.normal(size=60)[labels] + draw.exponential(size=1500)
    found = passed_by(values, labels, 7, resamples=4000, seed=seed).mean()
    known = bootstrap(mean, values, cluster=labels, resamples=4000, seed=seed)
    width = known.high - known.low
    assert (found.value, found.n) == (pytest.approx(known.value), known.n)
    assert (found.low, found.high) == (
        pytest.approx(known.low, abs=0.08 * width), pytest.approx(known.high, abs=0.08 * width)
    )  # fmt: skip


def test_blocks_do_not_change_what_was_drawn_and_a_seed_draws_it_again():
    draw = np.random.default_rng(5)
    labels, values = draw.integers(0, 30, 200), draw.normal(size=200)
    one, two, other = (passed_by(values, labels, block, seed=seed).mean() for block, seed in ((3, 1), (30, 1), (3, 2)))
    assert (one.low, one.high) == pytest.approx((two.low, two.high))
    assert one.low != other.low


def test_a_resampled_share_where_all_hit_is_wilsons():
    made = PoissonBootstrap()
    made.add([2, 1, 3], [2, 1, 3])
    assert made.share() == cluster_share(6, 6, 3, 0.0)
    alone = PoissonBootstrap()
    alone.add([1], [2])
    with pytest.raises(Undefined, match="two clusters"):
        alone.share()


def test_one_cluster_has_no_interval_and_nothing_no_mean():
    with pytest.raises(Undefined, match="two of them"):
        cluster_mean(3.0, 2, 1, 0.0)
    with pytest.raises(Undefined, match="nothing"):
        cluster_mean(0.0, 0, 0, 0.0)


def test_a_share_stays_between_0_and_1():
    found = cluster_share(9.5, 10, 5, 2.0)
    assert (found.value, found.high) == (0.95, 1.0)
