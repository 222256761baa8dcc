"""Tables of a peer review: ranking by every method, weight and influence of reviewers, effect of the parts."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from fullbench.analysis import standard_verdict_tables
from fullbench.analysis.boards.unusable_verdicts_and_bounds_by_contestant import with_unusable_column
from fullbench.analysis.peer_review.ground_truth import (
    Truth,
    outcome_for_first,
    pair_of,
    true_outcomes,
    truth_from_order,
    truth_from_record,
)
from fullbench.analysis.peer_review.ranking_methods import (
    METHODS,
    ROBUST,
    STARTS,
    RankingOptions,
    learn_consensus,
    method_scores,
    nearness_to_truth,
    order_true_scores,
)
from fullbench.analysis.peer_review.reviewer_length_and_family_biases import reviewer_bias_table
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
from fullbench.analysis.peer_review.truth_correlation_by_method_and_settings import (
    ablation_table,
    gamma_table,
    nearness_table,
    number_from_cell,
    sample_size_table,
)
from fullbench.analysis.summary.paper_study_summary_with_main_table import paper_source
from fullbench.analysis.views.view_verdict_helpers import WAITS
from fullbench.core.built_in_table_columns import influence_column, table_columns
from fullbench.core.estimate import Estimate
from fullbench.core.rubric import CORRECTNESS, VISUAL
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note, error_sentence, word_note
from fullbench.core.verdict_record import Record
from fullbench.errors import Undefined
from fullbench.stats.intervals.share_intervals import share_estimate
from fullbench.stats.peer_review.equation_variants import READINGS, USUAL
from fullbench.stats.peer_review.peer_rankings import SAME

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats
    from fullbench.stats.peer_review.peer_rankings import Consensus, Peers


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
    return [
        *peer_tables,
        standard_verdict_tables.fault_table(record, together=True),
        standard_verdict_tables.cost_table(record),
    ]


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
    title = Note("peers.tables.title.share-of-reviews-won-by", judge=judge)
    table = Table(f"won by {judge}", title, table_columns("contestant", "won"), rows, [note])
    return with_unusable_column(table, _unusable_reviews(record))


def _unusable_reviews(record: Record) -> Counter[str]:
    """Return the number of reviews of each contestant that are unusable."""
    return Counter(
        name
        for verdict in record
        if verdict.fault is not None and verdict.text != WAITS and verdict.judge not in TRUTHS
        and verdict.criterion in {CORRECTNESS, VISUAL} and len(verdict.contestants) == 2
        for name in verdict.contestants
    )  # fmt: skip


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
        "ranking": lambda reviews: with_unusable_column(
            _ranking_table(reviews, truth=truth, terms=terms), _unusable_reviews(record)
        ),
        "order": partial(known_order_table, best_first=best_first, terms=terms),
        "warnings": partial(bias_warning_table, terms=terms, truth=truth, families=families),
        "reviewers": partial(_reviewer_table, terms=terms),
        "convergence": partial(convergence_table, terms=terms),
        "nearing": partial(nearness_by_round_table, truth=truth, terms=terms),
        "nearness": partial(nearness_table, truth=truth, terms=terms),
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
        notes += _pico_and_vote_notes(reviews, terms)
        scores_by_method["UPME"] = interval_estimates
    columns = table_columns("rank", "contestant", *scores_by_method, *(["truth"] if true_scores else []))
    rows: list[list[Cell]] = [
        [
            rank, reviews.names[place], *(column[place] for column in scores_by_method.values()),
            *([_true_cell(truth, reviews.names[place])] if true_scores else []),
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
    source = {**terms.settings, "starts": 64, **(paper_source("UPME", "UPME") if plain else {})}
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


_ALL = ""
"""Key of the row of all reviewers. No contestant has an empty name."""


def reviewer_accuracy_table(record: Record) -> Table:
    """Return the share of each reviewer's verdicts that equal the truth, including ties, clustered by picture."""
    contestant_by_judge = match_judges_to_contestants(record)
    hits: dict[tuple[str, str], tuple[list[float], list[str]]] = defaultdict(lambda: ([], []))
    for criterion in (CORRECTNESS, VISUAL):
        truth = true_outcomes(record, criterion)
        for verdict in record.where(criterion=criterion, fault=None) if truth else ():
            reviewer = reviewer_of(record, verdict, contestant_by_judge)
            true = truth.get(pair_of(verdict)) if len(verdict.contestants) == 2 else None
            if verdict.judge in TRUTHS or true is None or not reviewer or reviewer in verdict.contestants:
                continue
            image = record.tag(verdict, "image") or verdict.item
            for who in (reviewer, _ALL):
                hit, clusters = hits[who, criterion]
                hit.append(float(outcome_for_first(verdict) == true))
                clusters.append(image)
    names = sorted({who for who, _ in hits if who})
    rows: list[list[Cell]] = [_reviewer_accuracy_row(hits, name, name) for name in names]
    rows.sort(key=lambda row: -getattr(row[1], "value", -1.0))
    if rows:
        rows.append(_reviewer_accuracy_row(hits, word_note("all reviewers"), _ALL))
    notes = [Note("peers.accuracy.the-share-of-rulings")]
    hint = {"kind": "intervals", "label": "reviewer", "columns": ["correctness right", "visual right"]}
    title = Note("peers.accuracy.title")
    columns = table_columns("reviewer", "correctness right", "visual right")
    return Table("accuracy", title, columns, rows, notes, {}, hint)


