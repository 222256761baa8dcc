"""Peer rank (PRD), recomputed: five chat models review each other on 80 questions; people voted on the same pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from fullbench.core.benchmark import Reproduced, Reproduction
from fullbench.files.release_rows import released_rows

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats
    from fullbench.stats.peer_review.peer_rankings import Peers

Pair = tuple[int, str, str]
"""Question and two contestants in the order shown."""
MODELS = ("gpt-4", "claude", "vicuna", "gpt-3.5", "bard")
HARD = frozenset({"vicuna", "gpt-3.5"})
RUNS = (1, 10, 100)
DEAD_ZONE = 0.01
_OUTCOMES = {"1": 1.0, "2": 0.0, "3": 0.5}


@dataclass(frozen=True, slots=True)
class Review:
    """One reviewer's outcome on one pair: 1 if the first answer is better, 0 if the second, 0.5 if neither."""

    pair: Pair
    reviewer: str
    outcome: float


@dataclass(frozen=True)
class Release:
    """Released reviews in file order, and people's votes on each pair."""

    reviews: Sequence[Review]
    votes: Mapping[Pair, Sequence[float]]

    @classmethod
    def read(cls, data: Path) -> Release:
        reviews = []
        for row in released_rows(data, "reviews.csv"):
            pair = (row.integer("question_id"), row.one_of("model_a", MODELS), row.one_of("model_b", MODELS))
            reviews.append(Review(pair, row.one_of("reviewer", MODELS), _OUTCOMES[row.one_of("score", _OUTCOMES)]))
        votes: dict[Pair, list[float]] = {}
        for row in released_rows(data, "human_votes.csv"):
            pair = (row.integer("question_id"), row.one_of("model_a", MODELS), row.one_of("model_b", MODELS))
            votes.setdefault(pair, []).append(_OUTCOMES[row.one_of("score", _OUTCOMES)])
        return cls(reviews, votes)

    @cached_property
    def people_outcomes(self) -> dict[Pair, float]:
        """Majority of people's votes on each pair, sorted by question and names: 1, 0, or 0.5 if even."""
        means = {pair: fmean(votes) for pair, votes in self.votes.items()}
        return {pair: _round_outcome(means[pair]) for pair in sorted(means)}

    @cached_property
    def people_outcomes_both_orders(self) -> dict[Pair, float]:
        """Majority of people's votes for both orders of every pair."""
        swapped_outcomes = {
            (question, second, first): 1 - outcome
            for (question, first, second), outcome in self.people_outcomes.items()
        }
        return {**swapped_outcomes, **self.people_outcomes}

    @cached_property
    def peers(self) -> Peers:
        """All reviews as matrices; each model also reviews itself, as in the authors' code."""
        from fullbench.stats.peer_review.peer_rankings import Peers

        place = {name: index for index, name in enumerate(MODELS)}
        columns = ([place[review.reviewer] for review in self.reviews],
                   [place[review.pair[1]] for review in self.reviews],
                   [place[review.pair[2]] for review in self.reviews])  # fmt: skip
        return Peers.from_reviews(*columns, [review.outcome for review in self.reviews], contestants=len(MODELS))

    @cached_property
    def ballots(self) -> dict[Pair, dict[str, float]]:
        """Outcome by each reviewer of each pair."""
        ballots: dict[Pair, dict[str, float]] = {}
        for review in self.reviews:
            ballots.setdefault(review.pair, {})[review.reviewer] = review.outcome
        return ballots


def reproduce(data: Path) -> Reproduction:
    """Recompute every number of the authors' notebook that depends on the released tables, and a few more."""
    release = Release.read(data)
    parts: list[Callable[[Release], Iterator[Reproduced]]] = [
        _win_rate_cells, _peer_rank_cells, _agreement_cells, _hard_pair_cells, _elo_cells, _weighting_cells,
    ]  # fmt: skip
    return Reproduction([cell for part in parts for cell in part(release)])


def win_rates(rows: Sequence[tuple[Pair, float]]) -> dict[str, float]:
    """Return the share of comparisons that each model wins; ties count half."""
    outcomes: dict[str, list[float]] = {}
    for (_, first, second), outcome in rows:
        outcomes.setdefault(first, []).append(outcome)
        outcomes.setdefault(second, []).append(1 - outcome)
    return {name: fmean(outcomes[name]) for name in MODELS if name in outcomes}


