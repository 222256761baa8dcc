"""How near a peer review comes to the truth: by method, by part, by weights, by number of pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import fmean, stdev

from fullbench.analysis.peer_review.ranking_methods import METHODS, Terms, consensus, in_order, nearness, scores
from fullbench.analysis.peer_review.reviews_from_record import PARTS, Gamma, Reviews
from fullbench.core.column_labels import headings, with_deviation
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, word
from fullbench.core.rubric import CORRECTNESS, CORRELATION, VISUAL
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined

SIZES = (5, 10, 25, 50, 100)
SEEDS = (1, 2, 3, 4)
GAMMAS = ((0.4, 0.4, 0.2), (0.3, 0.3, 0.4), (0.5, 0.3, 0.2), (0.3, 0.5, 0.2))

_FIGURES = ("pearson", "spearman", "kendall", "entropy")


def _beside(estimated: Sequence[float], names: Sequence[str], truth: Mapping[str, float]) -> list[Cell]:
    """The four figures of nearness, empty where they are not defined."""
    try:
        measured = nearness(estimated, in_order(names, truth))
    except Undefined:
        return [None] * len(_FIGURES)
    return [getattr(measured, figure) for figure in _FIGURES]


def near(reviews: Reviews, *, truth: Mapping[str, float], terms: Terms) -> Table:
    """How near each method comes to the truth."""
    rows: list[list[Cell]] = []
    for method in METHODS if truth else ():
        try:
            rows.append([method, *_beside(scores(reviews, method, terms), reviews.names, truth)])
        except Undefined:
            continue
    for name, share in (("consistent weights", False), ("reversed weights", True)) if truth else ():
        rows.append([name, *_hand_made(reviews, truth, terms.gamma, reverse=share)])
    rows += [[f"{name} alone", *figures] for name, figures in _alone(reviews, truth, terms.gamma)] if truth else []
    columns = headings("method", *_FIGURES)
    notes = [
        Note("peers.tables.alone-one-reviewer-who-ranks", "Alone: one reviewer, who ranks all but itself."),
        Note(
            "peers.tables.entropy-of-the-patterns-of",
            "Entropy: of the patterns of three neighbours in the list of true ranks, natural logarithm; 0 is sorted.",
        ),
    ]
    return Table(
        "nearness",
        Note("peers.tables.title.how-near-each-method-comes", "How near each method comes to the truth"),
        columns,
        rows,
        notes,
    )


def _alone(reviews: Reviews, truth: Mapping[str, float], gamma: Gamma) -> Iterator[tuple[str, list[Cell]]]:
    """Each reviewer as the only judge, of the others."""
    from fullbench.stats.peer_review.peer_rankings import single

    peers = reviews.peers(gamma)
    for place, name in enumerate(reviews.names):
        rates = {
            other: rate for other, rate in zip(reviews.names, single(peers, place), strict=True) if rate is not None
        }
        if rates:
            yield name, _beside(list(rates.values()), list(rates), truth)


def _hand_made(reviews: Reviews, truth: Mapping[str, float], gamma: Gamma, *, reverse: bool) -> list[Cell]:
    from fullbench.stats.peer_review.equation_variants import consistent_weights, reversed_weights
    from fullbench.stats.peer_review.peer_rankings import weighted

    try:
        true = in_order(reviews.names, truth)
    except Undefined:
        return [None] * len(_FIGURES)
    weights = reversed_weights(true) if reverse else consistent_weights(true)
    return _beside(weighted(reviews.peers(gamma), weights).scores, reviews.names, truth)


def _reference(reviews: Reviews, truth: Mapping[str, float], terms: Terms) -> tuple[Mapping[str, float], str]:
    """What rankings are compared with: the truth, or the full UPME ranking where nobody told it."""
    if set(reviews.names) <= set(truth):
        return truth, Note("peers.tables.with-truth", "Compared with the truth.")
    whole = dict(zip(reviews.names, scores(reviews, "UPME", terms), strict=True))
    return whole, Note(
        "peers.tables.without-truth",
        "No truth is known: compared with the UPME ranking of all reviews and all parts.",
    )


def _parts_known(reviews: Reviews, gamma: Gamma) -> list[str]:
    """The parts that were ruled on and count."""
    return [part for part in PARTS if reviews.known[part].any() and gamma.get(part, 0) > 0]


def ablation(reviews: Reviews, *, truth: Mapping[str, float], terms: Terms) -> Table:
    """What each part adds."""
    reference, note = _reference(reviews, truth, terms)
    parts = _parts_known(reviews, terms.gamma)
    rows: list[list[Cell]] = [
        [word("all, every reviewer alike"), *_beside(scores(reviews, "uniform", terms), reviews.names, reference)]
    ]
    for size in range(1, len(parts) + 1):
        for some in combinations(parts, size):
            of_some = replace(terms, gamma={part: terms.gamma[part] for part in some})
            rows.append([" + ".join(some), *_beside(scores(reviews, "UPME", of_some), reviews.names, reference)])
    return Table(
        "ablation",
        Note("peers.tables.title.what-each-part-adds", "What each part adds"),
        headings("parts", *_FIGURES),
        rows,
        [note],
        {},
        {"kind": "bars", "label": "parts", "value": "pearson"},
    )


def gammas(reviews: Reviews, *, truth: Mapping[str, float], terms: Terms) -> Table:
    """What other weights of the parts would give."""
    reference, note = _reference(reviews, truth, terms)
    rows: list[list[Cell]] = []
    for triple in GAMMAS:
        weighed = replace(terms, gamma=dict(zip((CORRECTNESS, VISUAL, CORRELATION), triple, strict=True)))
        rows.append([*triple, *_beside(scores(reviews, "UPME", weighed), reviews.names, reference)])
    return Table(
        "gamma",
        Note("peers.tables.title.weights-of-the-parts", "Weights of the parts"),
        headings(*PARTS, *_FIGURES),
        rows,
        [note],
    )


def sizes(reviews: Reviews, *, truth: Mapping[str, float], terms: Terms) -> Table:
    """The ranking from fewer pictures, four draws each: mean and sample standard deviation."""
    import random

    reference, note = _reference(reviews, truth, replace(terms, seed=0))
    rows: list[list[Cell]] = []
    total = len(reviews.images)
    for size in sorted({size for size in SIZES if size < total} | {total}):
        resampled = []
        for seed in SEEDS if size < total else SEEDS[:1]:
            peers = reviews.peers(terms.gamma, random.Random(seed).sample(range(total), size))
            if (peers.counts.sum(axis=0) > 0).all():
                resampled.append(
                    _beside(
                        consensus(peers, "UPME", starts=8, terms=replace(terms, seed=0)).scores,
                        reviews.names,
                        reference,
                    )
                )
        rows += _spread(size, resampled)
    columns = headings("pictures", "draws", *(column for figure in _FIGURES for column in with_deviation(figure)))
    return Table(
        "sizes",
        Note("peers.tables.title.how-many-pictures-are-enough", "How many pictures are enough"),
        columns,
        rows,
        [note],
        {},
        {"kind": "lines", "x": "pictures", "columns": ["pearson", "spearman", "entropy"]},
    )


def _spread(size: int, resampled: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    known = [[number(cell) for cell in row] for row in resampled if None not in row]
    if not known:
        return []
    columns = list(zip(*known, strict=True))
    cells = [cell for column in columns for cell in (fmean(column), stdev(column) if len(column) > 1 else None)]
    return [[size, len(known), *cells]]


def number(cell: Cell) -> float:
    """A cell as a number; 0 where it is none."""
    if isinstance(cell, int | float):
        return float(cell)
    return cell.value if isinstance(cell, Estimate) else 0.0
