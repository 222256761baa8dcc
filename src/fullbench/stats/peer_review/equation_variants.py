"""Possible readings of UPME's equations, by name, and weights defined by true rank.

Equation 5 sums reviews times the reviewers' weights, and equation 10 compares that sum with the weights. The paper
does not explain how both get the same scale. With scores from 0 to 1, the weights are a fixed point of peer rank
(PRD): both methods then end at the same scores, and differ only in the number of rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.stats.array_checks import Floats, Numbers, finite_column
from fullbench.stats.peer_review.peer_rankings import Consensus, Initial, Over, Peers, Scale, upme_consensus


@dataclass(frozen=True)
class Reading:
    """One reading: the `scale` that turns scores into weights, and whether scores are means or sums over reviews."""

    name: str
    scale: Scale
    over: Over
    meaning: str


READINGS: dict[str, Reading] = {
    reading.name: reading
    for reading in (
        Reading("range", "range", "weights", Note("reading.range")),
        Reading("share", "share", "weights", Note("reading.share")),
        Reading("plain", "none", "weights", Note("reading.plain")),
        Reading("sum", "range", "reviews", Note("reading.sum")),
        Reading("rank", "rank", "weights", Note("reading.rank")),
    )
}
"""The first is the default."""
USUAL = "range"


def reading_named(name: str) -> Reading:
    """Return a reading by its name."""
    if name not in READINGS:
        raise InputError(f"unknown variant {name!r} of the paper's equations; known: {', '.join(READINGS)}")
    return READINGS[name]


def initial_named(name: str) -> Initial:
    """Return initial weights by name: many starts, one uniform, one random."""
    initial_names: tuple[Initial, ...] = get_args(Initial)
    if name not in initial_names:
        raise InputError(f"unknown initial weights {name!r}; known: {', '.join(initial_names)}")
    return initial_names[initial_names.index(name)]


def by_reading(
    peers: Peers, name: str = USUAL, *, starts: int = 64, seed: int = 0, initial: Initial = "many"
) -> Consensus:
    """Return the UPME consensus by one of the readings.

    >>> peers = Peers.from_reviews([0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, 0], [2, 2, 2, 2, 1, 1], [1, 1, 1, 1, 1, 0.5])
    >>> [round(score, 2) for score in by_reading(peers, "rank").scores]
    [1.0, 1.0, 0.0]
    """
    reading = reading_named(name)
    return upme_consensus(peers, starts=starts, seed=seed, scale=reading.scale, over=reading.over, initial=initial)


def consistent_weights(truth: Numbers) -> Floats:
    """Return weights by true rank, from 1 for the best to 0 for the last, as in section 8.1 of UPME.

    >>> consistent_weights([0.2, 0.9, 0.5]).tolist()
    [0.0, 1.0, 0.5]
    """
    values = finite_column(truth, "truth")
    weights = np.empty(len(values))
    weights[np.argsort(-values, kind="stable")] = np.linspace(1, 0, len(values))
    return weights


def reversed_weights(truth: Numbers) -> Floats:
    """Return the opposite weights: 1 for the worst, 0 for the best.

    >>> reversed_weights([0.2, 0.9, 0.5]).tolist()
    [1.0, 0.0, 0.5]
    """
    return consistent_weights(-finite_column(truth, "truth"))