def _win_rate_cells(release: Release) -> Iterator[Reproduced]:
    rows: dict[str, list[tuple[Pair, float]]] = {
        name: [(review.pair, review.outcome) for review in release.reviews if review.reviewer == name]
        for name in MODELS
    }
    rows["human"] = list(release.people_outcomes.items())
    rows["all"] = [(review.pair, review.outcome) for review in release.reviews]
    for reviewer, reviewer_rows in rows.items():
        for name, rate in win_rates(reviewer_rows).items():
            n = sum(name in pair for pair, _ in reviewer_rows)
            yield Reproduced(f"winrate/{reviewer}/{name}", rate, n, source="the authors' notebook")


def _peer_rank_cells(release: Release) -> Iterator[Reproduced]:
    from fullbench.stats.peer_review.peer_rankings import prd_consensus

    five_rounds, fixed_point = prd_consensus(release.peers), prd_consensus(release.peers, rounds=200)
    for metric, values in (
        ("score", five_rounds.scores),
        ("weight", five_rounds.weights),
        ("fixed_point_weight", fixed_point.weights),
    ):
        for name, value in zip(MODELS, values, strict=True):
            yield Reproduced(f"peer_rank/{metric}/{name}", value, len(release.reviews), source="the authors' notebook")


def _weighted_vote(release: Release, weights: Mapping[str, float]) -> dict[Pair, float]:
    """Weighted mean of the reviewers per pair, rounded to a win or a tie. A lead in the dead zone is a tie."""
    total = sum(weights.values())
    return {
        pair: _round_outcome(sum(weights[name] * reviewer_outcomes[name] for name in weights) / total, DEAD_ZONE / 2)
        for pair, reviewer_outcomes in release.ballots.items()
    }


def _outcomes_by_voter(release: Release) -> dict[str, dict[Pair, float]]:
    from fullbench.stats.peer_review.peer_rankings import prd_consensus

    weights = dict(zip(MODELS, prd_consensus(release.peers).weights, strict=True))
    top = sorted(MODELS, key=lambda name: -weights[name])[:3]
    single_reviewers = {
        name: {pair: reviewer_outcomes[name] for pair, reviewer_outcomes in release.ballots.items()} for name in MODELS
    }
    return {
        **single_reviewers,
        "unweighted_vote_all": _weighted_vote(release, dict.fromkeys(MODELS, 1.0)),
        "weighted_vote_all": _weighted_vote(release, weights),
        "weighted_vote_top3": _weighted_vote(release, _weights_among(release, top)),
    }


def _weights_among(release: Release, reviewers: Sequence[str]) -> dict[str, float]:
    """Five rounds of peer rank in which only `reviewers` review and get weights."""
    import numpy as np

    from fullbench.stats.peer_review.peer_rankings import scale_to_weights, weighted_grades

    reviewer_mask = np.isin(MODELS, reviewers)
    weights = reviewer_mask.astype(np.float64)
    for _ in range(5):
        reviewer_weights = scale_to_weights(
            scale_to_weights(weighted_grades(release.peers, weights)[reviewer_mask]), "share"
        )
        weights = np.zeros(len(MODELS))
        weights[reviewer_mask] = reviewer_weights
    return dict(zip(MODELS, weights.tolist(), strict=True))


def _agreement_with_people(
    release: Release, voter_outcomes: Mapping[Pair, float], pairs: Sequence[Pair]
) -> Iterator[tuple[str, float]]:
    from fullbench.stats.agreement.many_raters import fleiss_kappa

    voter_column, people_column = (
        [voter_outcomes[pair] for pair in pairs],
        [release.people_outcomes_both_orders[pair] for pair in pairs],
    )
    numbers = list(range(len(pairs)))
    yield "fleiss", fleiss_kappa(numbers * 2, voter_column + people_column, resamples=2).value
    yield (
        "accuracy",
        fmean(
            voter_outcome == people_outcome
            for voter_outcome, people_outcome in zip(voter_column, people_column, strict=True)
        ),
    )


def _agreement_cells(release: Release) -> Iterator[Reproduced]:
    pairs = [pair for pair in release.ballots if pair in release.people_outcomes_both_orders]
    for voter, voter_outcomes in _outcomes_by_voter(release).items():
        for metric, value in _agreement_with_people(release, voter_outcomes, pairs):
            yield Reproduced(f"agreement/{voter}/{metric}", value, len(pairs), source="the authors' notebook")


