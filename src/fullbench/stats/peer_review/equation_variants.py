"""What the equations of UPME may mean: each reading by name, and weights that are made by hand.

Equation 5 sums reviews times the reviewers' weights, equation 10 compares that sum with the weights themselves, and
nothing says how the two come to one scale. Read with scores from 0 to 1, the weights are a fixed point of peer rank
(PRD): both methods then end at the same scores, and differ by their number of rounds alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from fullbench.core.note import Note
from fullbench.errors import InputError
from fullbench.stats.array_checks import Floats, Numbers, column
from fullbench.stats.peer_review.peer_rankings import Consensus, Initial, Over, Peers, Scale, upme


@dataclass(frozen=True)
class Reading:
    """How scores become weights: on which `scale`, and whether they are means or, `over` the reviews, sums."""

    name: str
    scale: Scale
    over: Over
    meaning: str


READINGS: dict[str, Reading] = {
    reading.name: reading
    for reading in (
        Reading(
            "range",
            "range",
            "weights",
            Note("reading.range", "weighted means, from 0 (the lowest) to 1 (the highest): PRD's rule"),
        ),
        Reading("share", "share", "weights", Note("reading.share", "weighted means, as shares of their sum")),
        Reading(
            "plain", "none", "weights", Note("reading.plain", "weighted means as they are; the same scores as 'share'")
        ),
        Reading(
            "sum",
            "range",
            "reviews",
            Note("reading.sum", "equation 5 as printed: sums, not divided by the weights, from 0 to 1"),
        ),
        Reading(
            "rank",
            "rank",
            "weights",
            Note("reading.rank", "even steps from 1 to 0 by rank, as the weights of section 8.1"),
        ),
    )
}
"""All readings by name; the first is the usual one."""
USUAL = "range"


def reading_named(name: str) -> Reading:
    """A reading by its name."""
    if name not in READINGS:
        raise InputError(f"unknown reading {name!r} of the paper; known: {', '.join(READINGS)}")
    return READINGS[name]


def initial_named(name: str) -> Initial:
    """A way to begin by its name: many starts, one uniform, one random."""
    known: tuple[Initial, ...] = get_args(Initial)
    if name not in known:
        raise InputError(f"unknown initial weights {name!r}; known: {', '.join(known)}")
    return known[known.index(name)]


def by_reading(
    peers: Peers, name: str = USUAL, *, starts: int = 64, seed: int = 0, initial: Initial = "many"
) -> Consensus:
    """UPME by one of the readings.

    >>> peers = Peers.of([0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, 0], [2, 2, 2, 2, 1, 1], [1, 1, 1, 1, 1, 0.5])
    >>> [round(score, 2) for score in by_reading(peers, "rank").scores]
    [1.0, 1.0, 0.0]
    """
    reading = reading_named(name)
    return upme(peers, starts=starts, seed=seed, scale=reading.scale, over=reading.over, initial=initial)


def consistent_weights(truth: Numbers) -> Floats:
    """Weights by true rank, even steps from 1 for the best to 0 for the last, as section 8.1 of UPME prints them.

    >>> consistent_weights([0.2, 0.9, 0.5]).tolist()
    [0.0, 1.0, 0.5]
    """
    values = column(truth, "truth")
    weights = np.empty(len(values))
    weights[np.argsort(-values, kind="stable")] = np.linspace(1, 0, len(values))
    return weights


def reversed_weights(truth: Numbers) -> Floats:
    """The same weights for the wrong ones: 1 for the worst, 0 for the best.

    >>> reversed_weights([0.2, 0.9, 0.5]).tolist()
    [1.0, 0.0, 0.5]
    """
    return consistent_weights(-column(truth, "truth"))
