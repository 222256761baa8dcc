"""Peer rank (PRD): five chat models that review each other on 80 questions, and people who voted on the same pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from fullbench.core.reproduction import Reproduced, Reproduction
from fullbench.files.release_rows import released_rows

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats
    from fullbench.stats.peer_review.peer_rankings import Peers

Pair = tuple[int, str, str]
"""A question and two contestants in the order shown."""
MODELS = ("gpt-4", "claude", "vicuna", "gpt-3.5", "bard")
HARD = frozenset({"vicuna", "gpt-3.5"})
RUNS = (1, 10, 100)
DEAD_ZONE = 0.01
_OUTCOMES = {"1": 1.0, "2": 0.0, "3": 0.5}


@dataclass(frozen=True, slots=True)
class Review:
    """One reviewer on one pair: 1 when the first answer is better, 0 the second, 0.5 neither."""

    pair: Pair
    reviewer: str
    outcome: float


@dataclass(frozen=True)
class Release:
    """The released reviews in the order of the file, and people's votes on each pair."""

    reviews: Sequence[Review]
    votes: Mapping[Pair, Sequence[float]]

    @classmethod
    def read(cls, data: Path) -> Release:
        reviews = []
        for row in released_rows(data, "reviews.csv"):
            pair = (row.whole("question_id"), row.one_of("model_a", MODELS), row.one_of("model_b", MODELS))
            reviews.append(Review(pair, row.one_of("reviewer", MODELS), _OUTCOMES[row.one_of("score", _OUTCOMES)]))
        votes: dict[Pair, list[float]] = {}
        for row in released_rows(data, "human_votes.csv"):
            pair = (row.whole("question_id"), row.one_of("model_a", MODELS), row.one_of("model_b", MODELS))
            votes.setdefault(pair, []).append(_OUTCOMES[row.one_of("score", _OUTCOMES)])
        return cls(reviews, votes)

    @cached_property
    def people(self) -> dict[Pair, float]:
        """What most people said of each pair, by question and names: 1, 0, or 0.5 where they are even."""
        means = {pair: fmean(votes) for pair, votes in self.votes.items()}
        return {pair: _decided(means[pair]) for pair in sorted(means)}

    @cached_property
    def mirrored(self) -> dict[Pair, float]:
        """The same for both orders of every pair."""
        turned = {(question, second, first): 1 - outcome for (question, first, second), outcome in self.people.items()}
        return {**turned, **self.people}

    @cached_property
    def peers(self) -> Peers:
        """All reviews as matrices; each model reviews itself too, as the authors had it."""
        from fullbench.stats.peer_review.peer_rankings import Peers

        place = {name: index for index, name in enumerate(MODELS)}
        columns = ([place[review.reviewer] for review in self.reviews],
                   [place[review.pair[1]] for review in self.reviews],
                   [place[review.pair[2]] for review in self.reviews])  # fmt: skip
        return Peers.of(*columns, [review.outcome for review in self.reviews], contestants=len(MODELS))

    @cached_property
    def ballots(self) -> dict[Pair, dict[str, float]]:
        """What each reviewer said of each pair."""
        ballots: dict[Pair, dict[str, float]] = {}
        for review in self.reviews:
            ballots.setdefault(review.pair, {})[review.reviewer] = review.outcome
        return ballots


def reproduce(data: Path) -> Reproduction:
    """Every figure of the authors' notebook that hangs on the released tables, and some that it does not print."""
    release = Release.read(data)
    parts: list[Callable[[Release], Iterator[Reproduced]]] = [
        _win_rates, _peer_rank, _agreement, _hard_pair, _elo, _weights,
    ]  # fmt: skip
    return Reproduction([cell for part in parts for cell in part(release)])


def win_rates(rows: Sequence[tuple[Pair, float]]) -> dict[str, float]:
    """The share of comparisons that each model wins, ties half."""
    won: dict[str, list[float]] = {}
    for (_, first, second), outcome in rows:
        won.setdefault(first, []).append(outcome)
        won.setdefault(second, []).append(1 - outcome)
    return {name: fmean(won[name]) for name in MODELS if name in won}


