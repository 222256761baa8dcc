"""Warnings about biases that peer review scores cannot reveal: shared biases, and reviewers favouring each other.

A bias that all reviewers share moves every score and does not show in their agreement. It does show within
contestants: the same model's longer answer does better than its shorter one, or the same answer does better with
reviewers of its own family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

import numpy as np

from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.analysis.peer_review.ranking_methods import RankingOptions, learn_consensus
from fullbench.analysis.peer_review.reviewer_length_and_family_biases import family_lookup, own_family_of
from fullbench.analysis.peer_review.reviews_from_record import Reviews
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, error_sentence
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats
from fullbench.stats.peer_review.peer_rankings import Peers
from fullbench.stats.peer_review.shared_and_mutual_reviewer_biases import (
    MutualBias,
    VoteModel,
    fit_vote_model,
    mutual_biases,
)
from fullbench.stats.ratings.joint_rating_model import Votes

ALPHA = 0.02
"""Warn of a shared bias below this p. Two are tested, so at most 1 in 25 unbiased reviews gets a warning."""
ALPHA_EACH_OTHER = 0.01
"""Level for all pairs of reviewers together."""
_MANY = 20
"""With more contestants than this, pairs that could decide the order are not computed."""


def bias_warning_table(
    reviews: Reviews, *, terms: RankingOptions, truth: Truth, families: Mapping[str, str] | None = None
) -> Table:
    """Return one row per bias that was tested, and the result."""
    rows = [*_shared_bias_rows(reviews, families), *_mutual_bias_rows(reviews)]
    notes = [*_about_truth(truth), *_decider_notes(reviews, terms)]
    notes.append(Note("peers.warnings.what-share-is", alpha=ALPHA, pairs=ALPHA_EACH_OTHER))
    title = Note("peers.warnings.title")
    return Table("warnings", title, table_columns("what", "who", "share", "p", "state", "why"), rows, notes)


def warning_names(table: Table) -> list[str]:
    """Return the first column of the rows that are warnings."""
    return [
        str(what) for what, state in zip(table.column("what"), table.column("state"), strict=True)
        if getattr(state, "id", "") == "peers.warnings.warning"
    ]  # fmt: skip


def _state_note(*, is_warning: bool) -> str:
    if is_warning:
        return Note("peers.warnings.warning")
    return Note("peers.warnings.nothing")


def _unknown_note() -> str:
    return Note("peers.warnings.open")


def _shared_bias_rows(reviews: Reviews, families: Mapping[str, str] | None) -> Iterator[list[Cell]]:
    longer = Note("peers.warnings.longer")
    own_family_note = Note("peers.warnings.own")
    votes, rows = reviews.joint_votes()
    lead = None if reviews.lead is None else reviews.lead[rows]
    has_length = np.ones(len(rows), dtype=bool) if lead is None else ~np.isnan(lead)
    known_votes = votes.select_rows(has_length)
    size = len(reviews.names)
    if lead is None or not known_votes.lead.any():
        why = Note("peers.warnings.no-lengths")
        yield [longer, "", None, None, _unknown_note(), why]
    else:
        yield _bias_row(longer, lambda: fit_vote_model(known_votes, size), _within_pairs(known_votes, size))
    family = family_lookup(families)
    toward = own_family_of(known_votes, reviews.names, family)
    if not toward.any():
        why = Note("peers.warnings.no-kin")
        yield [own_family_note, "", None, None, _unknown_note(), why]
    else:
        yield _bias_row(
            own_family_note, lambda: fit_vote_model(known_votes, size, lengths=bool(known_votes.lead.any())), toward
        )


def _within_pairs(votes: Votes, size: int) -> Floats:
    """Return how much longer the first answer is than usual for the same two contestants.
    A verbose model may also be good, or have reviewers of its family; other pictures of the same two separate this.
    """
    pair = votes.first * size + votes.second
    times = np.maximum(1, np.bincount(pair, minlength=size * size))
    usual = np.bincount(pair, votes.lead, size * size) / times
    lead: Floats = votes.lead - usual[pair]
    return np.where(np.abs(lead) < 1e-9, 0.0, lead)  # rounding noise is no lead


def _bias_row(what: str, model: Callable[[], VoteModel], toward: Floats) -> list[Cell]:
    try:
        bias_estimate = model().estimate_bias(toward)
    except Undefined as reason:
        return [what, "", None, None, _unknown_note(), error_sentence(reason)]
    is_warning = bias_estimate.p < ALPHA and bias_estimate.size > 0
    why = Note("peers.warnings.cannot-tell")
    return [
        what,
        "",
        bias_estimate.share,
        bias_estimate.p,
        _state_note(is_warning=is_warning),
        why if is_warning else "",
    ]


def _mutual_bias_rows(reviews: Reviews) -> Iterator[list[Cell]]:
    what = Note("peers.warnings.each-other")
    try:
        pairs = mutual_biases(reviews.joint_votes()[0], len(reviews.names), alpha=ALPHA_EACH_OTHER)
    except Undefined as reason:
        yield [what, "", None, None, _unknown_note(), error_sentence(reason)]
        return
    sure = [pair for pair in pairs if pair.p < ALPHA_EACH_OTHER]
    for pair in sure or pairs[:1]:
        yield [what, _pair_label(reviews, pair), pair.excess, pair.p, _state_note(is_warning=bool(sure)), ""]
    if not pairs:
        yield [what, "", None, None, _state_note(is_warning=False), ""]


def _pair_label(reviews: Reviews, pair: MutualBias) -> str:
    return Note(
        "peers.warnings.both", one=reviews.names[pair.first_reviewer], other=reviews.names[pair.second_reviewer]
    )


def _about_truth(truth: Truth) -> list[str]:
    if truth:
        return [truth.source]
    return [Note("peers.warnings.no-truth")]


def _decider_notes(reviews: Reviews, terms: RankingOptions) -> list[str]:
    """Return a note on how many pairs of reviewers could put one of them first by always voting for each other."""
    size = len(reviews.names)
    if size > _MANY:
        return []
    peers = reviews.peers(terms.gamma)
    if (peers.counts.sum(axis=0) == 0).any():
        return []
    best = _best_contestant(peers, terms)
    able = [
        pair for pair in combinations(range(size), 2)
        if best not in pair and _best_contestant(_with_mutual_points(peers, *pair), terms) in pair
    ]  # fmt: skip
    names = "; ".join(f"{reviews.names[first]} & {reviews.names[second]}" for first, second in able[:3])
    if not able:
        return [Note("peers.warnings.nobody-decides")]
    return [Note("peers.warnings.deciders", n=len(able), pairs=size * (size - 1) // 2, names=names)]


def _best_contestant(peers: Peers, terms: RankingOptions) -> int:
    scores = learn_consensus(peers, "UPME", starts=1, terms=terms).scores
    return scores.index(max(scores))


def _with_mutual_points(peers: Peers, first: int, second: int) -> Peers:
    points = peers.points.copy()
    for reviewer, partner in ((first, second), (second, first)):
        points[reviewer, partner] = peers.counts[reviewer, partner]
    return Peers(points, peers.counts)