def _reviewer_accuracy_row(
    hits: dict[tuple[str, str], tuple[list[float], list[str]]], label: str, who: str
) -> list[Cell]:
    cells: list[Cell] = [label]
    for criterion in (CORRECTNESS, VISUAL):
        hit, clusters = hits.get((who, criterion), ([], []))
        cells.append(share_estimate(hit, cluster=clusters) if hit else None)
    return cells


# Two people vote first; up to five vote if they differ.
CONVERGED_ROUNDS = 100
"""Rounds after which peer rank no longer changes. Its authors stop after five."""
_SAME = 5e-4  # scores from 0 to 1 that differ by less count as equal


def _true_cell(truth: Truth, name: str) -> Cell:
    """Return the true score of a contestant, with an interval if it comes from verdicts."""
    return truth.estimates.get(name, truth.scores.get(name))


def equation_variants_table(reviews: Reviews, *, truth: Truth, terms: RankingOptions) -> Table:
    """Return per interpretation the largest difference from converged peer rank, and the nearness to the truth."""
    import numpy as np

    from fullbench.stats.peer_review.peer_rankings import scale_to_weights

    peers = reviews.peers(terms.gamma)
    prd_scores = np.array(settled_prd(peers))
    true = _true_scores(reviews, truth)
    rows: list[list[Cell]] = []
    for name, reading in READINGS.items():
        scores = np.array(learn_consensus(peers, "UPME", starts=8, terms=replace(terms, reading=name)).scores)
        max_difference = float(np.abs(scale_to_weights(scores) - scale_to_weights(prd_scores)).max())
        same = [*np.argsort(-scores, kind="stable")] == [*np.argsort(-prd_scores, kind="stable")]
        rows.append(
            [
                name,
                Note("peers.readings.used") if name == terms.reading else "",
                reading.meaning,
                max_difference,
                _order_note(max_difference, same=same),
                *_correlation_cells(scores.tolist(), true),
            ]
        )
    title = Note("peers.readings.title")
    notes = [Note("peers.readings.apart")]
    columns = table_columns("reading", "used", "what it means", "distance from PRD", "order", "pearson", "spearman")
    return Table("readings", title, columns, rows, notes, terms.settings)


def settled_prd(peers: Peers) -> tuple[float, ...]:
    """Return the scores of peer rank after enough rounds to converge."""
    from fullbench.stats.peer_review.peer_rankings import prd_consensus

    return prd_consensus(peers, rounds=CONVERGED_ROUNDS).scores


def _true_scores(reviews: Reviews, truth: Truth) -> list[float] | None:
    try:
        return order_true_scores(reviews.names, truth.scores)
    except Undefined:
        return None


