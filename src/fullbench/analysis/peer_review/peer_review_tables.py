"""Tables of a peer review: the ranking by every method, what reviewers count and move, and what the parts add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from statistics import fmean

from fullbench.analysis import all_tables
from fullbench.analysis.peer_review.distance_to_truth import ablation, gammas, near, number, sizes
from fullbench.analysis.peer_review.equation_variants import readings
from fullbench.analysis.peer_review.ground_truth import Truth, in_this_order, truth_of
from fullbench.analysis.peer_review.ranking_bootstrap import interval, order
from fullbench.analysis.peer_review.ranking_methods import METHODS, ROBUST, Terms, consensus, scores
from fullbench.analysis.peer_review.reviewer_accuracy import accuracy
from fullbench.analysis.peer_review.reviewer_biases import biases
from fullbench.analysis.peer_review.reviewers_with_people import against_people
from fullbench.analysis.peer_review.reviews_from_record import PARTS, TRUTHS, Gamma, Reviews, reviewer_of, reviewers
from fullbench.analysis.peer_review.shared_bias_warnings import warnings
from fullbench.analysis.peer_review.weight_convergence import convergence, elsewhere, nearing
from fullbench.core.column_labels import headings, moves
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, sentence
from fullbench.core.record import Record
from fullbench.core.rubric import CORRECTNESS, VISUAL
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined
from fullbench.stats.peer_review.equation_variants import USUAL


def tables(
    record: Record,
    *,
    terms: Terms | None = None,
    truth: Truth | None = None,
    best_first: Sequence[str] = (),
    families: Mapping[str, str] | None = None,
) -> list[Table]:
    """All that the record allows. `truth` is what rankings are compared with where it was given; otherwise it is what
    people, or a judge that knows, say in the record. `best_first` is the true order of the contestants, where it is
    known beforehand.

    A judge that ruled on one author's questions alone is that author, reviewing; so is a contestant that rules on
    questions that were given. Any other is an outsider: its rulings stand alone and take no part in the peer review.
    """
    outsiders = _outsiders(record)
    among = record.where(lambda verdict: verdict.judge not in outsiders)
    known = truth or (in_this_order(tuple(best_first)) if best_first else truth_of(among))
    peer_tables = _tables(among, terms or Terms(), known, best_first, families)
    peer_tables += [_won(record.where(judge=judge), judge) for judge in outsiders]
    return [*peer_tables, all_tables.faults(record, together=True), all_tables.costs(record)]


def _outsiders(record: Record) -> list[str]:
    """The judges that ruled on the questions of several authors, or on given ones and are no contestant."""
    authors: dict[str, set[str]] = {}
    known = reviewers(record)
    for verdict in record:
        if verdict.judge not in TRUTHS and verdict.criterion in {CORRECTNESS, VISUAL} and verdict.item in record.items:
            authors.setdefault(verdict.judge, set()).add(reviewer_of(record, verdict, known))
    return sorted(judge for judge, names in authors.items() if len(names) > 1 or names == {""})


def _won(record: Record, judge: str) -> Table:
    rows: list[list[Cell]] = [[name, share] for name, share in _plain(record).items()]
    note = Note(
        "peers.tables.this-judge-ruled-on-the",
        "This judge is no contestant that reviews others: it takes no part in the peer review, and weights nobody.",
    )
    return Table(
        f"won by {judge}",
        Note("peers.tables.title.share-of-reviews-won-by", "Share of reviews won, by {judge}", judge=judge),
        headings("contestant", "won"),
        rows,
        [note],
    )


def _tables(
    record: Record, terms: Terms, truth: Truth, best_first: Sequence[str], families: Mapping[str, str] | None
) -> list[Table]:
    reviews = Reviews.of(record)
    beside = [accuracy(record), biases(record, families), against_people(record)]
    if not len(reviews):
        return [*_nothing(record), *(table for table in beside if table.rows)]
    makers: dict[str, Callable[[Reviews], Table]] = {
        "ranking": partial(_ranking, truth=truth, terms=terms),
        "order": partial(order, best_first=best_first, terms=terms),
        "warnings": partial(warnings, terms=terms, truth=truth, families=families),
        "reviewers": partial(_reviewers, terms=terms),
        "convergence": partial(convergence, terms=terms),
        "nearing": partial(nearing, truth=truth, terms=terms),
        "nearness": partial(near, truth=truth.scores, terms=terms),
        "readings": partial(readings, truth=truth, terms=terms),
        "ablation": partial(ablation, truth=truth.scores, terms=terms),
        "gamma": partial(gammas, truth=truth.scores, terms=terms),
        "sizes": partial(sizes, truth=truth.scores, terms=terms),
    }
    computed: list[Table] = []
    lost: list[list[Cell]] = []
    for name, maker in makers.items():
        try:
            computed.append(maker(reviews))
        except Undefined as reason:
            lost.append([name, sentence(reason)])
    missing = _missing(lost)
    return [table for table in [*computed, *beside, missing] if table.rows]


def _nothing(record: Record) -> list[Table]:
    """Why there is no ranking, where rulings were paid for and none of them counts."""
    rulings = [verdict for verdict in record if verdict.criterion in {CORRECTNESS, VISUAL}]
    faulty = sum(verdict.marks is None for verdict in rulings)
    if not rulings or faulty < len(rulings):
        return []
    why = Note("peers.tables.all-faulty", "none of {n:,} rulings could be read: see the faults", n=len(rulings))
    return [_missing([["ranking", why]])]


def _missing(rows: list[list[Cell]]) -> Table:
    title = Note("peers.tables.title.what-could-not-be-computed", "What could not be computed")
    return Table("left out", title, headings("table", "why"), rows)


def _plain(record: Record) -> dict[str, float]:
    won: dict[str, list[float]] = {}
    for verdict in record:
        if verdict.marks is not None and len(verdict.contestants) == 2 and verdict.judge not in TRUTHS:
            for name, mark in zip(verdict.contestants, verdict.marks, strict=True):
                won.setdefault(name, []).append(mark)
    means = {name: fmean(marks) for name, marks in won.items()}
    return dict(sorted(means.items(), key=lambda pair: -pair[1]))


def _ranking(reviews: Reviews, *, truth: Truth, terms: Terms) -> Table:
    gamma, known = terms.gamma, truth.scores
    scores_by_method: dict[str, Sequence[Cell]] = {}
    notes = _part_notes(reviews, gamma)
    for method in METHODS:
        try:
            scores_by_method[method] = scores(reviews, method, terms)
        except Undefined as reason:
            notes.append(
                Note(
                    "peers.tables.no-scores-by",
                    "No scores by {method}: {reason}.",
                    method=method,
                    reason=sentence(reason),
                )
            )
    plain = list(scores_by_method.get("UPME", ()))
    order = sorted(range(len(reviews.names)), key=lambda place: -number(plain[place]) if plain else 0)
    if plain:
        drawn = interval(reviews, terms)
        notes += _close([(reviews.names[place], drawn[place]) for place in order])
        notes += elsewhere(reviews, terms)
        scores_by_method["UPME"] = drawn
    columns = headings("rank", "contestant", *scores_by_method, *(["truth"] if known else []))
    rows: list[list[Cell]] = [
        [
            rank, reviews.names[place], *(column[place] for column in scores_by_method.values()),
            *([known.get(reviews.names[place])] if known else []),
        ]
        for rank, place in enumerate(order, 1)
    ]  # fmt: skip
    notes.append(
        Note(
            "peers.tables.reviews-of-contestants-on-pictures",
            "{n:,} reviews of {contestants} contestants on {pictures} pictures.",
            n=len(reviews),
            contestants=len(reviews.names),
            pictures=len(reviews.images),
        )
    )
    notes += [truth.source] if known else []
    if terms.reading == USUAL:
        notes.append(
            Note(
                "peers.tables.upme-is-prd",
                "UPME and PRD have one rule here and differ by their rounds alone; --reading takes another, and the "
                "table 'readings' shows all.",
            )
        )
    source = {**terms.settings, "starts": 64}
    hint = {"kind": "intervals", "label": "contestant", "value": "UPME"}
    return Table(
        "ranking",
        Note("peers.tables.title.ranking-without-labels", "Ranking without labels"),
        columns,
        rows,
        notes,
        source,
        hint,
    )


def _close(ranked: Sequence[tuple[str, Estimate]]) -> list[str]:
    """A note on neighbours whose order is open, and one where there are none."""
    pairs = [f"{better} and {worse}" for (better, high), (worse, low) in pairwise(ranked) if high.low <= low.high]
    if not pairs:
        return [Note("peers.tables.no-overlap", "No two neighbours' intervals overlap.")]
    return [
        Note(
            "peers.tables.overlap", "Intervals overlap, so that the order may be the other way round: {pairs}.",
            pairs="; ".join(pairs),
        )
    ]  # fmt: skip


def _part_notes(reviews: Reviews, gamma: Gamma) -> list[str]:
    notes: list[str] = []
    for part in PARTS:
        lost = len(reviews) - int(reviews.known[part].sum())
        if gamma.get(part) and lost:
            notes.append(
                Note(
                    "peers.tables.not-known-for-of-reviews",
                    "{part}: not known for {lost:,} of {n:,} reviews; the other parts take its weight.",
                    part=part,
                    lost=lost,
                    n=len(reviews),
                )
            )
    if reviews.outside:
        notes.append(
            Note(
                "peers.tables.reviews-by-somebody-who-was",
                "{outside:,} reviews by somebody who was never reviewed are left out.",
                outside=reviews.outside,
            )
        )
    if reviews.own:
        notes.append(
            Note(
                "peers.tables.own-left-out",
                "{own:,} rulings on the reviewer's own answers are left out.",
                own=reviews.own,
            )
        )
    return notes


def _reviewers(reviews: Reviews, *, terms: Terms) -> Table:
    from fullbench.stats.peer_review.peer_rankings import influence

    peers = reviews.peers(terms.gamma)
    names = ("UPME", ROBUST, "uniform")
    weights = {name: consensus(peers, name, terms=terms).weights for name in names}
    moved = {
        name: influence(peers, partial(consensus, method=name, starts=4, terms=replace(terms, seed=0)))
        for name in names
    }
    review_counts = peers.counts.sum(axis=1) / 2
    rows: list[list[Cell]] = [
        [name, int(review_counts[place]), weights["UPME"][place], *(moved[method][place] for method in names)]
        for place, name in enumerate(reviews.names)
    ]
    rows.sort(key=lambda row: -number(row[2]))
    columns = headings("reviewer", "reviews", "weight", *(moves(name) for name in names))
    notes = [
        Note(
            "peers.tables.moves-the-furthest-that-any",
            "Moves: the furthest that any contestant's score moves when this reviewer's reviews are left out.",
        ),
        Note(
            "peers.tables.robust-of-each-contestant-s",
            "Robust: of each contestant's reviewers the most and the least generous fifth do not count.",
        ),
    ]
    hint = {"kind": "bars", "label": "reviewer", "value": "weight"}
    return Table(
        "reviewers",
        Note("peers.tables.title.what-each-reviewer-counts-and", "What each reviewer counts and moves"),
        columns,
        rows,
        notes,
        {},
        hint,
    )
