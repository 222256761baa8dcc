"""Correlation of a peer review with the truth: by method, part, weights of the parts, and number of pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from statistics import fmean, stdev

from fullbench.analysis.peer_review.ground_truth import Truth
from fullbench.analysis.peer_review.ranking_methods import (
    METHODS,
    RankingOptions,
    correlation_ranges,
    learn_consensus,
    method_scores,
    nearness_to_truth,
    order_true_scores,
)
from fullbench.analysis.peer_review.reviews_from_record import PARTS, Reviews
from fullbench.core.built_in_table_columns import table_columns, with_deviation
from fullbench.core.estimate import Estimate
from fullbench.core.rubric import CORRECTNESS, CORRELATION, VISUAL
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, word_note
from fullbench.errors import Undefined

SIZES = (5, 10, 25, 50, 100)
SEEDS = (1, 2, 3, 4)
# Weights of correctness, visual part and correlation.
GAMMAS = ((0.4, 0.4, 0.2), (0.3, 0.3, 0.4), (0.5, 0.3, 0.2), (0.3, 0.5, 0.2))

_FIGURES = ("pearson", "spearman", "kendall", "entropy")


def _nearness_cells(estimated_scores: Sequence[float], names: Sequence[str], truth: Mapping[str, float]) -> list[Cell]:
    try:
        measures = nearness_to_truth(estimated_scores, order_true_scores(names, truth))
    except Undefined:
        return [None] * len(_FIGURES)
    return [getattr(measures, metric) for metric in _FIGURES]


def nearness_table(reviews: Reviews, *, truth: Truth, terms: RankingOptions) -> Table:
    """Return how near each method comes to the truth, with intervals over the pictures of the truth."""
    rows: list[list[Cell]] = []
    for label, scores in _scores_of_rankings(reviews, truth.scores, terms):
        cells = _nearness_cells(list(scores.values()), list(scores), truth.scores)
        if truth.draws is not None and cells[0] is not None:
            scored_contestants = list(truth.scores)
            ranges = correlation_ranges(
                list(scores.values()), truth.draws[:, [scored_contestants.index(name) for name in scores]]
            )
            cells[:3] = [
                _estimate_in_range(number_from_cell(cell), *ends, len(scores))
                for cell, ends in zip(cells[:3], ranges, strict=True)
            ]
        rows.append([label, *cells])
    notes: list[str] = [
        Note("peers.tables.alone-one-reviewer-who-ranks"), Note("peers.tables.entropy-of-the-patterns-of"),
    ]  # fmt: skip
    if rows and truth.draws is not None:
        notes.append(Note("peers.tables.nearness-intervals"))
    elif rows:
        notes.append(Note("peers.tables.nearness-without-intervals", n=len(reviews.names)))
    notes += [truth.source] if truth.source else []
    columns = table_columns("method", *_FIGURES)
    return Table("nearness", Note("peers.tables.title.how-near-each-method-comes"), columns, rows, notes)


def _estimate_in_range(value: float, low: float, high: float, contestants: int) -> Cell:
    if not low < high:
        return value
    return Estimate(value, min(value, low), max(value, high), contestants, method="bootstrap over pictures")


def _scores_of_rankings(
    reviews: Reviews, truth: Mapping[str, float], terms: RankingOptions
) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the scores by each method, by weights made from the truth, and by each reviewer as the only judge."""
    from fullbench.stats.peer_review.equation_variants import consistent_weights, reversed_weights
    from fullbench.stats.peer_review.peer_rankings import single_reviewer_scores, weighted_consensus

    if not truth:
        return
    for method in METHODS:
        with suppress(Undefined):
            yield method, dict(zip(reviews.names, method_scores(reviews, method, terms), strict=True))
    peers = reviews.peers(terms.gamma)
    with suppress(Undefined):
        true = order_true_scores(reviews.names, truth)
        for name, make_weights in (("consistent weights", consistent_weights), ("reversed weights", reversed_weights)):
            yield name, dict(zip(reviews.names, weighted_consensus(peers, make_weights(true)).scores, strict=True))
    for place, name in enumerate(reviews.names):
        # A reviewer ranks all but itself.
        rates = zip(reviews.names, single_reviewer_scores(peers, place), strict=True)
        if rate_by_contestant := {contestant: rate for contestant, rate in rates if rate is not None}:
            yield f"{name} alone", rate_by_contestant


