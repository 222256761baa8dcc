"""Convergence of weights and scores by round from many starts: figure 3 of the paper."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.analysis.peer_review.ranking_methods import RankingOptions, learn_consensus, order_true_scores
from fullbench.analysis.peer_review.reviews_from_record import Reviews
from fullbench.core.column_labels import table_columns
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats
    from fullbench.stats.peer_review.peer_rankings import Consensus


def convergence_table(reviews: Reviews, *, terms: RankingOptions) -> Table:
    """Return the loss of all starts by round."""
    upme_consensus, round_count = _upme_consensus_and_rounds(reviews, terms)
    settled_rounds = [turn for turn in upme_consensus.rounds if turn is not None]
    rows: list[list[Cell]] = [
        [
            turn, *(f"{value:.1e}" for value in (loss.mean(), loss.min(), loss.max())),
            math.log10(loss.mean()) if loss.mean() > 0 else None,
        ]
        for turn, loss in enumerate(upme_consensus.trace[:round_count])
    ]  # fmt: skip
    last = max(settled_rounds, default=0)
    when = Note("peers.tables.last", n=last) if settled_rounds else ""
    notes = [
        Note(
            "peers.tables.their-scores-lie-within-of",
            settled=len(settled_rounds),
            starts=len(upme_consensus.rounds),
            when=when,
            spread=upme_consensus.spread,
        )
    ]
    title = Note("peers.tables.title.loss-by-round-from-starts", n=len(upme_consensus.rounds))
    columns = table_columns("round", "mean loss", "least", "most", "log10 of loss")
    hint = {"kind": "lines", "x": "round", "columns": ["log10 of loss"]}
    return Table("convergence", title, columns, rows, notes, {}, hint)


def nearness_by_round_table(reviews: Reviews, *, truth: Truth, terms: RankingOptions) -> Table:
    """Return Pearson's correlation of all starts with the truth by round; no rows if no truth is known."""
    upme_consensus, round_count = _upme_consensus_and_rounds(reviews, terms)
    near = _truth_correlations(reviews, truth, upme_consensus.path)
    rows = [[turn, *cells] for turn, cells in enumerate(near[:round_count])]
    title = Note("peers.tables.title.nearer-by-round", n=len(upme_consensus.rounds))
    hint = {"kind": "lines", "x": "round", "columns": ["pearson", "least pearson"]}
    return Table(
        "nearing",
        title,
        table_columns("round", "pearson", "least pearson"),
        rows,
        _other_solution_notes(upme_consensus),
        {},
        hint,
    )


def other_solution_notes(reviews: Reviews, terms: RankingOptions) -> list[str]:
    """Return a note if some starts end at other scores than the reported UPME scores."""
    return _other_solution_notes(_upme_consensus_and_rounds(reviews, terms)[0])


def _other_solution_notes(upme_consensus: Consensus) -> list[str]:
    if not upme_consensus.other_solution_count:
        return []
    return [
        Note(
            "peers.tables.starts-end-elsewhere",
            n=upme_consensus.other_solution_count,
            starts=len(upme_consensus.rounds),
            spread=upme_consensus.spread,
        )
    ]


def _upme_consensus_and_rounds(reviews: Reviews, terms: RankingOptions) -> tuple[Consensus, int]:
    """Return the UPME consensus and the number of rounds to show: until the last start converged."""
    upme_consensus = learn_consensus(reviews.peers(terms.gamma), "UPME", terms=terms)
    settled_rounds = [turn for turn in upme_consensus.rounds if turn is not None]
    return upme_consensus, max(settled_rounds) + 1 if len(settled_rounds) == len(upme_consensus.rounds) else len(
        upme_consensus.trace
    )


def _truth_correlations(reviews: Reviews, truth: Truth, path: Floats | None) -> list[list[Cell]]:
    import numpy as np

    try:
        true = np.array(order_true_scores(reviews.names, truth.scores))
    except Undefined:
        return []
    if path is None:
        return []
    scores = path
    away = true - true.mean()
    centred_scores = scores - scores.mean(axis=2, keepdims=True)
    below = np.linalg.norm(centred_scores, axis=2) * np.linalg.norm(away)
    if not (below > 0).all():
        return []
    r = centred_scores @ away / below
    return [[float(of_starts.mean()), float(of_starts.min())] for of_starts in r]
