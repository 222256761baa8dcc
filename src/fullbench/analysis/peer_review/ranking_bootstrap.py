"""Bootstrap of the UPME ranking over pictures; reviewer weights are learned anew in each draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fullbench.analysis.peer_review.ground_truth import truth_from_order
from fullbench.analysis.peer_review.ranking_methods import (
    RankingOptions,
    learn_consensus,
    nearness_to_truth,
    order_true_scores,
)
from fullbench.analysis.peer_review.reviews_from_record import Reviews
from fullbench.core.column_labels import table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats

RESAMPLES = 200


def bootstrap_scores(reviews: Reviews, terms: RankingOptions) -> list[Floats]:
    """Return UPME's scores on each draw of pictures that shows every contestant."""
    import numpy as np

    rng = np.random.default_rng(terms.seed)
    score_draws: list[Floats] = []
    for _ in range(RESAMPLES):
        again = reviews.peers(terms.gamma, rng.integers(0, len(reviews.images), len(reviews.images)).tolist())
        if (again.counts.sum(axis=0) > 0).all():  # a contestant without reviews has no score
            score_draws.append(np.array(learn_consensus(again, "UPME", starts=1, terms=replace(terms, seed=0)).scores))
    if not score_draws:
        raise Undefined(Note("undefined.no-draw-of-pictures-shows"))
    return score_draws


def score_intervals(reviews: Reviews, terms: RankingOptions) -> list[Estimate]:
    """Return UPME's scores with 95% intervals."""
    import numpy as np

    full_scores = learn_consensus(reviews.peers(terms.gamma), "UPME", starts=8, terms=terms).scores
    score_draws = bootstrap_scores(reviews, terms)
    # Draws can all be on one side of the estimate; each interval is widened below to contain it.
    low, high = np.quantile(np.array(score_draws), [0.025, 0.975], axis=0)
    review_counts = [
        int(((reviews.first == place) | (reviews.second == place)).sum()) for place in range(len(reviews.names))
    ]
    return [
        Estimate(
            value, min(value, float(a)), max(value, float(b)), n, 0.95, f"bootstrap over pictures, {len(score_draws)}"
        )
        for value, a, b, n in zip(full_scores, low, high, review_counts, strict=True)
    ]


def known_order_table(reviews: Reviews, *, best_first: Sequence[str], terms: RankingOptions) -> Table:
    """Return how often the ranking recovers an order known beforehand; no rows if `best_first` is empty."""
    columns = table_columns("contestants", "spearman", "in order")
    title = Note("peers.drawn.title.whether-the-known-order-is")
    if not best_first:
        return Table("order", title, columns, [])
    truth = order_true_scores(reviews.names, truth_from_order(tuple(best_first)).scores)
    consensus_scores = learn_consensus(reviews.peers(terms.gamma), "UPME", starts=8, terms=terms).scores
    correlations = [nearness_to_truth(list(scores), truth).spearman for scores in bootstrap_scores(reviews, terms)]
    rows: list[list[Cell]] = [
        [
            len(truth),
            _percentile_estimate(nearness_to_truth(consensus_scores, truth).spearman, correlations),
            _perfect_order_share(correlations),
        ]
    ]
    notes = [Note("peers.drawn.spearman-of-upme-s-scores"), Note("peers.drawn.in-order-the-share-of")]
    return Table("order", title, columns, rows, notes, terms.settings)


def _percentile_estimate(value: float, correlations: Sequence[float]) -> Estimate:
    import numpy as np

    low, high = (float(end) for end in np.quantile(correlations, [0.025, 0.975]))
    return Estimate(
        value,
        min(value, low),
        max(value, high),
        len(correlations),
        0.95,
        f"bootstrap over pictures, {len(correlations)}",
    )


def _perfect_order_share(correlations: Sequence[float]) -> float:
    return sum(correlation == 1 for correlation in correlations) / len(correlations)
