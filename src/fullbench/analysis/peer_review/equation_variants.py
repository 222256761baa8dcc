"""The paper's equations by each reading: what ranking it gives, and whether it is peer rank's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.analysis.peer_review.ranking_methods import Terms, consensus, in_order, nearness
from fullbench.analysis.peer_review.reviews_from_record import Reviews
from fullbench.core.column_labels import headings
from fullbench.core.note import Note
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined
from fullbench.stats.peer_review.equation_variants import READINGS

if TYPE_CHECKING:
    from fullbench.stats.peer_review.peer_rankings import Peers

SETTLED = 100
"""Rounds after which peer rank no longer moves; its authors stop after five."""
_SAME = 5e-4


def readings(reviews: Reviews, *, truth: Truth, terms: Terms) -> Table:
    """A row for each reading: how far its scores lie from settled peer rank's at most, and how near to the truth."""
    import numpy as np

    from fullbench.stats.peer_review.peer_rankings import scaled

    peers = reviews.peers(terms.gamma)
    ranked = np.array(settled_prd(peers))
    true = _true(reviews, truth)
    rows: list[list[Cell]] = []
    for name, reading in READINGS.items():
        scores = np.array(consensus(peers, "UPME", starts=8, terms=replace(terms, reading=name)).scores)
        apart = float(np.abs(scaled(scores) - scaled(ranked)).max())
        same = [*np.argsort(-scores, kind="stable")] == [*np.argsort(-ranked, kind="stable")]
        rows.append(
            [name, _said(name, terms), reading.meaning, apart, _prd(apart, same=same), *_near(scores.tolist(), true)]
        )
    title = Note("peers.readings.title", "UPME by each reading of its equations")
    notes = [
        Note(
            "peers.readings.apart",
            "Apart from PRD: the furthest that a score, both from 0 to 1, lies from that of peer rank (PRD) once it no "
            "longer moves. The reading 'range' is PRD's own rule: all that separates the two then is that PRD stops "
            "after five rounds.",
        )
    ]
    columns = headings("reading", "used", "what it means", "apart from PRD", "order", "pearson", "spearman")
    return Table("readings", title, columns, rows, notes, terms.settings)


def settled_prd(peers: Peers) -> tuple[float, ...]:
    """Peer rank after so many rounds that it no longer moves."""
    from fullbench.stats.peer_review.peer_rankings import prd

    return prd(peers, rounds=SETTLED).scores


def _true(reviews: Reviews, truth: Truth) -> list[float] | None:
    try:
        return in_order(reviews.names, truth.scores)
    except Undefined:
        return None


def _near(scores: Sequence[float], true: list[float] | None) -> list[Cell]:
    if true is None:
        return [None, None]
    try:
        near = nearness(scores, true)
    except Undefined:
        return [None, None]
    return [near.pearson, near.spearman]


def _said(name: str, terms: Terms) -> str:
    return Note("peers.readings.used", "yes") if name == terms.reading else ""


def _prd(apart: float, *, same: bool) -> str:
    if apart < _SAME:
        return Note("peers.readings.equal", "equals PRD")
    return Note("peers.readings.same-order", "PRD's order") if same else Note("peers.readings.other", "another order")
