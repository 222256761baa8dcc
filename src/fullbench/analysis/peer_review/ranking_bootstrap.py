"""What the ranking would have been on other pictures: they are drawn again, and weights are learned anew each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fullbench.analysis.peer_review.ground_truth import in_this_order
from fullbench.analysis.peer_review.ranking_methods import Terms, consensus, in_order, nearness
from fullbench.analysis.peer_review.reviews_from_record import Reviews
from fullbench.core.column_labels import headings
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats

RESAMPLES = 200


def draws(reviews: Reviews, terms: Terms) -> list[Floats]:
    """UPME's scores on each draw of pictures that shows every contestant."""
    import numpy as np

    rng = np.random.default_rng(terms.seed)
    drawn: list[Floats] = []
    for _ in range(RESAMPLES):
        again = reviews.peers(terms.gamma, rng.integers(0, len(reviews.images), len(reviews.images)).tolist())
        if (again.counts.sum(axis=0) > 0).all():
            drawn.append(np.array(consensus(again, "UPME", starts=1, terms=replace(terms, seed=0)).scores))
    if not drawn:
        raise Undefined(Note("undefined.no-draw-of-pictures-shows", "no draw of pictures shows every contestant"))
    return drawn


def interval(reviews: Reviews, terms: Terms) -> list[Estimate]:
    """UPME's scores with 95% intervals."""
    import numpy as np

    whole = consensus(reviews.peers(terms.gamma), "UPME", starts=8, terms=terms).scores
    drawn = draws(reviews, terms)
    low, high = np.quantile(np.array(drawn), [0.025, 0.975], axis=0)
    seen = [int(((reviews.first == place) | (reviews.second == place)).sum()) for place in range(len(reviews.names))]
    return [
        Estimate(value, min(value, float(a)), max(value, float(b)), n, 0.95, f"bootstrap over pictures, {len(drawn)}")
        for value, a, b, n in zip(whole, low, high, seen, strict=True)
    ]


def order(reviews: Reviews, *, best_first: Sequence[str], terms: Terms) -> Table:
    """Whether the order that was known beforehand is found again; no row where none was."""
    columns = headings("contestants", "spearman", "in order")
    title = Note("peers.drawn.title.whether-the-known-order-is", "Whether the known order is found again")
    if not best_first:
        return Table("order", title, columns, [])
    truth = in_order(reviews.names, in_this_order(tuple(best_first)).scores)
    consensus_scores = consensus(reviews.peers(terms.gamma), "UPME", starts=8, terms=terms).scores
    drawn = [nearness(list(scores), truth).spearman for scores in draws(reviews, terms)]
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
    return Table("order", title, columns, rows, notes, terms.settings)


def _around(value: float, drawn: Sequence[float]) -> Estimate:
    import numpy as np

    low, high = (float(end) for end in np.quantile(drawn, [0.025, 0.975]))
    return Estimate(
        value, min(value, low), max(value, high), len(drawn), 0.95, f"bootstrap over pictures, {len(drawn)}"
    )


def _share(drawn: Sequence[float]) -> float:
    return sum(correlation == 1 for correlation in drawn) / len(drawn)