def _reference_scores(
    reviews: Reviews, truth: Mapping[str, float], terms: RankingOptions
) -> tuple[Mapping[str, float], str]:
    if set(reviews.names) <= set(truth):
        return truth, Note("peers.tables.with-truth")
    upme_scores = dict(zip(reviews.names, method_scores(reviews, "UPME", terms), strict=True))
    return upme_scores, Note("peers.tables.without-truth")


def ablation_table(reviews: Reviews, *, truth: Mapping[str, float], terms: RankingOptions) -> Table:
    """Return what each part of the score adds."""
    reference, note = _reference_scores(reviews, truth, terms)
    parts = [part for part in PARTS if reviews.is_known[part].any() and terms.gamma.get(part, 0) > 0]
    rows: list[list[Cell]] = [
        [
            word_note("all, equal weights"),
            *_nearness_cells(method_scores(reviews, "uniform", terms), reviews.names, reference),
        ]
    ]
    for size in range(1, len(parts) + 1):
        for some in combinations(parts, size):
            of_some = replace(terms, gamma={part: terms.gamma[part] for part in some})
            rows.append(
                [" + ".join(some), *_nearness_cells(method_scores(reviews, "UPME", of_some), reviews.names, reference)]
            )
    return Table(
        "ablation",
        Note("peers.tables.title.what-each-part-adds"),
        table_columns("parts", *_FIGURES),
        rows,
        [note],
        {},
        {"kind": "bars", "label": "parts", "value": "pearson"},
    )


def gamma_table(reviews: Reviews, *, truth: Mapping[str, float], terms: RankingOptions) -> Table:
    """Return the nearness under other weights of the parts."""
    reference, note = _reference_scores(reviews, truth, terms)
    rows: list[list[Cell]] = []
    for triple in GAMMAS:
        weighted_options = replace(terms, gamma=dict(zip((CORRECTNESS, VISUAL, CORRELATION), triple, strict=True)))
        rows.append(
            [*triple, *_nearness_cells(method_scores(reviews, "UPME", weighted_options), reviews.names, reference)]
        )
    return Table(
        "gamma", Note("peers.tables.title.weights-of-the-parts"), table_columns(*PARTS, *_FIGURES), rows, [note]
    )


def sample_size_table(reviews: Reviews, *, truth: Mapping[str, float], terms: RankingOptions) -> Table:
    """Return the nearness from fewer pictures: mean and sample standard deviation over four draws each."""
    import random

    reference, note = _reference_scores(reviews, truth, replace(terms, seed=0))
    rows: list[list[Cell]] = []
    total = len(reviews.images)
    for size in sorted({size for size in SIZES if size < total} | {total}):
        draw_cells = []
        for seed in SEEDS if size < total else SEEDS[:1]:
            peers = reviews.peers(terms.gamma, random.Random(seed).sample(range(total), size))
            if (peers.counts.sum(axis=0) > 0).all():
                draw_cells.append(
                    _nearness_cells(
                        learn_consensus(peers, "UPME", starts=8, terms=replace(terms, seed=0)).scores,
                        reviews.names,
                        reference,
                    )
                )
        rows += _mean_and_deviation_rows(size, draw_cells)
    columns = table_columns("pictures", "draws", *(column for metric in _FIGURES for column in with_deviation(metric)))
    return Table(
        "sizes",
        Note("peers.tables.title.how-many-pictures-are-enough"),
        columns,
        rows,
        [note],
        {},
        {"kind": "lines", "x": "pictures", "columns": ["pearson", "spearman", "entropy"]},
    )


def _mean_and_deviation_rows(size: int, draw_cells: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    complete_rows = [[number_from_cell(cell) for cell in row] for row in draw_cells if None not in row]
    if not complete_rows:
        return []
    columns = list(zip(*complete_rows, strict=True))
    cells = [cell for column in columns for cell in (fmean(column), stdev(column) if len(column) > 1 else None)]
    return [[size, len(complete_rows), *cells]]


def number_from_cell(cell: Cell) -> float:
    """Return a cell as a number, or 0 if it is not one."""
    if isinstance(cell, int | float):
        return float(cell)
    return cell.value if isinstance(cell, Estimate) else 0.0
