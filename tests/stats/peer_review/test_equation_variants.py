"""The readings of UPME's equations, each beside plain loops over the reviews, and beside peer rank."""

from __future__ import annotations

import numpy as np
import pytest

from fullbench.errors import InputError
from fullbench.stats.peer_review.equation_variants import READINGS, by_reading, initial_named, reading_named
from fullbench.stats.peer_review.peer_rankings import Peers, prd_consensus

SIZE = 5


def reviews(seed: int, pictures: int = 12) -> list[tuple[int, int, int, float]]:
    """Reviewer, first, second, what the first got: every reviewer on every two others, picture by picture."""
    rng = np.random.default_rng(seed)
    skill, sight = rng.uniform(size=SIZE), rng.uniform(0.2, 1, SIZE)
    rows = []
    for _ in range(pictures):
        for reviewer in range(SIZE):
            others = [name for name in range(SIZE) if name != reviewer]
            for place, one in enumerate(others):
                for two in others[place + 1 :]:
                    lead = sight[reviewer] * 3 * (skill[one] - skill[two]) + rng.standard_normal()
                    rows.append((reviewer, one, two, 0.5 if abs(lead) < 0.3 else float(lead > 0)))
    return rows


def settled(rows: list[tuple[int, int, int, float]], reading: str) -> list[float]:
    """Where weights and scores agree, found by loops: half a step at a time from equal weights."""
    weight = [1.0] * SIZE
    for _ in range(500):
        total, below = [0.0] * SIZE, [0.0] * SIZE
        for reviewer, one, two, mark in rows:
            for who, points in ((one, mark), (two, 1 - mark)):
                total[who] += weight[reviewer] * points
                below[who] += 1.0 if reading == "sum" else weight[reviewer]
        score = [t / b for t, b in zip(total, below, strict=True)]
        low, high = min(score), max(score)
        target = {
            "range": [(value - low) / (high - low) for value in score],
            "sum": [(value - low) / (high - low) for value in score],
            "share": [value / sum(score) for value in score],
            "plain": score,
            "rank": [sum(other < value for other in score) / (SIZE - 1) for value in score],
        }[reading]
        weight = [0.5 * old + 0.5 * new for old, new in zip(weight, target, strict=True)]
    return score


@pytest.mark.parametrize("reading", list(READINGS))
@pytest.mark.parametrize("seed", [1, 4, 7])
def test_a_reading_settles_where_plain_loops_do(reading, seed):
    rows = reviews(seed)
    found = by_reading(Peers.from_reviews(*zip(*rows, strict=True)), reading, starts=4)
    assert found.has_converged
    assert found.scores == pytest.approx(settled(rows, reading), abs=2e-3)


def test_equation_5_as_printed_need_not_settle():
    """Whoever weighs much loses its own weight, falls, weighs little, and rises again."""
    settled_seeds = [
        by_reading(Peers.from_reviews(*zip(*reviews(seed), strict=True)), "sum", starts=4).has_converged
        for seed in range(8)
    ]
    assert any(settled_seeds)
    assert not all(settled_seeds)


def test_read_from_0_to_1_upme_is_peer_rank_and_read_otherwise_it_is_not():
    apart = {name: [] for name in READINGS}
    for seed in range(40):
        peers = Peers.from_reviews(*zip(*reviews(seed), strict=True))
        ranked = np.array(prd_consensus(peers, rounds=200).scores)
        for name in READINGS:
            apart[name].append(np.abs(np.array(by_reading(peers, name, starts=1).scores) - ranked).max())
    assert np.median(apart["range"]) < 1e-6
    assert np.quantile(apart["range"], 0.9) < 1e-3
    assert min(np.median(apart[name]) for name in READINGS if name != "range") > 1e-3


def test_shares_and_plain_means_are_one_reading_under_two_names():
    peers = Peers.from_reviews(*zip(*reviews(4), strict=True))
    assert by_reading(peers, "share").scores == pytest.approx(by_reading(peers, "plain").scores, abs=1e-3)


def test_initial_weights_are_named_and_lead_to_the_same_scores():
    peers = Peers.from_reviews(*zip(*reviews(5), strict=True))
    found = {name: by_reading(peers, initial=initial_named(name), seed=3) for name in ("many", "uniform", "random")}
    assert [len(of.rounds) for of in found.values()] == [64, 1, 1]
    assert found["uniform"].scores == pytest.approx(found["random"].scores, abs=1e-4)
    assert found["uniform"].trace[0, 0] != found["random"].trace[0, 0]


def test_names_that_are_none_are_refused():
    with pytest.raises(
        InputError, match="unknown variant 'mean' of the paper's equations; known: range, share, plain, sum, rank"
    ):
        reading_named("mean")
    with pytest.raises(InputError, match="unknown initial weights 'zero'; known: many, uniform, random"):
        initial_named("zero")
