"""Tables of a peer review: ranking by every method, weight and influence of reviewers, effect of the parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from statistics import fmean

from fullbench.analysis import all_tables
from fullbench.analysis.peer_review.distance_to_truth import (
    ablation_table,
    gamma_table,
    nearness_table,
    number_from_cell,
    sample_size_table,
)
from fullbench.analysis.peer_review.equation_variants import equation_variants_table
from fullbench.analysis.peer_review.ground_truth import Truth, truth_from_order, truth_from_record
from fullbench.analysis.peer_review.ranking_bootstrap import known_order_table, score_intervals
from fullbench.analysis.peer_review.ranking_methods import (
    METHODS,
    ROBUST,
    RankingOptions,
    learn_consensus,
    method_scores,
)
from fullbench.analysis.peer_review.reviewer_accuracy import reviewer_accuracy_table
from fullbench.analysis.peer_review.reviewer_biases import reviewer_bias_table
from fullbench.analysis.peer_review.reviewers_with_people import reviewers_with_people_table
from fullbench.analysis.peer_review.reviews_from_record import (
    PARTS,
    TRUTHS,
    Gamma,
    Reviews,
    match_judges_to_contestants,
    reviewer_of,
)
from fullbench.analysis.peer_review.shared_bias_warnings import bias_warning_table
from fullbench.analysis.peer_review.weight_convergence import (
    convergence_table,
    nearness_by_round_table,
    other_solution_notes,
)
from fullbench.core.column_labels import influence_column, table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, error_sentence
from fullbench.core.record import Record
from fullbench.core.rubric import CORRECTNESS, VISUAL
from fullbench.core.table import Cell, Table
from fullbench.errors import Undefined
from fullbench.stats.peer_review.equation_variants import USUAL


def build_peer_review_tables(
    record: Record,
    *,
    terms: RankingOptions | None = None,
    truth: Truth | None = None,
    best_first: Sequence[str] = (),
    families: Mapping[str, str] | None = None,
) -> list[Table]:
    """Return all peer review tables that the record allows.

    A judge of only one author's questions is that author, reviewing; so is a contestant that judges provided
    questions. Any other judge is an outsider: it gets its own table and takes no part in the peer review. `truth` are
    the scores to compare with (default: people or a judge that knows, from the record). `best_first` is the true
    order, if known beforehand.
    """
    outsiders = _outside_judges(record)
    peer_record = record.where(lambda verdict: verdict.judge not in outsiders)
    known_truth = truth or (truth_from_order(tuple(best_first)) if best_first else truth_from_record(peer_record))
    peer_tables = _review_tables(peer_record, terms or RankingOptions(), known_truth, best_first, families)
    peer_tables += [_win_share_table(record.where(judge=judge), judge) for judge in outsiders]
    return [*peer_tables, all_tables.fault_table(record, together=True), all_tables.cost_table(record)]


def _outside_judges(record: Record) -> list[str]:
    """Return judges of several authors' questions, and judges of provided questions that are no contestants."""
    authors: dict[str, set[str]] = {}
    contestant_by_judge = match_judges_to_contestants(record)
    for verdict in record:
        if verdict.judge not in TRUTHS and verdict.criterion in {CORRECTNESS, VISUAL} and verdict.item in record.items:
            authors.setdefault(verdict.judge, set()).add(reviewer_of(record, verdict, contestant_by_judge))
    return sorted(judge for judge, names in authors.items() if len(names) > 1 or names == {""})


def _win_share_table(record: Record, judge: str) -> Table:
    rows: list[list[Cell]] = [[name, share] for name, share in _win_shares(record).items()]
    note = Note("peers.tables.this-judge-ruled-on-the")
    return Table(
        f"won by {judge}",
        Note("peers.tables.title.share-of-reviews-won-by", judge=judge),
        table_columns("contestant", "won"),
        rows,
        [note],
    )


def _review_tables(
    record: Record, terms: RankingOptions, truth: Truth, best_first: Sequence[str], families: Mapping[str, str] | None
) -> list[Table]:
    reviews = Reviews.from_record(record)
    extra_tables = [
        reviewer_accuracy_table(record),
        reviewer_bias_table(record, families),
        reviewers_with_people_table(record),
    ]
    if not len(reviews):
        return [*_no_ranking_tables(record), *(table for table in extra_tables if table.rows)]
    makers: dict[str, Callable[[Reviews], Table]] = {
        "ranking": partial(_ranking_table, truth=truth, terms=terms),
        "order": partial(known_order_table, best_first=best_first, terms=terms),
        "warnings": partial(bias_warning_table, terms=terms, truth=truth, families=families),
        "reviewers": partial(_reviewer_table, terms=terms),
        "convergence": partial(convergence_table, terms=terms),
        "nearing": partial(nearness_by_round_table, truth=truth, terms=terms),
        "nearness": partial(nearness_table, truth=truth.scores, terms=terms),
        "readings": partial(equation_variants_table, truth=truth, terms=terms),
        "ablation": partial(ablation_table, truth=truth.scores, terms=terms),
        "gamma": partial(gamma_table, truth=truth.scores, terms=terms),
        "sizes": partial(sample_size_table, truth=truth.scores, terms=terms),
    }
    computed_tables: list[Table] = []
    missing_rows: list[list[Cell]] = []
    for name, maker in makers.items():
        try:
            computed_tables.append(maker(reviews))
        except Undefined as reason:
            missing_rows.append([name, error_sentence(reason)])
    missing = _missing_table(missing_rows)
    return [table for table in [*computed_tables, *extra_tables, missing] if table.rows]