def _win_rates(release: Release) -> Iterator[Reproduced]:
    rows: dict[str, list[tuple[Pair, float]]] = {
        name: [(review.pair, review.outcome) for review in release.reviews if review.reviewer == name]
        for name in MODELS
    }
    rows["human"] = list(release.people.items())
    rows["all"] = [(review.pair, review.outcome) for review in release.reviews]
    for reviewer, rulings in rows.items():
        for name, rate in win_rates(rulings).items():
            n = sum(name in pair for pair, _ in rulings)
            yield Reproduced(f"winrate/{reviewer}/{name}", rate, n, source="the authors' notebook")


def _peer_rank(release: Release) -> Iterator[Reproduced]:
    from fullbench.stats.peer_review.peer_rankings import prd

    five, fixed = prd(release.peers), prd(release.peers, rounds=200)
    for figure, values in (("score", five.scores), ("weight", five.weights), ("fixed_point_weight", fixed.weights)):
        for name, value in zip(MODELS, values, strict=True):
            yield Reproduced(f"peer_rank/{figure}/{name}", value, len(release.reviews), source="the authors' notebook")


def _voted(release: Release, weights: Mapping[str, float]) -> dict[Pair, float]:
    """The weighted mean of the reviewers' rulings on each pair, a lead within the dead zone being a tie."""
    total = sum(weights.values())
    return {
        pair: _decided(sum(weights[name] * rulings[name] for name in weights) / total, DEAD_ZONE / 2)
        for pair, rulings in release.ballots.items()
    }


def _benches(release: Release) -> dict[str, dict[Pair, float]]:
    """What each reviewer alone, and each way of voting together, says of every pair."""
    from fullbench.stats.peer_review.peer_rankings import prd

    weights = dict(zip(MODELS, prd(release.peers).weights, strict=True))
    top = sorted(MODELS, key=lambda name: -weights[name])[:3]
    alone = {name: {pair: rulings[name] for pair, rulings in release.ballots.items()} for name in MODELS}
    return {
        **alone,
        "unweighted_vote_all": _voted(release, dict.fromkeys(MODELS, 1.0)),
        "weighted_vote_all": _voted(release, weights),
        "weighted_vote_top3": _voted(release, _weights_among(release, top)),
    }


def _weights_among(release: Release, some: Sequence[str]) -> dict[str, float]:
    """Five rounds of peer rank in which only some review and only their own rates become weights."""
    import numpy as np

    from fullbench.stats.peer_review.peer_rankings import grades, scaled

    chosen = np.isin(MODELS, some)
    weights = chosen.astype(np.float64)
    for _ in range(5):
        own = scaled(scaled(grades(release.peers, weights)[chosen]), "share")
        weights = np.zeros(len(MODELS))
        weights[chosen] = own
    return dict(zip(MODELS, weights.tolist(), strict=True))


def _against_people(
    release: Release, rulings: Mapping[Pair, float], pairs: Sequence[Pair]
) -> Iterator[tuple[str, float]]:
    """Fleiss' kappa of two raters, and the share of pairs on which they say the same, ties included."""
    from fullbench.stats.agreement.many_raters import fleiss_kappa

    ours, theirs = [rulings[pair] for pair in pairs], [release.mirrored[pair] for pair in pairs]
    numbers = list(range(len(pairs)))
    yield "fleiss", fleiss_kappa(numbers * 2, ours + theirs, resamples=2).value
    yield "accuracy", fmean(our == their for our, their in zip(ours, theirs, strict=True))


def _agreement(release: Release) -> Iterator[Reproduced]:
    pairs = [pair for pair in release.ballots if pair in release.mirrored]
    for bench, rulings in _benches(release).items():
        for figure, value in _against_people(release, rulings, pairs):
            yield Reproduced(f"agreement/{bench}/{figure}", value, len(pairs), source="the authors' notebook")


