"""How weights and scores come to agree, round by round, from many starts: figure 3 of the paper."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.analysis.peer_review.ranking_methods import Terms, consensus, in_order
from fullbench.analysis.peer_review.reviews_from_record import Reviews
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats
    from fullbench.stats.peer_review.peer_rankings import Consensus


def convergence(reviews: Reviews, *, terms: Terms) -> Table:
    """The loss of all starts by round."""
    learned, shown = _learned(reviews, terms)
    settled = [turn for turn in learned.rounds if turn is not None]
    rows: list[list[Cell]] = [
        [
            turn, *(f"{value:.1e}" for value in (loss.mean(), loss.min(), loss.max())),
            math.log10(loss.mean()) if loss.mean() > 0 else None,
        ]
        for turn, loss in enumerate(learned.trace[:shown])
    ]  # fmt: skip
    last = max(settled, default=0)
    when = Note("peers.tables.last", ", the last after {n} rounds", n=last) if settled else ""
    notes = [
        Note(
            "peers.tables.their-scores-lie-within-of",
            "{settled} of {starts} starts settled{when}; their scores lie within {spread:.2g} of each other.",
            settled=len(settled),
            starts=len(learned.rounds),
            when=when,
            spread=learned.spread,
        )
    ]
    title = Note(
        "peers.tables.title.loss-by-round-from-starts", "Loss by round, from {n} starts", n=len(learned.rounds)
    )
    columns = headings("round", "mean loss", "least", "most", "log10 of loss")
    hint = {"kind": "lines", "x": "round", "columns": ["log10 of loss"]}
    return Table("convergence", title, columns, rows, notes, {}, hint)


def nearing(reviews: Reviews, *, truth: Truth, terms: Terms) -> Table:
    """Pearson's correlation of all starts with the truth, by round; no row where no truth is known."""
    learned, shown = _learned(reviews, terms)
    near = _near(reviews, truth, learned.path)
    rows = [[turn, *cells] for turn, cells in enumerate(near[:shown])]
    title = Note(
        "peers.tables.title.nearer-by-round", "Nearer to the truth by round, from {n} starts", n=len(learned.rounds)
    )
    hint = {"kind": "lines", "x": "round", "columns": ["pearson", "least pearson"]}
    return Table("nearing", title, headings("round", "pearson", "least pearson"), rows, _elsewhere(learned), {}, hint)


def elsewhere(reviews: Reviews, terms: Terms) -> list[str]:
    """A note where some starts end at other scores than those that UPME is said to give."""
    return _elsewhere(_learned(reviews, terms)[0])


def _elsewhere(learned: Consensus) -> list[str]:
    if not learned.elsewhere:
        return []
    return [
        Note(
            "peers.tables.starts-end-elsewhere",
            "{n} of {starts} starts end at other scores, up to {spread:.2g} away: these reviews let weights and scores "
            "agree in more than one way. UPME's scores are those of the start with the least loss, among equals of "
            "even weights; more reviews may leave one way.",
            n=learned.elsewhere,
            starts=len(learned.rounds),
            spread=learned.spread,
        )
    ]


def _learned(reviews: Reviews, terms: Terms) -> tuple[Consensus, int]:
    """What was learned, and how many rounds there are to show: to where the last start settled."""
    learned = consensus(reviews.peers(terms.gamma), "UPME", terms=terms)
    settled = [turn for turn in learned.rounds if turn is not None]
    return learned, max(settled) + 1 if len(settled) == len(learned.rounds) else len(learned.trace)


def _near(reviews: Reviews, truth: Truth, path: Floats | None) -> list[list[Cell]]:
    """For each round the mean and the least of all starts' correlations with the truth; empty where there is none."""
    import numpy as np

    try:
        true = np.array(in_order(reviews.names, truth.scores))
    except Undefined:
        return []
    if path is None:
        return []
    scores = path
    away = true - true.mean()
    centred = scores - scores.mean(axis=2, keepdims=True)
    below = np.linalg.norm(centred, axis=2) * np.linalg.norm(away)
    if not (below > 0).all():
        return []
    r = centred @ away / below
    return [[float(of_starts.mean()), float(of_starts.min())] for of_starts in r]
