"""How weights and scores come to agree, round by round, from many starts: figure 3 of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fullbench.errors import Undefined
from fullbench.figures.peers.methods import Terms, consensus, in_order
from fullbench.figures.peers.reviews import Reviews
from fullbench.figures.peers.truth import Truth
from fullbench.nouns.headings import headings
from fullbench.nouns.note import Note
from fullbench.nouns.table import Cell, Table

if TYPE_CHECKING:
    from fullbench.stats.arrays import Floats


def convergence(reviews: Reviews, *, truth: Truth, terms: Terms) -> Table:
    """The loss of all starts by round and, where the truth is known, Pearson's correlation with it."""
    learned = consensus(reviews.peers(terms.gamma), "UPME", terms=terms)
    settled = [turn for turn in learned.rounds if turn is not None]
    shown = max(settled) + 1 if len(settled) == len(learned.rounds) else len(learned.trace)
    near = _near(reviews, truth, learned.path)
    rows: list[list[Cell]] = [
        [turn, *(f"{value:.1e}" for value in (loss.mean(), loss.min(), loss.max())), *(near[turn] if near else ())]
        for turn, loss in enumerate(learned.trace[:shown])
    ]
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
    columns = headings("round", "mean loss", "least", "most", *(("pearson", "least pearson") if near else ()))
    hint = {"kind": "lines", "x": "round", "columns": ["pearson", "least pearson"]} if near else None
    return Table("convergence", title, columns, rows, notes, {}, hint)


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