def _correlation_cells(scores: Sequence[float], true: list[float] | None) -> list[Cell]:
    if true is None:
        return [None, None]
    try:
        near = nearness_to_truth(scores, true)
    except Undefined:
        return [None, None]
    return [near.pearson, near.spearman]


def _order_note(max_difference: float, *, same: bool) -> str:
    if max_difference < _SAME:
        return Note("peers.readings.equal")
    return Note("peers.readings.same-order") if same else Note("peers.readings.other")


RESAMPLES = 200


def bootstrap_scores(reviews: Reviews, terms: RankingOptions) -> list[Floats]:
    """Return UPME's scores on each draw of pictures that shows every contestant."""
    import numpy as np

    rng = np.random.default_rng(terms.seed)
    score_draws: list[Floats] = []
    for _ in range(RESAMPLES):
        again = reviews.peers(terms.gamma, rng.integers(0, len(reviews.images), len(reviews.images)).tolist())
        if (again.counts.sum(axis=0) > 0).all():  # a contestant without reviews has no score
            score_draws.append(np.array(learn_consensus(again, "UPME", starts=1, terms=replace(terms, seed=0)).scores))
    if not score_draws:
        raise Undefined(Note("undefined.no-draw-of-pictures-shows"))
    return score_draws


def score_intervals(reviews: Reviews, terms: RankingOptions) -> list[Estimate]:
    """Return UPME's scores with 95% intervals."""
    import numpy as np

    full_scores = learn_consensus(reviews.peers(terms.gamma), "UPME", starts=8, terms=terms).scores
    score_draws = bootstrap_scores(reviews, terms)
    # Draws can all be on one side of the estimate; each interval is widened below to contain it.
    low, high = np.quantile(np.array(score_draws), [0.025, 0.975], axis=0)
    review_counts = [
        int(((reviews.first == place) | (reviews.second == place)).sum()) for place in range(len(reviews.names))
    ]
    return [
        Estimate(
            value, min(value, float(a)), max(value, float(b)), n, 0.95, f"bootstrap over pictures, {len(score_draws)}"
        )
        for value, a, b, n in zip(full_scores, low, high, review_counts, strict=True)
    ]


def known_order_table(reviews: Reviews, *, best_first: Sequence[str], terms: RankingOptions) -> Table:
    """Return how often the ranking recovers an order known beforehand; no rows if `best_first` is empty."""
    columns = table_columns("contestants", "spearman", "in order")
    title = Note("peers.drawn.title.whether-the-known-order-is")
    if not best_first:
        return Table("order", title, columns, [])
    truth = order_true_scores(reviews.names, truth_from_order(tuple(best_first)).scores)
    consensus_scores = learn_consensus(reviews.peers(terms.gamma), "UPME", starts=8, terms=terms).scores
    correlations = [nearness_to_truth(list(scores), truth).spearman for scores in bootstrap_scores(reviews, terms)]
    rows: list[list[Cell]] = [
        [
            len(truth),
            _percentile_estimate(nearness_to_truth(consensus_scores, truth).spearman, correlations),
            sum(correlation == 1 for correlation in correlations) / len(correlations),
        ]
    ]
    notes = [Note("peers.drawn.spearman-of-upme-s-scores"), Note("peers.drawn.in-order-the-share-of")]
    return Table("order", title, columns, rows, notes, terms.settings)


def _percentile_estimate(value: float, correlations: Sequence[float]) -> Estimate:
    import numpy as np

    low, high = (float(end) for end in np.quantile(correlations, [0.025, 0.975]))
    return Estimate(
        value,
        min(value, low),
        max(value, high),
        len(correlations),
        0.95,
        f"bootstrap over pictures, {len(correlations)}",
    )


