"""Peer review: learned weights for 1,500 and for a million reviews, beside a plain loop over the same rounds."""

from __future__ import annotations

import resource

import numpy as np

from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.peer_review.peer_rankings import Peers, upme_consensus
from scripts.bench import Row, cpu

PAPER, LARGE = (6, 1_500), (50, 1_000_000)
STARTS, ROUNDS = 64, 30

Reviews = tuple[Ints, Ints, Ints, Floats]


def main() -> list[Row]:
    rows = []
    small = _reviews(*PAPER)
    ours = cpu(lambda: upme_consensus(Peers.from_reviews(*small), starts=STARTS, rounds=ROUNDS), times=5)
    plain = STARTS * cpu(lambda: _loop(small, PAPER[0], rounds=ROUNDS))
    rows.append(Row.of("1,500 reviews, 64 starts, 30 rounds", ours, plain, "plain loop, scaled", "CPU s"))
    large = _reviews(*LARGE)
    ours = cpu(lambda: upme_consensus(Peers.from_reviews(*large), starts=STARTS, rounds=ROUNDS), times=2)
    summed = cpu(lambda: [np.add.at(np.zeros((50, 50)), (large[0], who), large[3]) for who in large[1:3]])
    rows.append(Row.of("1,000,000 reviews of 50, 64 starts", ours, summed, "summing them with np.add.at", "CPU s"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows.append(Row.of("memory at its peak", peak, 1024.0, "allowed", "MB"))
    return rows


def _reviews(models: int, count: int, seed: int = 0) -> Reviews:
    """Reviews by, and of, models whose skill falls with their number."""
    rng = np.random.default_rng(seed)
    reviewer = rng.integers(0, models, count)
    step, further = rng.integers(1, models, count), rng.integers(1, models - 1, count)
    one, two = (reviewer + step) % models, (reviewer + further + (further >= step)) % models
    skill = np.linspace(1, 0, models)
    lead = skill[one] - skill[two] + 0.5 * rng.standard_normal(count)
    return reviewer, one, two, np.where(np.abs(lead) < 0.1, 0.5, (np.sign(lead) + 1) / 2)


def _loop(reviews: Reviews, models: int, rounds: int) -> list[float]:
    """One start of the same iteration, review by review, as one would first write it."""
    columns = list(zip(*(column.tolist() for column in reviews), strict=True))
    weights = [1.0] * models
    scores: list[float] | None = None
    for _ in range(rounds):
        won, met = [0.0] * models, [0.0] * models
        for reviewer, one, two, points in columns:
            for who, got in ((one, points), (two, 1 - points)):
                won[who] += weights[reviewer] * got
                met[who] += weights[reviewer]
        grades = [a / b for a, b in zip(won, met, strict=True)]
        low, span = min(grades), max(grades) - min(grades)
        now = [(grade - low) / span for grade in grades]
        scores = now if scores is None else [old + 0.8 * (new - old) for old, new in zip(scores, now, strict=True)]
        weights = [old + 0.8 * (new - old) for old, new in zip(weights, scores, strict=True)]
    return weights
