"""Corrected means beside two libraries of other people: truescore, and ppi-python where it is installed.

ppi-python, the estimator's authors' own, brings a compiler with it (numba) and is therefore not among the packages that
the suite installs: `pip install ppi-python`, and its test runs as well.
"""

from __future__ import annotations

import numpy as np
import pytest
import truescore

from fullbench.stats.people.prediction_powered import corrected_mean
from fullbench.stats.ratings.corrected_ratings import corrected_ratings

VOTED, ROWS = 400, 4_000


def world(seed, *, marks=False):
    """What people would say of all rows, and a judge that is the worse the higher the seed."""
    draw = np.random.default_rng(seed)
    worth = draw.normal(size=ROWS) + np.repeat(draw.normal(size=ROWS // 4), 4) * 0.5
    people = worth + 0.7 * draw.normal(size=ROWS)
    judge = worth + 0.3 + (0.3 + 0.4 * seed) * draw.normal(size=ROWS)
    if marks:
        return np.clip(np.rint(3 + people), 1, 5), np.clip(np.rint(3.3 + judge), 1, 5)
    return (people > 0.2).astype(float), (judge > 0.2).astype(float)


def ours(people, judge, cluster=None):
    voted = np.where(np.arange(ROWS) < VOTED, people, np.nan)
    return corrected_mean(voted, judge, cluster=cluster).corrected_estimate


def agrees(estimate, value, low, high, room):
    """Both take the freedom of few rows into account in their own way, so that ends differ a little."""
    width = high - low
    assert estimate.value == pytest.approx(value, abs=room * width)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=room * width)


@pytest.mark.parametrize("marks", [False, True], ids=["choices", "marks"])
@pytest.mark.parametrize("seed", range(5))
def test_corrected_means_are_those_of_truescore(seed, marks):
    people, judge = world(seed, marks=marks)
    theirs = truescore.ppi_estimate(judge, people[:VOTED], np.arange(VOTED))
    agrees(ours(people, judge), theirs.point, theirs.low, theirs.high, 0.02)


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_one_item_are_kept_together_as_by_truescore(seed):
    people, judge = world(seed, marks=True)
    items = np.arange(ROWS) // 4
    theirs = truescore.ppi_estimate(judge, people[:VOTED], np.arange(VOTED), clusters=items)
    agrees(ours(people, judge, items), theirs.point, theirs.low, theirs.high, 0.05)


@pytest.mark.parametrize("marks", [False, True], ids=["choices", "marks"])
@pytest.mark.parametrize("seed", range(5))
def test_corrected_means_are_those_of_the_estimators_authors(seed, marks):
    library = pytest.importorskip("ppi_py", reason="ppi-python is not installed: pip install ppi-python")
    people, judge = world(seed, marks=marks)
    parts = (people[:VOTED], judge[:VOTED], judge[VOTED:])
    (value,), ((low,), (high,)) = library.ppi_mean_pointestimate(*parts), library.ppi_mean_ci(*parts, alpha=0.05)
    agrees(ours(people, judge), value, low, high, 0.02)


@pytest.mark.parametrize("seed", range(4))
def test_corrected_ratings_are_near_those_of_the_estimators_authors(seed):
    """Theirs is a logistic regression with one weight of the judge for all contestants; ours has one for each."""
    library = pytest.importorskip("ppi_py", reason="ppi-python is not installed: pip install ppi-python")
    draw = np.random.default_rng(seed)
    strength, flattered = np.array([0.6, 0.2, -0.1, -0.7]), np.array([0.0, 0.0, 0.8, 0.0])
    first = draw.integers(0, 4, ROWS)
    second = (first + draw.integers(1, 4, ROWS)) % 4
    gap, shared = strength[first] - strength[second], draw.logistic(size=ROWS)
    people = (gap + shared > 0).astype(float)
    leaning = gap + flattered[first] - flattered[second]
    judge = (leaning + 0.8 * shared + 0.5 * draw.logistic(size=ROWS) > 0).astype(float)
    found = corrected_ratings(first, second, np.where(np.arange(ROWS) < VOTED, people, np.nan), judge)
    variance, last = np.diag(found.covariance), found.covariance[-1]
    errors = np.sqrt(variance + variance[-1] - 2 * last)[:-1]
    played = (np.eye(4)[first] - np.eye(4)[second])[:, :-1]
    parts = (played[:VOTED], people[:VOTED], judge[:VOTED], played[VOTED:], judge[VOTED:])
    theirs = library.ppi_logistic_pointestimate(*parts)
    low, high = library.ppi_logistic_ci(*parts, alpha=0.05)
    assert np.abs(found.strengths[:-1] - found.strengths[-1] - theirs).max() < 0.4 * errors.min()
    assert 0.8 < np.mean(errors / ((high - low) / 2 / 1.96)) < 1.1