def convergence_table(reviews: Reviews, *, terms: RankingOptions) -> Table:
    """Return the loss of all starts by round."""
    upme_consensus, round_count = _upme_consensus_and_rounds(reviews, terms)
    settled_rounds = [turn for turn in upme_consensus.rounds if turn is not None]
    rows: list[list[Cell]] = [
        [
            turn, *(f"{value:.1e}" for value in (loss.mean(), loss.min(), loss.max())),
            math.log10(loss.mean()) if loss.mean() > 0 else None,
        ]
        for turn, loss in enumerate(upme_consensus.trace[:round_count])
    ]  # fmt: skip
    last = max(settled_rounds, default=0)
    when = Note("peers.tables.last", n=last) if settled_rounds else ""
    notes = [
        Note(
            "peers.tables.their-scores-lie-within-of",
            settled=len(settled_rounds),
            starts=len(upme_consensus.rounds),
            when=when,
            spread=upme_consensus.spread,
        )
    ]
    title = Note("peers.tables.title.loss-by-round-from-starts", n=len(upme_consensus.rounds))
    columns = table_columns("round", "mean loss", "least", "most", "log10 of loss")
    hint = {"kind": "lines", "x": "round", "columns": ["log10 of loss"]}
    return Table("convergence", title, columns, rows, notes, {}, hint)


def nearness_by_round_table(reviews: Reviews, *, truth: Truth, terms: RankingOptions) -> Table:
    """Return Pearson's correlation of all starts with the truth by round; no rows if no truth is known."""
    upme_consensus, round_count = _upme_consensus_and_rounds(reviews, terms)
    near = _truth_correlations(reviews, truth, upme_consensus.path)
    rows = [[turn, *cells] for turn, cells in enumerate(near[:round_count])]
    title = Note("peers.tables.title.nearer-by-round", n=len(upme_consensus.rounds))
    hint = {"kind": "lines", "x": "round", "columns": ["pearson", "least pearson"]}
    return Table(
        "nearing",
        title,
        table_columns("round", "pearson", "least pearson"),
        rows,
        _other_solution_notes(upme_consensus),
        {},
        hint,
    )


def _pico_and_vote_notes(reviews: Reviews, terms: RankingOptions) -> list[str]:
    """Return a note if PiCO's scores depend on the start, and one on what the two votes count."""
    pico = learn_consensus(reviews.peers(terms.gamma), "PiCO", terms=terms)
    notes = [Note("peers.tables.pico-not-unique", starts=STARTS, spread=pico.spread)] if pico.spread >= SAME else []
    return [*notes, Note("peers.tables.votes-reduce")]


def other_solution_notes(reviews: Reviews, terms: RankingOptions) -> list[str]:
    """Return a note if some starts end at other scores than the reported UPME scores."""
    return _other_solution_notes(_upme_consensus_and_rounds(reviews, terms)[0])


def _other_solution_notes(upme_consensus: Consensus) -> list[str]:
    if not upme_consensus.other_solution_count:
        return []
    return [
        Note(
            "peers.tables.starts-end-elsewhere",
            n=upme_consensus.other_solution_count,
            starts=len(upme_consensus.rounds),
            spread=upme_consensus.spread,
        )
    ]


def _upme_consensus_and_rounds(reviews: Reviews, terms: RankingOptions) -> tuple[Consensus, int]:
    """Return the UPME consensus and the number of rounds to show: until the last start converged."""
    upme_consensus = learn_consensus(reviews.peers(terms.gamma), "UPME", terms=terms)
    settled_rounds = [turn for turn in upme_consensus.rounds if turn is not None]
    return upme_consensus, max(settled_rounds) + 1 if len(settled_rounds) == len(upme_consensus.rounds) else len(
        upme_consensus.trace
    )


def _truth_correlations(reviews: Reviews, truth: Truth, path: Floats | None) -> list[list[Cell]]:
    import numpy as np

    try:
        true = np.array(order_true_scores(reviews.names, truth.scores))
    except Undefined:
        return []
    if path is None:
        return []
    scores = path
    away = true - true.mean()
    centred_scores = scores - scores.mean(axis=2, keepdims=True)
    below = np.linalg.norm(centred_scores, axis=2) * np.linalg.norm(away)
    if not (below > 0).all():
        return []
    r = centred_scores @ away / below
    return [[float(of_starts.mean()), float(of_starts.min())] for of_starts in r]