def _hard_pair(release: Release) -> Iterator[Reproduced]:
    pairs = [pair for pair in release.ballots if {pair[1], pair[2]} == HARD and pair in release.mirrored]
    renamed = {"unweighted_vote_all": "all_unweighted", "weighted_vote_all": "all_weighted"}
    for bench, rulings in _benches(release).items():
        if bench == "weighted_vote_top3":
            continue
        for figure, value in _against_people(release, rulings, pairs):
            name = renamed.get(bench, bench)
            yield Reproduced(f"hard_pair/{name}/{figure}", value, len(pairs), source="the authors' notebook")


def _elo(release: Release) -> Iterator[Reproduced]:
    """Elo ratings by reviewers and by people, both in orders drawn as the authors drew them, compared."""
    import numpy as np
    from scipy.stats import kendalltau, spearmanr

    place = {name: index for index, name in enumerate(MODELS)}
    shuffled = [release.reviews[row] for row in _order(len(release.reviews), 42)]
    everyone = _columns([(review.pair, review.outcome) for review in shuffled], place)
    strongest = _columns(
        [(review.pair, review.outcome) for review in shuffled if review.reviewer == MODELS[0]], place
    )  # fmt: skip
    people = _elos(_columns(list(release.people.items()), place))
    for name, rows in (("all", everyone), (MODELS[0], strongest)):
        ours = _elos(rows)
        for figure, test in (("kendall", kendalltau), ("spearman", spearmanr)):
            correlations = [float(test(our, their).statistic) for our, their in zip(ours, people, strict=True)]
            for runs in RUNS:
                value = float(np.mean(correlations[:runs]))
                yield Reproduced(f"elo_vs_human/{name}/{runs}/{figure}", value, runs, source="the authors' notebook")


def _columns(rows: Sequence[tuple[Pair, float]], place: Mapping[str, int]) -> tuple[list[int], list[int], list[float]]:
    return [place[pair[1]] for pair, _ in rows], [place[pair[2]] for pair, _ in rows], [outcome for _, outcome in rows]


def _order(n: int, seed: int) -> list[int]:
    """The order in which pandas' `sample(frac=1, random_state=seed)` puts `n` rows."""
    import numpy as np

    return [int(row) for row in np.random.RandomState(seed).permutation(n)]


def _elos(rows: tuple[list[int], list[int], list[float]]) -> Floats:
    """Ratings after the rows in a hundred orders, all at once: a row for each order."""
    import numpy as np

    from fullbench.stats.ratings.elo import elo_orders

    orders = np.array([_order(len(rows[0]), seed) for seed in range(1, max(RUNS) + 1)]).T
    return elo_orders(*rows, orders, contestants=len(MODELS))


def _weights(release: Release) -> Iterator[Reproduced]:
    """Hand-made weights: grades (points times weights, over the number of reviews) beside people's win rates.

    PiCO's code gives the place k = 0, 1, ... of m the weight 1 - k/m, and reversed the weight k/m: the first list ends
    above 0 and the second below 1.
    """
    import numpy as np

    from fullbench.stats.peer_review.equation_variants import consistent_weights, reversed_weights
    from fullbench.stats.peer_review.list_disorder import permutation_entropy, true_ranks
    from fullbench.stats.peer_review.peer_rankings import grades

    truth = [win_rates(list(release.people.items()))[name] for name in MODELS]
    steps = len(MODELS) - 1
    weightings = {
        "uniform": np.ones(len(MODELS)),
        "consistent": (steps * consistent_weights(truth) + 1) / len(MODELS),
        "reversed": steps * reversed_weights(truth) / len(MODELS),
    }
    for name, weights in weightings.items():
        scores = grades(release.peers, weights, over="reviews")
        n = len(release.reviews)
        yield Reproduced(f"weights/{name}/pearson_to_human", float(np.corrcoef(scores, truth)[0, 1]), n)
        yield Reproduced(f"weights/{name}/perm_entropy", permutation_entropy(true_ranks(scores, truth)), n)


def _decided(share: float, margin: float = 0.0) -> float:
    """The first, the second, or neither, by a share of 0 to 1 whose middle is a tie."""
    lead = round(share - 0.5, 12)
    return 0.5 if abs(lead) <= margin else float(lead > 0)
