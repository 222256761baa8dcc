"""Tables of a peer review: the ranking by every method, what reviewers count and move, and what the parts add."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from statistics import fmean

from fullbench.errors import Undefined
from fullbench.figures import standard
from fullbench.figures.peers import biases
from fullbench.figures.peers.drawn import interval, order, ranked
from fullbench.figures.peers.methods import METHODS, ROBUST, consensus, scores
from fullbench.figures.peers.nearness import ablation, gammas, near, number, sizes
from fullbench.figures.peers.people import against_people
from fullbench.figures.peers.reviews import GAMMA, PARTS, TRUTHS, Gamma, Reviews, true_scores
from fullbench.nouns.criteria import CORRECTNESS, CORRELATION, VISUAL
from fullbench.nouns.estimate import Estimate
from fullbench.nouns.headings import headings, moves
from fullbench.nouns.note import Note, sentence, word
from fullbench.nouns.record import Record
from fullbench.nouns.table import Cell, Table


def tables(
    record: Record, *, gamma: Gamma = GAMMA, seed: int = 0, best_first: Sequence[str] | None = None
) -> list[Table]:
    """All that the record allows. `best_first` is the true order of the contestants, where it is known beforehand.

    A judge that ruled on one author's questions alone is that author, reviewing. One that ruled on several authors'
    questions is an outsider: its rulings stand alone and take no part in the peer review.
    """
    outsiders = _outsiders(record)
    among = record.where(lambda verdict: verdict.judge not in outsiders)
    peer_tables = _tables(among, gamma, seed, best_first or ())
    peer_tables += [_won(record.where(judge=judge), judge) for judge in outsiders]
    return [*peer_tables, standard.faults(record, together=True), standard.costs(record)]


def _outsiders(record: Record) -> list[str]:
    """The judges that ruled on the questions of several authors."""
    authors: dict[str, set[str]] = {}
    for verdict in record:
        if verdict.judge not in TRUTHS and verdict.criterion != CORRELATION:
            authors.setdefault(verdict.judge, set()).add(record.tag(verdict, "reviewer"))
    return sorted(judge for judge, author_names in authors.items() if len(author_names) > 1)


def _won(record: Record, judge: str) -> Table:
    rows: list[list[Cell]] = [[name, share] for name, share in _plain(record).items()]
    note = Note(
        "peers.tables.this-judge-ruled-on-the",
        "This judge ruled on the questions of several authors: it is no peer, and weights nobody.",
    )
    return Table(
        f"won by {judge}",
        Note("peers.tables.title.share-of-reviews-won-by", "Share of reviews won, by {judge}", judge=judge),
        headings("contestant", "won"),
        rows,
        [note],
    )


def _tables(record: Record, gamma: Gamma, seed: int, best_first: Sequence[str]) -> list[Table]:
    reviews = Reviews.of(record)
    truth = ranked(best_first) or true_scores(record)
    if not len(reviews):
        return [table for table in (_biases(record), against_people(record)) if table.rows]
    makers: dict[str, Callable[[Reviews], Table]] = {
        "ranking": partial(_ranking, truth=truth, gamma=gamma, seed=seed),
        "order": partial(order, best_first=best_first, gamma=gamma, seed=seed),
        "reviewers": partial(_reviewers, gamma=gamma, seed=seed),
        "convergence": partial(_convergence, gamma=gamma, seed=seed),
        "nearness": partial(near, truth=truth, gamma=gamma, seed=seed),
        "ablation": partial(ablation, truth=truth, seed=seed),
        "gamma": partial(gammas, truth=truth, seed=seed),
        "sizes": partial(sizes, truth=truth, gamma=gamma),
    }
    computed: list[Table] = []
    lost: list[list[Cell]] = []
    for name, maker in makers.items():
        try:
            computed.append(maker(reviews))
        except Undefined as reason:
            lost.append([name, sentence(reason)])
    missing = Table(
        "left out",
        Note("peers.tables.title.what-could-not-be-computed", "What could not be computed"),
        headings("table", "why"),
        lost,
    )
    return [table for table in [*computed, _biases(record), against_people(record), missing] if table.rows]


def _plain(record: Record) -> dict[str, float]:
    won: dict[str, list[float]] = {}
    for verdict in record:
        if verdict.marks is not None and len(verdict.contestants) == 2 and verdict.judge not in TRUTHS:
            for name, mark in zip(verdict.contestants, verdict.marks, strict=True):
                won.setdefault(name, []).append(mark)
    means = {name: fmean(marks) for name, marks in won.items()}
    return dict(sorted(means.items(), key=lambda pair: -pair[1]))


def _ranking(reviews: Reviews, *, truth: Mapping[str, float], gamma: Gamma, seed: int) -> Table:
    scores_by_method: dict[str, Sequence[Cell]] = {}
    notes = _part_notes(reviews, gamma)
    for method in METHODS:
        try:
            scores_by_method[method] = scores(reviews, method, gamma, seed=seed)
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
        drawn = interval(reviews, gamma, seed)
        notes += _close([(reviews.names[place], drawn[place]) for place in order])
        scores_by_method["UPME"] = drawn
    columns = headings("rank", "contestant", *scores_by_method, *(["truth"] if truth else []))
    rows: list[list[Cell]] = [
        [
            rank, reviews.names[place], *(column[place] for column in scores_by_method.values()),
            *([truth.get(reviews.names[place])] if truth else []),
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
    source = {"gamma": dict(gamma), "seed": seed, "starts": 64}
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
    return notes


def _reviewers(reviews: Reviews, *, gamma: Gamma, seed: int) -> Table:
    from fullbench.stats.peers import influence

    peers = reviews.peers(gamma)
    names = ("UPME", ROBUST, "uniform")
    weights = {name: consensus(peers, name, seed=seed).weights for name in names}
    moved = {name: influence(peers, partial(consensus, method=name, starts=4)) for name in names}
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


def _convergence(reviews: Reviews, *, gamma: Gamma, seed: int) -> Table:
    peer_consensus = consensus(reviews.peers(gamma), "UPME", seed=seed)
    rounds = [turn for turn in peer_consensus.rounds if turn is not None]
    shown = max(rounds) + 1 if len(rounds) == len(peer_consensus.rounds) else len(peer_consensus.trace)
    rows: list[list[Cell]] = [
        [turn, *(f"{value:.1e}" for value in (loss.mean(), loss.min(), loss.max()))]
        for turn, loss in enumerate(peer_consensus.trace[:shown])
    ]
    last = max(rounds, default=0)
    when = Note("peers.tables.last", ", the last after {n} rounds", n=last) if rounds else ""
    notes = [
        Note(
            "peers.tables.their-scores-lie-within-of",
            "{settled} of {starts} starts settled{when}; their scores lie within {spread:.2g} of each other.",
            settled=len(rounds),
            starts=len(peer_consensus.rounds),
            when=when,
            spread=peer_consensus.spread,
        )
    ]
    title = Note(
        "peers.tables.title.loss-by-round-from-starts", "Loss by round, from {n} starts", n=len(peer_consensus.rounds)
    )
    return Table("convergence", title, headings("round", "mean loss", "least", "most"), rows, notes)


def _biases(record: Record) -> Table:
    rows: list[list[Cell]] = []
    notes = [
        Note(
            "peers.tables.reviews-that-chose-one-of",
            "Reviews that chose one of two, where the truth does too. Chi-square has one degree of freedom.",
        )
    ]
    for criterion in (CORRECTNESS, VISUAL):
        for name, likes in (("longer answer", biases.longer(record)), ("own family", biases.own_family(record))):
            counts = biases.counted(record, criterion, likes)
            if not sum(counts.wrong + counts.right):
                continue
            test = counts.test
            figures: list[Cell] = [None] * 3 if test is None else [test.chi_square, test.p, test.phi]
            notes += [
                Note(
                    "peers.tables.no-test",
                    "{name}, {criterion}: no test, {why}.",
                    name=word(name),
                    criterion=criterion,
                    why=counts.why,
                )
            ] * (test is None)
            rows.append([name, criterion, *counts.wrong, *counts.right, *figures])
    columns = headings(
        "chosen", "criterion", "wrong: yes", "wrong: no", "right: yes", "right: no", "chi-square", "p", "phi"
    )
    return Table(
        "biases",
        Note("peers.tables.title.whether-wrong-reviews-lean-one", "Whether wrong reviews lean one way"),
        columns,
        rows,
        notes,
    )