def _no_ranking_tables(record: Record) -> list[Table]:
    verdicts = [verdict for verdict in record if verdict.criterion in {CORRECTNESS, VISUAL}]
    faulty = sum(verdict.marks is None for verdict in verdicts)
    if not verdicts or faulty < len(verdicts):
        return []
    why = Note("peers.tables.all-unusable", n=len(verdicts))
    return [_missing_table([["ranking", why]])]


def _missing_table(rows: list[list[Cell]]) -> Table:
    title = Note("peers.tables.title.what-could-not-be-computed")
    return Table("left out", title, table_columns("table", "why"), rows)


def _win_shares(record: Record) -> dict[str, float]:
    marks_by_name: dict[str, list[float]] = {}
    for verdict in record:
        if verdict.marks is not None and len(verdict.contestants) == 2 and verdict.judge not in TRUTHS:
            for name, mark in zip(verdict.contestants, verdict.marks, strict=True):
                marks_by_name.setdefault(name, []).append(mark)
    means = {name: fmean(marks) for name, marks in marks_by_name.items()}
    return dict(sorted(means.items(), key=lambda pair: -pair[1]))


def _ranking_table(reviews: Reviews, *, truth: Truth, terms: RankingOptions) -> Table:
    gamma, true_scores = terms.gamma, truth.scores
    scores_by_method: dict[str, Sequence[Cell]] = {}
    notes = _part_notes(reviews, gamma)
    for method in METHODS:
        try:
            scores_by_method[method] = method_scores(reviews, method, terms)
        except Undefined as reason:
            notes.append(Note("peers.tables.no-scores-by", method=method, reason=error_sentence(reason)))
    plain = list(scores_by_method.get("UPME", ()))
    order = sorted(range(len(reviews.names)), key=lambda place: -number_from_cell(plain[place]) if plain else 0)
    if plain:
        interval_estimates = score_intervals(reviews, terms)
        notes += _overlap_notes([(reviews.names[place], interval_estimates[place]) for place in order])
        notes += other_solution_notes(reviews, terms)
        scores_by_method["UPME"] = interval_estimates
    columns = table_columns("rank", "contestant", *scores_by_method, *(["truth"] if true_scores else []))
    rows: list[list[Cell]] = [
        [
            rank, reviews.names[place], *(column[place] for column in scores_by_method.values()),
            *([true_scores.get(reviews.names[place])] if true_scores else []),
        ]
        for rank, place in enumerate(order, 1)
    ]  # fmt: skip
    notes.append(
        Note(
            "peers.tables.reviews-of-contestants-on-pictures",
            n=len(reviews),
            contestants=len(reviews.names),
            pictures=len(reviews.images),
        )
    )
    notes += [truth.source] if true_scores else []
    if terms.reading == USUAL:
        notes.append(Note("peers.tables.upme-is-prd"))
    source = {**terms.settings, "starts": 64}
    hint = {"kind": "intervals", "label": "contestant", "value": "UPME"}
    return Table("ranking", Note("peers.tables.title.ranking-without-labels"), columns, rows, notes, source, hint)


def _overlap_notes(ranked_estimates: Sequence[tuple[str, Estimate]]) -> list[str]:
    pairs = [
        f"{better} and {worse}" for (better, high), (worse, low) in pairwise(ranked_estimates) if high.low <= low.high
    ]
    if not pairs:
        return [Note("peers.tables.no-overlap")]
    return [Note("peers.tables.overlap", pairs="; ".join(pairs))]


def _part_notes(reviews: Reviews, gamma: Gamma) -> list[str]:
    notes: list[str] = []
    for part in PARTS:
        missing_count = len(reviews) - int(reviews.is_known[part].sum())
        if gamma.get(part) and missing_count:
            notes.append(Note("peers.tables.not-known-for-of-reviews", part=part, lost=missing_count, n=len(reviews)))
    if reviews.outside:
        notes.append(Note("peers.tables.reviews-by-somebody-who-was", outside=reviews.outside))
    if reviews.own_answer_count:
        notes.append(Note("peers.tables.own-left-out", own=reviews.own_answer_count))
    return notes


def _reviewer_table(reviews: Reviews, *, terms: RankingOptions) -> Table:
    from fullbench.stats.peer_review.peer_rankings import reviewer_influence

    peers = reviews.peers(terms.gamma)
    names = ("UPME", ROBUST, "uniform")
    weights = {name: learn_consensus(peers, name, terms=terms).weights for name in names}
    influence_by_method = {
        name: reviewer_influence(peers, partial(learn_consensus, method=name, starts=4, terms=replace(terms, seed=0)))
        for name in names
    }
    review_counts = peers.counts.sum(axis=1) / 2
    rows: list[list[Cell]] = [
        [
            name,
            int(review_counts[place]),
            weights["UPME"][place],
            *(influence_by_method[method][place] for method in names),
        ]
        for place, name in enumerate(reviews.names)
    ]
    rows.sort(key=lambda row: -number_from_cell(row[2]))
    columns = table_columns("reviewer", "reviews", "weight", *(influence_column(name) for name in names))
    notes = [Note("peers.tables.moves-the-furthest-that-any"), Note("peers.tables.robust-of-each-contestant-s")]
    hint = {"kind": "bars", "label": "reviewer", "value": "weight"}
    return Table("reviewers", Note("peers.tables.title.what-each-reviewer-counts-and"), columns, rows, notes, {}, hint)
