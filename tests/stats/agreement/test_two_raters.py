"""Agreement of two raters against scikit-learn and scipy, on data with and without missing classes."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn import metrics

from fullbench.errors import Undefined
from fullbench.stats.agreement import two_raters
from fullbench.stats.intervals import statistics_for_bootstrap

PAIRS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=6, max_size=60)


def point(statistic, x, y):
    x, y = np.asarray(x, float), np.asarray(y, float)
    return float(statistic(np.ones((1, len(x))), x, y)[0])


@given(PAIRS)
def test_correlations_are_scipys(pairs):
    x, y = np.array(pairs).T
    assume(np.ptp(x) and np.ptp(y))
    assert point(statistics_for_bootstrap.weighted_pearson, x, y) == pytest.approx(
        scipy.stats.pearsonr(x, y).statistic, abs=1e-9
    )
    assert point(statistics_for_bootstrap.weighted_spearman, x, y) == pytest.approx(
        scipy.stats.spearmanr(x, y).statistic, abs=1e-9
    )
    assert point(statistics_for_bootstrap.weighted_kendall, x, y) == pytest.approx(
        scipy.stats.kendalltau(x, y).statistic, abs=1e-9
    )


@given(PAIRS)
def test_class_scores_are_sklearns(pairs):
    given_, truth = np.array(pairs).T
    for by_size, average in ((False, "macro"), (True, "weighted")):
        for ours, name in (
            ("precision", metrics.precision_score),
            ("recall", metrics.recall_score),
            ("f1", metrics.f1_score),
        ):
            theirs = name(truth, given_, average=average, zero_division=0)
            statistic = statistics_for_bootstrap.class_statistic(ours, by_size=by_size)
            assert point(statistic, given_, truth) == pytest.approx(theirs, abs=1e-12)
    assert point(statistics_for_bootstrap.share_equal, given_, truth) == pytest.approx(
        metrics.accuracy_score(truth, given_)
    )
    assert point(statistics_for_bootstrap.absolute_error, given_, truth) == pytest.approx(
        metrics.mean_absolute_error(truth, given_)
    )


@given(PAIRS)
def test_kappas_are_sklearns(pairs):
    x, y = np.array(pairs).T
    assume(len(set(x) | set(y)) > 1)
    labels = np.arange(1, 6)
    assert point(statistics_for_bootstrap.weighted_cohen_kappa, x, y) == pytest.approx(
        metrics.cohen_kappa_score(x, y, labels=labels), abs=1e-9
    )
    theirs = metrics.cohen_kappa_score(x, y, labels=labels, weights="quadratic")
    assert point(statistics_for_bootstrap.weighted_quadratic_kappa, x, y) == pytest.approx(theirs, abs=1e-9)


@given(PAIRS, st.lists(st.integers(0, 4), min_size=6, max_size=60))
@settings(max_examples=50)
@pytest.mark.parametrize(
    "statistic",
    [
        statistics_for_bootstrap.weighted_pearson,
        statistics_for_bootstrap.weighted_spearman,
        statistics_for_bootstrap.weighted_kendall,
        statistics_for_bootstrap.weighted_cohen_kappa,
        statistics_for_bootstrap.weighted_quadratic_kappa,
        statistics_for_bootstrap.class_statistic("f1"),
        statistics_for_bootstrap.class_statistic("f1", by_size=True),
        statistics_for_bootstrap.class_statistic("precision"),
        statistics_for_bootstrap.class_statistic("recall"),
        statistics_for_bootstrap.absolute_error,
    ],
)
def test_a_weight_is_a_number_of_rows(statistic, pairs, times):
    pairs, times = pairs[: len(times)], np.array(times[: len(pairs)])
    x, y = np.array(pairs, float).T
    assume(times.sum() > 1)
    ours = statistic(times[None, :].astype(float), x, y)[0]
    plain = point(statistic, np.repeat(x, times), np.repeat(y, times))
    assert ours == pytest.approx(plain, abs=1e-9, nan_ok=True)


def test_kendall_by_sorting_is_kendall_by_signs(monkeypatch):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 40))
    weights = rng.integers(0, 3, (6, 40)).astype(float)
    by_signs = statistics_for_bootstrap.weighted_kendall(weights, x, y)
    monkeypatch.setattr(statistics_for_bootstrap, "_MOST_SIGNS", 10)
    assert statistics_for_bootstrap.weighted_kendall(weights, x, y) == pytest.approx(by_signs)


def test_correlation_survives_a_large_offset():
    x, y = np.random.default_rng(1).normal(size=(2, 50))
    expected = scipy.stats.pearsonr(x, y).statistic
    assert point(statistics_for_bootstrap.weighted_pearson, 1e9 + x, 1e-9 * y) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("pearson_correlation", "pearsonr"), ("spearman_correlation", "spearmanr"), ("kendall_correlation", "kendalltau")],
)
def test_p_values_are_scipys(ours, theirs):
    x, y = [1, 4, 3, 5, 2, 2, 5], [2, 3, 3, 5, 1, 3, 4]
    assert getattr(two_raters, ours)(x, y).p == pytest.approx(getattr(scipy.stats, theirs)(x, y).pvalue)


def test_symmetric_figures_do_not_care_who_is_first():
    x, y = [1, 4, 3, 5, 2, 2, 5], [2, 3, 3, 5, 1, 3, 4]
    for figure in (
        two_raters.pearson_correlation,
        two_raters.kendall_correlation,
        two_raters.cohen_kappa,
        two_raters.absolute_error,
    ):
        assert figure(x, y).value == pytest.approx(figure(y, x).value)


def test_bands_must_hold_every_mark():
    fuzzy = [(1, 2), (3, 5), (6, 8), (9, 10)]
    assert two_raters.band_accuracy([1, 3, 8], [2, 6, 6], fuzzy).value == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match=r"2\.5 does not"):
        two_raters.band_indices([1, 2.5], fuzzy)


def test_items_that_are_alike_do_not_make_a_share_certain():
    found = two_raters.accuracy([1, 1, 0, 0] * 10, [1, 1, 1, 0] * 10, cluster=np.arange(40) // 4)
    unseen = 1 - 0.05 ** (1 / 10)
    assert (found.value, found.units, found.one_sided) == (0.75, 10, False)
    assert (found.low, found.high) == pytest.approx((0.75 - 0.75 * unseen, 0.75 + 0.25 * unseen))


@pytest.mark.parametrize(("said", "value"), [(1, 1.0), (0, 0.0)])
def test_agreement_on_every_row_is_not_certainty(said, value):
    found = two_raters.accuracy([said] * 40, [1] * 40, cluster=np.arange(40) // 4)
    assert (found.value, found.n, found.units, found.one_sided) == (value, 40, 10, True)
    # The exact bound of one tail on ten items, from the quantiles of the beta distribution.
    end = scipy.stats.beta.ppf(0.05, 10, 1)
    assert (found.low, found.high) == pytest.approx((end, 1.0) if said else (0.0, 1 - end))


def test_kappa_of_one_class_is_undefined():
    with pytest.raises(Undefined):
        two_raters.cohen_kappa([1, 1, 1], [1, 1, 1])
