"""Repeated peer reviews with different seeds: mean and deviation of every method, as in table 1 of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from fullbench.analysis.peer_review.ground_truth import Truth, truth_from_record
from fullbench.analysis.peer_review.ranking_methods import (
    METHODS,
    Nearness,
    RankingOptions,
    method_scores,
    nearness_to_truth,
    order_true_scores,
)
from fullbench.analysis.peer_review.reviews_from_record import Reviews
from fullbench.core.built_in_table_columns import table_columns, with_deviation
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.peer_review.peer_rankings import single_reviewer_scores

_FIGURES = ("pearson", "spearman", "entropy")


@dataclass(frozen=True)
class Run:
    """One run: its record, its ranking options, and the truth if it was given."""

    record: Record
    terms: RankingOptions
    truth: Truth


def runs_table(review_runs: Sequence[Run]) -> Table:
    """Return the nearness of every method and single reviewer: mean and sample standard deviation over the runs."""
    near: dict[str, list[Nearness]] = {}
    for run in review_runs:
        reviews = Reviews.from_record(run.record)
        truth = run.truth or truth_from_record(run.record)
        if len(reviews):
            _add_nearness(near, reviews, truth, run.terms)
    rows: list[list[Cell]] = [
        [name, *_mean_and_deviation_cells(nearness_list), len(nearness_list)] for name, nearness_list in near.items()
    ]
    columns = table_columns("method", *(column for metric in _FIGURES for column in with_deviation(metric)), "runs")
    notes = [
        Note("peers.runs.each-seed", n=len(review_runs), seeds=", ".join(str(run.terms.seed) for run in review_runs)),
        Note("peers.runs.sd"),
    ]
    if not rows:
        notes.append(Note("peers.runs.no-truth"))
    hint = {"kind": "bars", "label": "method", "value": "pearson"}
    return Table("runs", Note("peers.runs.title"), columns, rows, notes, {}, hint)


def _add_nearness(near: dict[str, list[Nearness]], reviews: Reviews, truth: Truth, terms: RankingOptions) -> None:
    for method in METHODS:
        try:
            run_nearness = nearness_to_truth(
                method_scores(reviews, method, terms), order_true_scores(reviews.names, truth.scores)
            )
        except Undefined:
            continue
        near.setdefault(method, []).append(run_nearness)
    peers = reviews.peers(terms.gamma)
    for place, name in enumerate(reviews.names):
        of_others = zip(reviews.names, single_reviewer_scores(peers, place), strict=True)
        rates = {contestant: rate for contestant, rate in of_others if rate is not None}
        try:
            run_nearness = nearness_to_truth(list(rates.values()), order_true_scores(list(rates), truth.scores))
        except Undefined:
            continue
        near.setdefault(f"{name} alone", []).append(run_nearness)


def _mean_and_deviation_cells(nearness_list: Sequence[Nearness]) -> list[Cell]:
    columns = [[getattr(near, metric) for near in nearness_list] for metric in _FIGURES]
    return [
        cell for values in columns for cell in (fmean(values), stdev(values) if len(values) > 1 else None)
    ]  # fmt: skip
