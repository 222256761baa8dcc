"""Intervals stay on the scale of what they are about, with few items too, and hold the truth there."""

from __future__ import annotations

import numpy as np
import pytest

from fullbench.analysis.item_clustered_means_and_shares import mean_estimate, ratio_estimate
from fullbench.benchmarks.alignmmbench.tables import Mark, Marks
from fullbench.stats.agreement.two_raters import absolute_error
from fullbench.stats.intervals.cluster_intervals import FROM_ZERO, Spread, estimate_around


@pytest.mark.parametrize("items", [2, 3, 5, 12])
def test_means_and_errors_of_marks_never_leave_their_scale(items):
    rng = np.random.default_rng(items)
    for _ in range(60):
        item = np.repeat(np.arange(items), 3)
        marks, other = rng.integers(1, 11, (2, len(item))).astype(float)
        error = absolute_error(marks, other, cluster=item, scale=(1, 10))
        mean = mean_estimate(marks, item, (1.0, 10.0))
        assert 0 <= error.low <= error.value <= error.high <= 9
        assert 1 <= mean.low <= mean.value <= mean.high <= 10
        assert absolute_error(marks, other, cluster=item).low >= 0
        assert ratio_estimate(marks, np.ones(len(item)), item).low >= 0


def test_two_seeds_of_a_category_stay_between_one_and_ten():
    marks = [Mark(f"i{place}", f"s{place}", f"t{place // 2}", "c", dialogue=False, value=value)
             for place, value in enumerate((1.0, 6.0, 9.0, 9.5))]  # fmt: skip
    found = Marks("model", marks)
    for estimate in (found.task("t0"), found.category("c"), found.average(), found.question_mean()):
        assert 1 <= estimate.low < estimate.value < estimate.high <= 10
    assert found.task("t0").value == 3.5


def test_a_value_without_an_upper_end_is_cut_below_only():
    found = estimate_around(0.5, 2, Spread(0.1, 1.0, 2, 1.0), within=FROM_ZERO)
    plain = estimate_around(0.5, 2, Spread(0.1, 1.0, 2, 1.0))
    assert (found.low, found.high) == (0.0, plain.high)
    assert plain.low < 0


def coverage(items, runs):
    """Marks from 1 to 10 by a judge that errs more on some items; the truth from a million responses."""

    def draw(rng, items):
        truth = np.clip(np.rint(rng.normal(6, 2, (items, 4))), 1, 10)
        hard = rng.gamma(1.5, 1.0, items)[:, None]
        return truth, np.clip(np.rint(truth + hard * rng.normal(size=(items, 4))), 1, 10)

    truth, marks = draw(np.random.default_rng(9), 250_000)
    expected, held = np.abs(truth - marks).mean(), 0
    for run in range(runs):
        truth, marks = draw(np.random.default_rng([run, items]), items)
        found = absolute_error(
            marks.ravel(), truth.ravel(), cluster=np.repeat(np.arange(items), 4), scale=(1, 10), seed=run
        )
        held += found.low <= expected <= found.high
    return held / runs


def test_errors_are_covered_in_short():
    assert coverage(12, 100) >= 0.93 - 2 * (0.93 * 0.07 / 100) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("items", [5, 8, 12, 20, 60, 300])
def test_errors_are_covered(items):
    runs = 1000 if items < 60 else 300
    wanted = 0.92 if items < 12 else 0.93
    assert coverage(items, runs) >= wanted - 2 * (wanted * (1 - wanted) / runs) ** 0.5
