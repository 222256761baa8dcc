"""Several runs of a peer review, each from its own seed: the mean and deviation of every method, as in table 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from fullbench.analysis.peer_review.ground_truth import Truth, truth_of
from fullbench.analysis.peer_review.ranking_methods import METHODS, Nearness, Terms, in_order, nearness, scores
from fullbench.analysis.peer_review.reviews_from_record import Reviews
from fullbench.core.column_labels import headings, with_deviation
from fullbench.core.note import Note
from fullbench.core.record import Record
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined
from fullbench.stats.peer_review.peer_rankings import single

_FIGURES = ("pearson", "spearman", "entropy")


@dataclass(frozen=True)
class Run:
    """One run: what was ruled, on what terms scores are made, and the truth where it was given."""

    record: Record
    terms: Terms
    truth: Truth


def runs(conducted: Sequence[Run]) -> Table:
    """Every method and every reviewer alone beside the truth: mean and sample standard deviation over the runs."""
    near: dict[str, list[Nearness]] = {}
    for run in conducted:
        reviews = Reviews.of(run.record)
        truth = run.truth or truth_of(run.record)
        if len(reviews):
            _add(near, reviews, truth, run.terms)
    rows: list[list[Cell]] = [[name, *_spread(measured), len(measured)] for name, measured in near.items()]
    columns = headings("method", *(column for figure in _FIGURES for column in with_deviation(figure)), "runs")
    notes = [
        Note(
            "peers.runs.each-seed",
            "{n} runs, seeds {seeds}. Each draws its own pictures or questions where --limit takes some of them, its "
            "own reviews where --reviews does, and its own order of answers; what a ledger knows already is the "
            "same in all.",
            n=len(conducted),
            seeds=", ".join(str(run.terms.seed) for run in conducted),
        ),
        Note("peers.runs.sd", "sd: over runs, n - 1. Entropy: 0 is sorted."),
    ]
    if not rows:
        notes.append(Note("peers.runs.no-truth", "No truth is known, so that no run can be compared with it."))
    hint = {"kind": "bars", "label": "method", "value": "pearson"}
    return Table("runs", Note("peers.runs.title", "Every method over the runs"), columns, rows, notes, {}, hint)


def _add(near: dict[str, list[Nearness]], reviews: Reviews, truth: Truth, terms: Terms) -> None:
    for method in METHODS:
        try:
            measured = nearness(scores(reviews, method, terms), in_order(reviews.names, truth.scores))
        except Undefined:
            continue
        near.setdefault(method, []).append(measured)
    peers = reviews.peers(terms.gamma)
    for place, name in enumerate(reviews.names):
        of_others = zip(reviews.names, single(peers, place), strict=True)
        rates = {other: rate for other, rate in of_others if rate is not None}
        try:
            measured = nearness(list(rates.values()), in_order(list(rates), truth.scores))
        except Undefined:
            continue
        near.setdefault(f"{name} alone", []).append(measured)


def _spread(measured: Sequence[Nearness]) -> list[Cell]:
    columns = [[getattr(near, figure) for near in measured] for figure in _FIGURES]
    return [
        cell for values in columns for cell in (fmean(values), stdev(values) if len(values) > 1 else None)
    ]  # fmt: skip
