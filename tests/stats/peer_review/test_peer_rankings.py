"""Peer review: slow definitions written out, optimality, starts that meet, and cheats that move little."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from fullbench.errors import Undefined
from fullbench.stats.peer_review import peer_rankings as module
from fullbench.stats.peer_review.equation_variants import consistent_weights, reversed_weights
from fullbench.stats.peer_review.peer_rankings import (
    Peers,
    pico_consensus,
    prd_consensus,
    reviewer_influence,
    scale_to_weights,
    single_reviewer_scores,
    uniform_consensus,
    upme_consensus,
    weighted_consensus,
    weighted_grades,
)


def pool(size=5, images=8, seed=0):
    rng = np.random.default_rng(seed)
    skill = np.linspace(1, 0, size)
    rows = [
        (r, j, k, float(np.clip(np.round(2 * (0.5 + skill[j] - skill[k] + 0.4 * rng.standard_normal())) / 2, 0, 1)))
        for _ in range(images)
        for r in range(size)
        for j in range(size)
        for k in range(j + 1, size)
        if r not in (j, k)
    ]
    return [list(column) for column in zip(*rows, strict=True)]


def plain_grades(rows, weights, size):
    won, met = np.zeros(size), np.zeros(size)
    for r, j, k, points in zip(*rows, strict=True):
        for who, got in ((j, points), (k, 1 - points)):
            won[who] += weights[r] * got
            met[who] += weights[r]
    return won / met


@given(st.lists(st.floats(0.01, 1), min_size=5, max_size=5))
def test_grades_are_weighted_means_over_reviews(weights):
    rows = pool()
    assert weighted_grades(Peers.from_reviews(*rows), weights) == pytest.approx(plain_grades(rows, weights, 5))


def test_many_weights_at_once_are_the_same_as_one_after_another():
    peers = Peers.from_reviews(*pool())
    weights = np.random.default_rng(1).uniform(size=(7, 5))
    assert weighted_grades(peers, weights) == pytest.approx(np.array([weighted_grades(peers, row) for row in weights]))


def test_the_iteration_ends_where_weights_and_scores_agree():
    peers = Peers.from_reviews(*pool())
    found = upme_consensus(peers)
    assert scale_to_weights(weighted_grades(peers, found.weights)) == pytest.approx(np.array(found.weights), abs=1e-4)
    assert found.has_converged
    assert len(found.rounds) == 64
    assert found.trace.shape == (31, 64)
    assert (found.trace[-1] < 1e-8).all()
    assert (np.diff(found.trace[:6].mean(axis=1)) < 0).all()


def test_a_plain_loop_over_the_papers_rounds_gives_the_same():
    rows, size = pool(), 5
    weights, scores = np.ones(size), None
    for _ in range(30):
        now = plain_grades(rows, weights, size)
        now = (now - now.min()) / np.ptp(now)
        scores = now if scores is None else scores + 0.8 * (now - scores)
        weights = weights + 0.8 * (scores - weights)
    found = upme_consensus(Peers.from_reviews(*rows), starts=1)
    assert found.weights == pytest.approx(weights, abs=1e-6)
    assert found.scores == pytest.approx(plain_grades(rows, weights, size), abs=1e-6)


def test_peer_rank_forgets_where_it_began():
    peers = Peers.from_reviews(*pool())
    found = prd_consensus(peers, rounds=200, starts=16)
    assert found.has_converged
    assert sum(found.weights) == pytest.approx(1)
    assert min(found.weights) == 0


def test_the_gradient_of_consistency_is_its_slope():
    peers = Peers.from_reviews(*pool())
    at = np.random.default_rng(3).uniform(0.2, 0.8, size=(1, 5))
    loss, slope = module._pearson_slope(peers, at)
    by_hand = approx_fprime(at[0], lambda w: module._pearson_slope(peers, w[None])[0][0], 1e-7)
    assert slope[0] == pytest.approx(by_hand, abs=1e-5)
    r = np.corrcoef(at[0], weighted_grades(peers, at[0]))[0, 1]
    assert loss[0] == pytest.approx(1 - r)


def test_consistency_is_reached_from_most_starts():
    found = pico_consensus(Peers.from_reviews(*pool()))
    assert np.median(found.trace[-1]) < 1e-4
    assert found.trace[-1].min() < 1e-8
    assert np.corrcoef(found.weights, found.scores)[0, 1] > 0.9999


def test_hand_made_weights_are_each_others_mirror():
    truth = [3, 1, 4, 1.5, 5]
    assert sorted(consistent_weights(truth)) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert sorted(consistent_weights(truth)) == pytest.approx(sorted(reversed_weights(truth)))
    assert np.argsort(consistent_weights(truth)).tolist() == np.argsort(truth).tolist()
    assert np.argsort(reversed_weights(truth)).tolist() == np.argsort(truth)[::-1].tolist()


def test_uniform_is_every_weight_alike_and_a_single_judge_lacks_itself():
    peers = Peers.from_reviews(*pool())
    assert uniform_consensus(peers).scores == pytest.approx(weighted_consensus(peers, np.full(5, 7.0)).scores)
    alone = single_reviewer_scores(peers, 2)
    assert alone[2] is None
    weights = np.array([1e-12, 1e-12, 1, 1e-12, 1e-12])
    assert [score for score in alone if score is not None] == pytest.approx(
        np.delete(weighted_grades(peers, weights), 2)
    )


def collude(rows, pair):
    """The same reviews, but two always rule for each other."""
    reviewer, one, two, points = (list(column) for column in rows)
    for row, (r, j, k) in enumerate(zip(reviewer, one, two, strict=True)):
        if r in pair and ((j in pair) != (k in pair)):
            points[row] = float(j in pair)
    return [reviewer, one, two, points]


def test_praise_between_two_is_trimmed_away():
    honest, size = pool(size=8, images=10), 8
    cheated = collude(honest, (6, 7))
    before, after = (upme_consensus(Peers.from_reviews(*rows).without_extremes()).scores for rows in (honest, cheated))
    bare, bent = (upme_consensus(Peers.from_reviews(*rows)).scores for rows in (honest, cheated))
    assert np.argsort(before).tolist() == np.argsort(after).tolist()
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < max(
        abs(a - b) for a, b in zip(bare, bent, strict=True)
    )
    assert (Peers.from_reviews(*honest).without_extremes().counts > 0).sum(axis=0).tolist() == [size - 1 - 2] * size


def test_influence_is_what_leaving_out_does():
    peers = Peers.from_reviews(*pool())
    moved = reviewer_influence(peers, uniform_consensus)
    rows = pool()
    kept = [row for row, reviewer in enumerate(rows[0]) if reviewer != 3]
    rest = plain_grades([[column[row] for row in kept] for column in rows], np.ones(5), 5)
    assert moved[3] == pytest.approx(np.abs(rest - plain_grades(rows, np.ones(5), 5)).max())


@settings(max_examples=20)
@given(st.permutations(range(5)))
def test_names_do_not_matter(order):
    rows = pool()
    renamed = [[order[code] for code in column] for column in rows[:3]] + [rows[3]]
    ours, theirs = (
        upme_consensus(Peers.from_reviews(*rows), starts=1).scores,
        upme_consensus(Peers.from_reviews(*renamed), starts=1).scores,
    )
    assert [theirs[order[place]] for place in range(5)] == pytest.approx(ours)


def test_points_need_not_sum_to_one():
    peers = Peers.from_reviews([0], [1], [2], [0.9], [0.4])
    assert peers.points[0].tolist() == [0, 0.9, 0.4]


def test_bad_input_is_refused_in_a_sentence():
    with pytest.raises(Undefined, match="there are no reviews"):
        Peers.from_reviews([], [], [], [])
    with pytest.raises(ValueError, match="one length"):
        Peers.from_reviews([0], [1], [2], [1, 0])
    with pytest.raises(ValueError, match="codes"):
        Peers.from_reviews([-1], [1], [2], [1])
    with pytest.raises(Undefined, match="contestant 0 was never reviewed"):
        upme_consensus(Peers.from_reviews([0], [1], [2], [1]))