def _hard_pair_cells(release: Release) -> Iterator[Reproduced]:
    pairs = [
        pair for pair in release.ballots if {pair[1], pair[2]} == HARD and pair in release.people_outcomes_both_orders
    ]
    cell_names = {"unweighted_vote_all": "all_unweighted", "weighted_vote_all": "all_weighted"}
    for voter, voter_outcomes in _outcomes_by_voter(release).items():
        if voter == "weighted_vote_top3":
            continue
        for metric, value in _agreement_with_people(release, voter_outcomes, pairs):
            name = cell_names.get(voter, voter)
            yield Reproduced(f"hard_pair/{name}/{metric}", value, len(pairs), source="the authors' notebook")


def _elo_cells(release: Release) -> Iterator[Reproduced]:
    import numpy as np
    from scipy.stats import kendalltau, spearmanr

    place = {name: index for index, name in enumerate(MODELS)}
    shuffled_reviews = [release.reviews[row] for row in _pandas_shuffle(len(release.reviews), 42)]
    everyone = _match_columns([(review.pair, review.outcome) for review in shuffled_reviews], place)
    strongest = _match_columns(
        [(review.pair, review.outcome) for review in shuffled_reviews if review.reviewer == MODELS[0]], place
    )  # fmt: skip
    people_ratings = _elo_ratings(_match_columns(list(release.people_outcomes.items()), place))
    for name, rows in (("all", everyone), (MODELS[0], strongest)):
        reviewer_ratings = _elo_ratings(rows)
        for metric, test in (("kendall", kendalltau), ("spearman", spearmanr)):
            correlations = [
                float(test(reviewer_rating, people_rating).statistic)
                for reviewer_rating, people_rating in zip(reviewer_ratings, people_ratings, strict=True)
            ]
            for runs in RUNS:
                value = float(np.mean(correlations[:runs]))
                yield Reproduced(f"elo_vs_human/{name}/{runs}/{metric}", value, runs, source="the authors' notebook")


def _match_columns(
    rows: Sequence[tuple[Pair, float]], place: Mapping[str, int]
) -> tuple[list[int], list[int], list[float]]:
    return [place[pair[1]] for pair, _ in rows], [place[pair[2]] for pair, _ in rows], [outcome for _, outcome in rows]


def _pandas_shuffle(n: int, seed: int) -> list[int]:
    """Row order of pandas' `sample(frac=1, random_state=seed)` for `n` rows."""
    import numpy as np

    return [int(row) for row in np.random.RandomState(seed).permutation(n)]


def _elo_ratings(rows: tuple[list[int], list[int], list[float]]) -> Floats:
    import numpy as np

    from fullbench.stats.ratings.elo import elo_orders

    orders = np.array([_pandas_shuffle(len(rows[0]), seed) for seed in range(1, max(RUNS) + 1)]).T
    return elo_orders(*rows, orders, contestants=len(MODELS))


def _weighting_cells(release: Release) -> Iterator[Reproduced]:
    """Grade under hand-made weights: points times weights, over reviews.

    PiCO's code gives place k = 0, 1, ... of m the weight 1 - k/m, and reversed the weight k/m. So the first list ends
    above 0 and the second below 1.
    """
    import numpy as np

    from fullbench.stats.peer_review.equation_variants import consistent_weights, reversed_weights
    from fullbench.stats.peer_review.list_disorder import permutation_entropy, true_ranks
    from fullbench.stats.peer_review.peer_rankings import weighted_grades

    truth = [win_rates(list(release.people_outcomes.items()))[name] for name in MODELS]
    # Convert our weights, which run from 1 down to 0, to those of PiCO's code.
    steps = len(MODELS) - 1
    weightings = {
        "uniform": np.ones(len(MODELS)),
        "consistent": (steps * consistent_weights(truth) + 1) / len(MODELS),
        "reversed": steps * reversed_weights(truth) / len(MODELS),
    }
    for name, weights in weightings.items():
        scores = weighted_grades(release.peers, weights, over="reviews")
        n = len(release.reviews)
        yield Reproduced(f"weights/{name}/pearson_to_human", float(np.corrcoef(scores, truth)[0, 1]), n)
        yield Reproduced(f"weights/{name}/perm_entropy", permutation_entropy(true_ranks(scores, truth)), n)


def _round_outcome(share: float, margin: float = 0.0) -> float:
    # Rounded, so that floating-point errors of a mean do not break ties.
    lead = round(share - 0.5, 12)
    return 0.5 if abs(lead) <= margin else float(lead > 0)
