"""Bradley-Terry against evalica, against the truth that made the duels, and where there is no answer."""

import evalica
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullbench.errors import Undefined
from fullbench.stats.ratings.bradley_terry import bradley_terry
from fullbench.stats.ratings.match_counts import MatchCounts


def duels(n: int, contestants: int = 6, seed: int = 1, ties: float = 0.15):
    rng = np.random.default_rng(seed)
    truth = np.linspace(1, -1, contestants)
    first = rng.integers(0, contestants, n)
    second = (first + rng.integers(1, contestants, n)) % contestants
    outcome = (rng.random(n) < 1 / (1 + np.exp(truth[second] - truth[first]))).astype(float)
    outcome[rng.random(n) < ties] = 0.5
    return first, second, outcome, truth


def test_ratings_are_evalicas():
    first, second, outcome, _ = duels(3000)
    winner = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    theirs = evalica.bradley_terry(first.tolist(), second.tolist(), [winner[o] for o in outcome], tolerance=1e-12)
    logs = np.log(theirs.scores.sort_index().to_numpy())
    ours = bradley_terry(first, second, outcome, interval="sandwich")
    assert np.array(ours.log_strengths) == pytest.approx(logs - logs.mean(), abs=1e-6)


def test_two_contestants_have_the_closed_form():
    ratings = bradley_terry([0] * 4, [1] * 4, [1, 1, 1, 0], interval="sandwich")
    one, two = ratings.estimates
    assert one.value - two.value == pytest.approx(400 * np.log10(3))
    assert (one.value + two.value) / 2 == pytest.approx(1000)
    assert ratings.chance(0, 1) == pytest.approx(0.75)


@pytest.mark.parametrize("interval", ["bootstrap", "sandwich"])
def test_intervals_cover_the_planted_ratings(interval):
    hits = []
    for seed in range(60):
        first, second, outcome, truth = duels(600, seed=seed, ties=0)
        found = bradley_terry(first, second, outcome, interval=interval, resamples=300, seed=seed)
        points = 1000 + 400 / np.log(10) * (truth - truth.mean())
        hits += [e.low <= value <= e.high for e, value in zip(found.estimates, points, strict=True)]
    assert 0.91 <= np.mean(hits) <= 0.985


def test_bootstrap_and_sandwich_tell_the_same_width_with_and_without_clusters():
    first, second, outcome, _ = duels(2000)
    for item in (None, np.arange(2000) // 4):
        a = bradley_terry(first, second, outcome, cluster=item).estimates
        b = bradley_terry(first, second, outcome, cluster=item, interval="sandwich").estimates
        for one, two in zip(a, b, strict=True):
            assert one.high - one.low == pytest.approx(two.high - two.low, rel=0.15)


def test_duels_repeated_within_an_item_widen_the_interval():
    first, second, outcome, _ = duels(500)
    again = [np.tile(part, 4) for part in (first, second, outcome)]
    item = np.tile(np.arange(500), 4)
    once = bradley_terry(first, second, outcome, interval="sandwich").estimates[0]
    fooled = bradley_terry(*again, interval="sandwich").estimates[0]
    honest = bradley_terry(*again, cluster=item, interval="sandwich").estimates[0]
    # Student's quantiles and the factor for few units: a quarter of 1 % for 500 duels against 2,000.
    assert fooled.high - fooled.low == pytest.approx((once.high - once.low) / 2, rel=0.01)
    assert honest.high - honest.low == pytest.approx(once.high - once.low)
    drawn = bradley_terry(*again, cluster=item).estimates[0]
    assert drawn.high - drawn.low == pytest.approx(once.high - once.low, rel=0.15)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4), st.sampled_from([0, 0.5, 1])), min_size=1))
