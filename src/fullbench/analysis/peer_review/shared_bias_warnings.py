"""What the scores of a peer review cannot see: leanings that reviewers share, and reviewers who favour each other.

A leaning that all reviewers share moves every score and leaves no trace in how far they agree. What it does leave is a
pattern within contestants: the same model's longer answer fares better than its shorter one, the same answer fares
better with its own kin than with others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

import numpy as np

from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.analysis.peer_review.ranking_methods import Terms, consensus
from fullbench.analysis.peer_review.reviewer_biases import families_by, own_family_of
from fullbench.analysis.peer_review.reviews_from_record import Reviews
from fullbench.core.column_labels import headings
from fullbench.core.note import Note, sentence
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats
from fullbench.stats.peer_review.peer_rankings import Peers
from fullbench.stats.peer_review.shared_bias import Explained, Mutual, explained, mutual
from fullbench.stats.ratings.joint_rating_model import Votes

ALPHA = 0.02
"""A shared leaning is warned of below this p; two are looked at, so that at most one clean court in 25 is warned."""
ALPHA_EACH_OTHER = 0.01
"""Of all pairs of reviewers together."""
_MANY = 20
"""With more contestants than this, who could decide the order by favouring each other is not worked out."""


def warnings(reviews: Reviews, *, terms: Terms, truth: Truth, families: Mapping[str, str] | None = None) -> Table:
    """One row for each thing that was looked for, and what was seen of it."""
    rows = [*_shared(reviews, families), *_each_other(reviews)]
    notes = [*_about_truth(truth), *_deciders(reviews, terms)]
    notes.append(
        Note(
            "peers.warnings.what-share-is",
            "Share: how often the longer answer by one doubling, or one's own kin, is preferred to its equal (0.5 "
            "without a leaning); for two reviewers, by how much of a vote each favours the other beyond what "
            "everybody's reviews make of them. A warning needs p below {alpha}, for two reviewers below "
            "{pairs} after Bonferroni.",
            alpha=ALPHA,
            pairs=ALPHA_EACH_OTHER,
        )
    )
    title = Note("peers.warnings.title", "What these scores cannot see")
    return Table("warnings", title, headings("what", "who", "share", "p", "state", "why"), rows, notes)


def warned(table: Table) -> list[str]:
    """What a table of warnings warns of, by its first column."""
    return [
        str(what) for what, state in zip(table.column("what"), table.column("state"), strict=True)
        if getattr(state, "id", "") == "peers.warnings.warning"
    ]  # fmt: skip


def _state(*, seen: bool) -> str:
    if seen:
        return Note("peers.warnings.warning", "WARNING")
    return Note("peers.warnings.nothing", "nothing seen")


def _open() -> str:
    return Note("peers.warnings.open", "not known")


def _shared(reviews: Reviews, families: Mapping[str, str] | None) -> Iterator[list[Cell]]:
    longer = Note("peers.warnings.longer", "longer answers win")
    own = Note("peers.warnings.own", "one's own family wins")
    votes, rows = reviews.rulings()
    lead = None if reviews.lead is None else reviews.lead[rows]
    known = np.ones(len(rows), dtype=bool) if lead is None else ~np.isnan(lead)
    heard = votes.only(known)
    size = len(reviews.names)
    if lead is None or not heard.lead.any():
        why = Note("peers.warnings.no-lengths", "the answers' texts are not at hand, or all are equally long")
        yield [longer, "", None, None, _open(), why]
    else:
        yield _leaning(longer, lambda: explained(heard, size), _within_pairs(heard, size))
    family = families_by(families)
    toward = own_family_of(heard, reviews.names, family)
    if not toward.any():
        why = Note("peers.warnings.no-kin", "no two contestants are of one family by their names")
        yield [own, "", None, None, _open(), why]
    else:
        yield _leaning(own, lambda: explained(heard, size, lengths=bool(heard.lead.any())), toward)


def _within_pairs(votes: Votes, size: int) -> Floats:
    """How much longer the first answer is than the same two contestants' answers usually are.

    Who is wordy may also be who is good, or whose kin reviews: only the same two on other pictures tell length apart.
    """
    pair = votes.one * size + votes.two
    times = np.maximum(1, np.bincount(pair, minlength=size * size))
    usual = np.bincount(pair, votes.lead, size * size) / times
    lead: Floats = votes.lead - usual[pair]
    return np.where(np.abs(lead) < 1e-9, 0.0, lead)


def _leaning(what: str, model: Callable[[], Explained], toward: Floats) -> list[Cell]:
    try:
        leaning = model().leaning(toward)
    except Undefined as reason:
        return [what, "", None, None, _open(), sentence(reason)]
    seen = leaning.p < ALPHA and leaning.size > 0
    why = Note(
        "peers.warnings.cannot-tell",
        "either they are better, or reviewers like them: the scores cannot tell, people's votes can",
    )
    return [what, "", leaning.share, leaning.p, _state(seen=seen), why if seen else ""]


def _each_other(reviews: Reviews) -> Iterator[list[Cell]]:
    what = Note("peers.warnings.each-other", "two reviewers favour each other")
    try:
        pairs = mutual(reviews.rulings()[0], len(reviews.names), alpha=ALPHA_EACH_OTHER)
    except Undefined as reason:
        yield [what, "", None, None, _open(), sentence(reason)]
        return
    sure = [pair for pair in pairs if pair.p < ALPHA_EACH_OTHER]
    for pair in sure or pairs[:1]:
        yield [what, _both(reviews, pair), pair.excess, pair.p, _state(seen=bool(sure)), ""]
    if not pairs:
        yield [what, "", None, None, _state(seen=False), ""]


def _both(reviews: Reviews, pair: Mutual) -> str:
    return Note(
        "peers.warnings.both", "{one} and {other}", one=reviews.names[pair.one], other=reviews.names[pair.other]
    )


def _about_truth(truth: Truth) -> list[str]:
    if truth:
        return [truth.source]
    return [
        Note(
            "peers.warnings.no-truth",
            "No truth is known here: nothing below says whether the ranking is right, only how reviews hang together. "
            "People's votes on some of these answers (fullbench people), a list of scores (--human-scores) or "
            "questions with answers (--questions) can.",
        )
    ]


def _deciders(reviews: Reviews, terms: Terms) -> list[str]:
    """How many pairs of reviewers could put one of themselves first by ruling for each other throughout."""
    size = len(reviews.names)
    if size > _MANY:
        return []
    peers = reviews.peers(terms.gamma)
    if (peers.counts.sum(axis=0) == 0).any():
        return []
    best = _first(peers, terms)
    able = [
        pair for pair in combinations(range(size), 2)
        if best not in pair and _first(_favoured(peers, *pair), terms) in pair
    ]  # fmt: skip
    names = "; ".join(f"{reviews.names[first]} & {reviews.names[second]}" for first, second in able[:3])
    if not able:
        return [
            Note(
                "peers.warnings.nobody-decides",
                "No two reviewers could put one of themselves first by ruling for each other throughout.",
            )
        ]
    return [
        Note(
            "peers.warnings.deciders",
            "{n} of {pairs} pairs of reviewers could put one of themselves first by ruling for each other throughout, "
            "such as {names}; the column 'UPME, robust' moves less.",
            n=len(able),
            pairs=size * (size - 1) // 2,
            names=names,
        )
    ]


def _first(peers: Peers, terms: Terms) -> int:
    scores = consensus(peers, "UPME", starts=1, terms=terms).scores
    return scores.index(max(scores))


def _favoured(peers: Peers, first: int, second: int) -> Peers:
    """As if each of the two had given the other every point there is."""
    points = peers.points.copy()
    for reviewer, liked in ((first, second), (second, first)):
        points[reviewer, liked] = peers.counts[reviewer, liked]
    return Peers(points, peers.counts)
