"""Rankings by each interpretation of the paper's equations, compared with peer rank (PRD)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.analysis.peer_review.ranking_methods import (
    RankingOptions,
    learn_consensus,
    nearness_to_truth,
    order_true_scores,
)
from fullbench.analysis.peer_review.reviews_from_record import Reviews
from fullbench.core.column_labels import table_columns
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined
from fullbench.stats.peer_review.equation_variants import READINGS

if TYPE_CHECKING:
    from fullbench.stats.peer_review.peer_rankings import Peers

CONVERGED_ROUNDS = 100
"""Rounds after which peer rank no longer changes. Its authors stop after five."""
_SAME = 5e-4  # scores from 0 to 1 that differ by less count as equal


def equation_variants_table(reviews: Reviews, *, truth: Truth, terms: RankingOptions) -> Table:
    """Return per interpretation the largest difference from converged peer rank, and the nearness to the truth."""
    import numpy as np

    from fullbench.stats.peer_review.peer_rankings import scale_to_weights

    peers = reviews.peers(terms.gamma)
    prd_scores = np.array(settled_prd(peers))
    true = _true_scores(reviews, truth)
    rows: list[list[Cell]] = []
    for name, reading in READINGS.items():
        scores = np.array(learn_consensus(peers, "UPME", starts=8, terms=replace(terms, reading=name)).scores)
        max_difference = float(np.abs(scale_to_weights(scores) - scale_to_weights(prd_scores)).max())
        same = [*np.argsort(-scores, kind="stable")] == [*np.argsort(-prd_scores, kind="stable")]
        rows.append(
            [
                name,
                _usage_cell(name, terms),
                reading.meaning,
                max_difference,
                _order_note(max_difference, same=same),
                *_correlation_cells(scores.tolist(), true),
            ]
        )
    title = Note("peers.readings.title")
    notes = [Note("peers.readings.apart")]
    columns = table_columns("reading", "used", "what it means", "distance from PRD", "order", "pearson", "spearman")
    return Table("readings", title, columns, rows, notes, terms.settings)


def settled_prd(peers: Peers) -> tuple[float, ...]:
    """Return the scores of peer rank after enough rounds to converge."""
    from fullbench.stats.peer_review.peer_rankings import prd_consensus

    return prd_consensus(peers, rounds=CONVERGED_ROUNDS).scores


def _true_scores(reviews: Reviews, truth: Truth) -> list[float] | None:
    try:
        return order_true_scores(reviews.names, truth.scores)
    except Undefined:
        return None


def _correlation_cells(scores: Sequence[float], true: list[float] | None) -> list[Cell]:
    if true is None:
        return [None, None]
    try:
        near = nearness_to_truth(scores, true)
    except Undefined:
        return [None, None]
    return [near.pearson, near.spearman]


def _usage_cell(name: str, terms: RankingOptions) -> str:
    return Note("peers.readings.used") if name == terms.reading else ""


def _order_note(max_difference: float, *, same: bool) -> str:
    if max_difference < _SAME:
        return Note("peers.readings.equal")
    return Note("peers.readings.same-order") if same else Note("peers.readings.other")
