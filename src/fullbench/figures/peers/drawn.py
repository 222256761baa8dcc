"""What the ranking would have been on other pictures: they are drawn again, and weights are learned anew each time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fullbench.errors import Undefined
from fullbench.figures.peers.methods import consensus, in_order, nearness
from fullbench.figures.peers.reviews import Gamma, Reviews
from fullbench.nouns.estimate import Estimate
from fullbench.nouns.headings import headings
from fullbench.nouns.note import Note
from fullbench.nouns.table import Cell, Table

if TYPE_CHECKING:
    from fullbench.stats.arrays import Floats

RESAMPLES = 200


def draws(reviews: Reviews, gamma: Gamma, seed: int) -> list[Floats]:
    """UPME's scores on each draw of pictures that shows every contestant."""
    import numpy as np

    rng = np.random.default_rng(seed)
    drawn: list[Floats] = []
    for _ in range(RESAMPLES):
        again = reviews.peers(gamma, rng.integers(0, len(reviews.images), len(reviews.images)).tolist())
        if (again.counts.sum(axis=0) > 0).all():
            drawn.append(np.array(consensus(again, "UPME", starts=1).scores))
    if not drawn:
        raise Undefined(Note("undefined.no-draw-of-pictures-shows", "no draw of pictures shows every contestant"))
    return drawn


def interval(reviews: Reviews, gamma: Gamma, seed: int) -> list[Estimate]:
    """UPME's scores with 95% intervals."""
    import numpy as np

    whole = consensus(reviews.peers(gamma), "UPME", starts=8, seed=seed).scores
    drawn = draws(reviews, gamma, seed)
    low, high = np.quantile(np.array(drawn), [0.025, 0.975], axis=0)
    seen = [int(((reviews.first == place) | (reviews.second == place)).sum()) for place in range(len(reviews.names))]
    return [
        Estimate(value, min(value, float(a)), max(value, float(b)), n, 0.95, f"bootstrap over pictures, {len(drawn)}")
        for value, a, b, n in zip(whole, low, high, seen, strict=True)
    ]


def ranked(best_first: Sequence[str]) -> dict[str, float]:
    """An order as scores: the last has 1.

    >>> ranked(["keen", "fair", "blind"])
    {'keen': 3.0, 'fair': 2.0, 'blind': 1.0}
    """
    return {name: float(len(best_first) - place) for place, name in enumerate(best_first)}


def order(reviews: Reviews, *, best_first: Sequence[str], gamma: Gamma, seed: int) -> Table:
    """Whether the order that was known beforehand is found again; no row where none was."""
    columns = headings("contestants", "spearman", "in order")
    title = Note("peers.drawn.title.whether-the-known-order-is", "Whether the known order is found again")
    if not best_first:
        return Table("order", title, columns, [])
    truth = in_order(reviews.names, ranked(best_first))
    consensus_scores = consensus(reviews.peers(gamma), "UPME", starts=8, seed=seed).scores
    drawn = [nearness(list(scores), truth).spearman for scores in draws(reviews, gamma, seed)]
    rows: list[list[Cell]] = [[len(truth), _around(nearness(consensus_scores, truth).spearman, drawn), _share(drawn)]]
    notes = [
        Note(
            "peers.drawn.spearman-of-upme-s-scores",
            "Spearman of UPME's scores with the order in which the contestants were named, best first.",
        ),
        Note(
            "peers.drawn.in-order-the-share-of",
            "In order: the share of draws of pictures in which all of them stand in that order.",
        ),
    ]
    return Table("order", title, columns, rows, notes, {"gamma": dict(gamma), "seed": seed})


def _around(value: float, drawn: Sequence[float]) -> Estimate:
    import numpy as np

    low, high = (float(end) for end in np.quantile(drawn, [0.025, 0.975]))
    return Estimate(
        value, min(value, low), max(value, high), len(drawn), 0.95, f"bootstrap over pictures, {len(drawn)}"
    )


def _share(drawn: Sequence[float]) -> float:
    return sum(correlation == 1 for correlation in drawn) / len(drawn)
