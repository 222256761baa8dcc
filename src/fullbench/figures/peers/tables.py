"""Tables of a peer review: the ranking by every method, what reviewers count and move, and what the parts add."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations, pairwise
from statistics import fmean, stdev

from fullbench.errors import Undefined
from fullbench.figures import standard
from fullbench.figures.peers import biases
from fullbench.figures.peers.drawn import interval, order, ranked
from fullbench.figures.peers.methods import METHODS, ROBUST, consensus, in_order, nearness, scores
from fullbench.figures.peers.people import against_people
from fullbench.figures.peers.reviews import GAMMA, PARTS, TRUTHS, Gamma, Reviews, true_scores
from fullbench.nouns.criteria import CORRECTNESS, CORRELATION, VISUAL
from fullbench.nouns.estimate import Estimate
from fullbench.nouns.record import Record
from fullbench.nouns.table import Cell, Table

SIZES = (5, 10, 25, 50, 100)
SEEDS = (1, 2, 3, 4)
GAMMAS = ((0.4, 0.4, 0.2), (0.3, 0.3, 0.4), (0.5, 0.3, 0.2), (0.3, 0.5, 0.2))
_FIGURES = ("pearson", "spearman", "kendall", "entropy")


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
    note = "This judge ruled on the questions of several authors: it is no peer, and weights nobody."
    return Table(f"won by {judge}", f"Share of reviews won, by {judge}", ("contestant", "won"), rows, [note])


def _tables(record: Record, gamma: Gamma, seed: int, best_first: Sequence[str]) -> list[Table]:
    reviews = Reviews.of(record)
    truth = ranked(best_first) or true_scores(record)
    if not len(reviews):
        return []
    makers: dict[str, Callable[[Reviews], Table]] = {
        "ranking": partial(_ranking, truth=truth, gamma=gamma, seed=seed),
        "order": partial(order, best_first=best_first, gamma=gamma, seed=seed),
        "reviewers": partial(_reviewers, gamma=gamma, seed=seed),
        "convergence": partial(_convergence, gamma=gamma, seed=seed),
        "nearness": partial(_nearness, truth=truth, gamma=gamma, seed=seed),
        "ablation": partial(_ablation, truth=truth, seed=seed),
        "gamma": partial(_gammas, truth=truth, seed=seed),
        "sizes": partial(_sizes, truth=truth, gamma=gamma),
    }
    computed: list[Table] = []
    lost: list[list[Cell]] = []
    for name, maker in makers.items():
        try:
            computed.append(maker(reviews))
        except Undefined as reason:
            lost.append([name, str(reason)])
    missing = Table("left out", "What could not be computed", ("table", "why"), lost)
    return [table for table in [*computed, _biases(record), against_people(record), missing] if table.rows]


def _plain(record: Record) -> dict[str, float]:
    won: dict[str, list[float]] = {}
    for verdict in record:
        if verdict.marks is not None and len(verdict.contestants) == 2 and verdict.judge not in TRUTHS:
            for name, mark in zip(verdict.contestants, verdict.marks, strict=True):
                won.setdefault(name, []).append(mark)
    means = {name: fmean(marks) for name, marks in won.items()}
    return dict(sorted(means.items(), key=lambda pair: -pair[1]))


def _parts_known(reviews: Reviews) -> list[str]:
    return [part for part in PARTS if reviews.known[part].any()]


def _ranking(reviews: Reviews, *, truth: Mapping[str, float], gamma: Gamma, seed: int) -> Table:
    scores_by_method: dict[str, Sequence[Cell]] = {}
    notes = _part_notes(reviews, gamma)
    for method in METHODS:
        try:
            scores_by_method[method] = scores(reviews, method, gamma, seed=seed)
        except Undefined as reason:
            notes.append(f"No scores by {method}: {reason}.")
    plain = list(scores_by_method.get("UPME", ()))
    order = sorted(range(len(reviews.names)), key=lambda place: -_number(plain[place]) if plain else 0)
    if plain:
        drawn = interval(reviews, gamma, seed)
        notes += _close([(reviews.names[place], drawn[place]) for place in order])
        scores_by_method["UPME"] = drawn
    columns = ["rank", "contestant", *scores_by_method, *(["truth"] if truth else [])]
    rows: list[list[Cell]] = [
        [
            rank, reviews.names[place], *(column[place] for column in scores_by_method.values()),
            *([truth.get(reviews.names[place])] if truth else []),
        ]
        for rank, place in enumerate(order, 1)
    ]  # fmt: skip
    notes.append(f"{len(reviews):,} reviews of {len(reviews.names)} contestants on {len(reviews.images)} pictures.")
    source = {"gamma": dict(gamma), "seed": seed, "starts": 64}
    hint = {"kind": "intervals", "label": "contestant", "value": "UPME"}
    return Table("ranking", "Ranking without labels", columns, rows, notes, source, hint)


def _close(ranked: Sequence[tuple[str, Estimate]]) -> list[str]:
    """A note on neighbours whose order is open, and one where there are none."""
    pairs = [f"{better} and {worse}" for (better, high), (worse, low) in pairwise(ranked) if high.low <= low.high]
    if not pairs:
        return ["No two neighbours' intervals overlap."]
    return [f"Intervals overlap, so that the order may be the other way round: {'; '.join(pairs)}."]


def _part_notes(reviews: Reviews, gamma: Gamma) -> list[str]:
    notes = []
    for part in PARTS:
        lost = len(reviews) - int(reviews.known[part].sum())
        if gamma.get(part) and lost:
            notes.append(
                f"{part}: not known for {lost:,} of {len(reviews):,} reviews; the other parts take its weight."
            )
    if reviews.outside:
        notes.append(f"{reviews.outside:,} reviews by somebody who was never reviewed are left out.")
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
    rows.sort(key=lambda row: -_number(row[2]))
    columns = ("reviewer", "reviews", "weight", *(f"moves {name}" for name in names))
    notes = ["Moves: the furthest that any contestant's score moves when this reviewer's reviews are left out.",
             "Robust: of each contestant's reviewers the most and the least generous fifth do not count."]  # fmt: skip
    hint = {"kind": "bars", "label": "reviewer", "value": "weight"}
    return Table("reviewers", "What each reviewer counts and moves", columns, rows, notes, {}, hint)


def _convergence(reviews: Reviews, *, gamma: Gamma, seed: int) -> Table:
    peer_consensus = consensus(reviews.peers(gamma), "UPME", seed=seed)
    rounds = [turn for turn in peer_consensus.rounds if turn is not None]
    shown = max(rounds) + 1 if len(rounds) == len(peer_consensus.rounds) else len(peer_consensus.trace)
    rows: list[list[Cell]] = [
        [turn, *(f"{value:.1e}" for value in (loss.mean(), loss.min(), loss.max()))]
        for turn, loss in enumerate(peer_consensus.trace[:shown])
    ]
    settled = f"{len(rounds)} of {len(peer_consensus.rounds)} starts settled"
    when = f", the last after {max(rounds)} rounds" if rounds else ""
    notes = [f"{settled}{when}; their scores lie within {peer_consensus.spread:.2g} of each other."]
    title = f"Loss by round, from {len(peer_consensus.rounds)} starts"
    return Table("convergence", title, ("round", "mean loss", "least", "most"), rows, notes)


def _beside(estimated: Sequence[float], names: Sequence[str], truth: Mapping[str, float]) -> list[Cell]:
    """The four figures of nearness, empty where they are not defined."""
    try:
        near = nearness(estimated, in_order(names, truth))
    except Undefined:
        return [None] * len(_FIGURES)
    return [getattr(near, figure) for figure in _FIGURES]


def _nearness(reviews: Reviews, *, truth: Mapping[str, float], gamma: Gamma, seed: int) -> Table:
    rows: list[list[Cell]] = []
    for method in METHODS if truth else ():
        try:
            rows.append([method, *_beside(scores(reviews, method, gamma, seed=seed), reviews.names, truth)])
        except Undefined:
            continue
    for name, share in (("consistent weights", False), ("reversed weights", True)) if truth else ():
        rows.append([name, *_hand_made(reviews, truth, gamma, reverse=share)])
    rows += [[f"{name} alone", *figures] for name, figures in _alone(reviews, truth, gamma)] if truth else []
    columns = ("method", *_FIGURES)
    notes = [
        "Alone: one reviewer, who ranks all but itself.",
        "Entropy: of the patterns of three neighbours in the list of true ranks, natural logarithm; 0 is sorted.",
    ]
    return Table("nearness", "How near each method comes to the truth", columns, rows, notes)


def _alone(reviews: Reviews, truth: Mapping[str, float], gamma: Gamma) -> Iterator[tuple[str, list[Cell]]]:
    """Each reviewer as the only judge, of the others."""
    from fullbench.stats.peers import single

    peers = reviews.peers(gamma)
    for place, name in enumerate(reviews.names):
        rates = {
            other: rate for other, rate in zip(reviews.names, single(peers, place), strict=True) if rate is not None
        }
        if rates:
            yield name, _beside(list(rates.values()), list(rates), truth)


def _hand_made(reviews: Reviews, truth: Mapping[str, float], gamma: Gamma, *, reverse: bool) -> list[Cell]:
    from fullbench.stats.peers import consistent_weights, reversed_weights, weighted

    try:
        true = in_order(reviews.names, truth)
    except Undefined:
        return [None] * len(_FIGURES)
    weights = reversed_weights(true) if reverse else consistent_weights(true)
    return _beside(weighted(reviews.peers(gamma), weights).scores, reviews.names, truth)


def _reference(reviews: Reviews, truth: Mapping[str, float], seed: int) -> tuple[Mapping[str, float], str]:
    """What rankings are compared with: the truth, or the full UPME ranking where nobody told it."""
    if set(reviews.names) <= set(truth):
        return truth, "Compared with the truth."
    whole = dict(zip(reviews.names, scores(reviews, "UPME", seed=seed), strict=True))
    return whole, "No truth is known: compared with the UPME ranking of all reviews and all parts."


def _ablation(reviews: Reviews, *, truth: Mapping[str, float], seed: int) -> Table:
    reference, note = _reference(reviews, truth, seed)
    parts = _parts_known(reviews)
    rows: list[list[Cell]] = [
        ["all, every reviewer alike", *_beside(scores(reviews, "uniform"), reviews.names, reference)]
    ]
    for size in range(1, len(parts) + 1):
        for some in combinations(parts, size):
            gamma = {part: GAMMA[part] for part in some}
            rows.append(
                [" + ".join(some), *_beside(scores(reviews, "UPME", gamma, seed=seed), reviews.names, reference)]
            )
    return Table("ablation", "What each part adds", ("parts", *_FIGURES), rows, [note])


def _gammas(reviews: Reviews, *, truth: Mapping[str, float], seed: int) -> Table:
    reference, note = _reference(reviews, truth, seed)
    rows: list[list[Cell]] = []
    for triple in GAMMAS:
        gamma = dict(zip((CORRECTNESS, VISUAL, CORRELATION), triple, strict=True))
        rows.append([*triple, *_beside(scores(reviews, "UPME", gamma, seed=seed), reviews.names, reference)])
    return Table("gamma", "Weights of the parts", (*PARTS, *_FIGURES), rows, [note])


def _sizes(reviews: Reviews, *, truth: Mapping[str, float], gamma: Gamma) -> Table:
    """The ranking from fewer pictures, four draws each: mean and sample standard deviation."""
    import random

    reference, note = _reference(reviews, truth, 0)
    rows: list[list[Cell]] = []
    total = len(reviews.images)
    for size in sorted({size for size in SIZES if size < total} | {total}):
        resampled = []
        for seed in SEEDS if size < total else SEEDS[:1]:
            peers = reviews.peers(gamma, random.Random(seed).sample(range(total), size))
            if (peers.counts.sum(axis=0) > 0).all():
                resampled.append(_beside(consensus(peers, "UPME", starts=8).scores, reviews.names, reference))
        rows += _spread(size, resampled)
    columns = ("pictures", "draws", *(f"{figure}{what}" for figure in _FIGURES for what in ("", " sd")))
    return Table("sizes", "How many pictures are enough", columns, rows, [note])


def _spread(size: int, resampled: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    known = [[_number(cell) for cell in row] for row in resampled if None not in row]
    if not known:
        return []
    columns = list(zip(*known, strict=True))
    cells = [cell for column in columns for cell in (fmean(column), stdev(column) if len(column) > 1 else None)]
    return [[size, len(known), *cells]]


def _biases(record: Record) -> Table:
    rows: list[list[Cell]] = []
    notes = ["Reviews that chose one of two, where the truth does too. Chi-square has one degree of freedom."]
    for criterion in (CORRECTNESS, VISUAL):
        for name, likes in (("longer answer", biases.longer(record)), ("own family", biases.own_family(record))):
            counts = biases.counted(record, criterion, likes)
            if not sum(counts.wrong + counts.right):
                continue
            test = counts.test
            figures: list[Cell] = [None] * 3 if test is None else [test.chi_square, test.p, test.phi]
            notes += [f"{name}, {criterion}: no test, {counts.why}."] * (test is None)
            rows.append([name, criterion, *counts.wrong, *counts.right, *figures])
    columns = ("chosen", "criterion", "wrong: yes", "wrong: no", "right: yes", "right: no", "chi-square", "p", "phi")
    return Table("biases", "Whether wrong reviews lean one way", columns, rows, notes)


def _number(cell: Cell) -> float:
    if isinstance(cell, int | float):
        return float(cell)
    return cell.value if isinstance(cell, Estimate) else 0.0