@settings(max_examples=60)
def test_expected_wins_equal_wins_whoever_is_named_first(rows):
    first = np.array([a for a, _, _ in rows])
    second = (first + [b for _, b, _ in rows]) % 5
    outcome = np.array([o for _, _, o in rows], float)
    try:
        ratings = bradley_terry(first, second, outcome, interval="sandwich")
    except Undefined:
        return
    turned = bradley_terry(second, first, 1 - outcome, interval="sandwich")
    rated = list(ratings.components[0])
    logs = np.array([ratings.log_strengths[who] for who in rated])
    assert logs == pytest.approx([turned.log_strengths[who] for who in rated], abs=1e-7)
    wins = MatchCounts.from_rows(first, second, outcome, contestants=5).matrix()[np.ix_(rated, rated)]
    expected = (wins + wins.T) / (1 + np.exp(logs[None, :] - logs[:, None]))
    assert expected.sum(axis=1) == pytest.approx(wins.sum(axis=1), abs=1e-6)


def test_groups_that_never_met_share_no_scale():
    with pytest.raises(Undefined, match="2 groups"):
        bradley_terry([0, 0, 2, 2], [1, 1, 3, 3], [1, 0, 1, 0])


def test_the_unrated_get_a_reason_and_move_nobody():
    first = [0, 0, 0, 1, 1, 3, 4, 4, 5, 6]
    second = [1, 1, 2, 2, 2, 0, 0, 1, 6, 5]
    outcome = [1, 0, 0.5, 1, 0, 1, 0, 0, 1, 0]
    ratings = bradley_terry(first, second, outcome, contestants=8, interval="sandwich")
    alone = bradley_terry(first[:5], second[:5], outcome[:5], interval="sandwich")
    assert ratings.components[0] == (0, 1, 2)
    assert ratings.estimates[:3] == alone.estimates
    assert ratings.estimates[3:] == (None,) * 5
    assert ratings.unrated_reasons[3].startswith("won every")
    assert ratings.unrated_reasons[4].startswith("lost every")
    assert ratings.unrated_reasons[5].startswith("never met")
    assert ratings.unrated_reasons[7] == "no match"
    with pytest.raises(Undefined, match="no match"):
        ratings.chance(0, 7)


def test_too_few_duels_for_a_bootstrap_say_so():
    with pytest.raises(Undefined, match="sandwich"):
        bradley_terry([0, 0, 0], [1, 1, 1], [1, 0, 1])


def test_an_anchor_stays_where_it_is_put():
    first, second, outcome, _ = duels(1000)
    for interval in ("bootstrap", "sandwich"):
        anchor = bradley_terry(first, second, outcome, anchor=2, centre=1200, interval=interval).estimates[2]
        assert (anchor.value, anchor.low, anchor.high) == pytest.approx((1200, 1200, 1200))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (([0], [0], [1]), "meet itself"),
        (([0.0], [1.0], [1]), "codes"),
        (([0], [1], [0.3]), "an outcome is"),
        (([0, 1], [1], [1]), "one length"),
    ],
)
def test_bad_duels_are_refused(rows, words):
    with pytest.raises(ValueError, match=words):
        bradley_terry(*rows)


def test_an_item_with_many_matches_counts_for_its_pull():
    """Two contestants on items of unequal size, by hand: the change of the log-odds with each item, enlarged (CR3)."""
    rng = np.random.default_rng(5)
    sizes = np.array([2] * 8 + [20])
    item = np.repeat(np.arange(9), sizes)
    won = (rng.random(len(item)) < 0.6) * 1.0

    def spread_of(rows):
        counts = MatchCounts.from_rows(0 * item[rows], 1 + 0 * item[rows], won[rows], cluster=item[rows])
        log_odds = np.log(won[rows].mean() / (1 - won[rows].mean()))
        moves = counts.sandwich(np.array([log_odds / 2, -log_odds / 2]))
        return moves.along(np.array([[1.0, -1.0]])).spread(0).variance

    share = won.mean()
    pulls = np.bincount(item, won - share) / (len(item) * share * (1 - share))
    factors = np.maximum(1, (1 - 1 / 9) / (1 - sizes / sizes.sum()))
    assert factors.max() > 1.8
    assert spread_of(item >= 0) == pytest.approx(9 / 8 * float(((pulls * factors) ** 2).sum()))
    even = item < 8
    pulls = np.bincount(item[even], won[even] - won[even].mean()) / (16 * won[even].mean() * (1 - won[even].mean()))
    assert spread_of(even) == pytest.approx(8 / 7 * float((pulls**2).sum()))
