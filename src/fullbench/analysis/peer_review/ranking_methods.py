"""Methods that turn reviews into one ranking, by name, and the nearness of a ranking to the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fullbench.analysis.peer_review.reviews_from_record import GAMMA, Gamma, Reviews
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.agreement.majority_and_trust_weighted_pair_votes import majority_vote, rating_vote
from fullbench.stats.peer_review import peer_rankings as learning
from fullbench.stats.peer_review.equation_variants import USUAL, by_reading, reading_named
from fullbench.stats.peer_review.list_disorder import permutation_entropy, true_ranks
from fullbench.stats.peer_review.peer_rankings import Consensus, Initial, Peers

if TYPE_CHECKING:
    from fullbench.stats.array_checks import Floats

ROBUST = "UPME, robust"
METHODS = ("UPME", ROBUST, "PiCO", "PRD", "uniform", "rating vote", "majority vote")
STARTS = 64

Scores = tuple[float, ...]


@dataclass(frozen=True)
class RankingOptions:
    """Options of a ranking: weights of the parts, interpretation of the paper's equations, initial weights."""

    gamma: Gamma = field(default_factory=lambda: GAMMA)
    seed: int = 0
    reading: str = USUAL
    initial: Initial = "many"

    @property
    def settings(self) -> dict[str, object]:
        """Options as a dict for the source of a table; defaults of `reading` and `initial` are left out."""
        source: dict[str, object] = {"gamma": dict(self.gamma), "seed": self.seed}
        source |= {"reading": self.reading} if self.reading != USUAL else {}
        return source | ({"initial": self.initial} if self.initial != "many" else {})


def learn_consensus(
    peers: Peers, method: str, *, starts: int = STARTS, terms: RankingOptions | None = None
) -> Consensus:
    """Return scores and weights by a method that learns from the matrices alone."""
    terms = terms or RankingOptions()
    seed = terms.seed
    if method in {"UPME", ROBUST}:
        if method == "UPME":
            return by_reading(peers, terms.reading, starts=starts, seed=seed, initial=terms.initial)
        # Without extremes, contestants have different reviewers. Sums would then rank by who lost a heavy reviewer.
        reading = USUAL if reading_named(terms.reading).over == "reviews" else terms.reading
        return by_reading(peers.without_extremes(), reading, starts=starts, seed=seed, initial=terms.initial)
    if method == "PiCO":
        return learning.pico_consensus(peers, starts=starts, seed=seed)
    if method == "PRD":
        return learning.prd_consensus(peers)
    return learning.uniform_consensus(peers)


def scores_by_vote(reviews: Reviews, method: str) -> Scores:
    """Return scores from votes, counted per picture and pair."""
    columns = (reviews.first, reviews.second, reviews.votes)
    if method == "majority vote":
        vote_scores = majority_vote(reviews.questions, *columns, contestants=len(reviews.names))
    else:
        vote_scores = list(
            rating_vote(reviews.questions, reviews.reviewer, *columns, contestants=len(reviews.names)).scores
        )  # fmt: skip
    known_scores = [score for score in vote_scores if score is not None]
    if len(known_scores) < len(vote_scores):
        raise Undefined(Note("undefined.a-contestant-was-never-voted"))
    return tuple(known_scores)


def method_scores(
    reviews: Reviews, method: str, terms: RankingOptions | None = None, *, starts: int = STARTS
) -> Scores:
    """Return the scores of all contestants by one method, in the order of their names."""
    if method.endswith("vote"):
        return scores_by_vote(reviews, method)
    terms = terms or RankingOptions()
    return learn_consensus(reviews.peers(terms.gamma), method, starts=starts, terms=terms).scores


@dataclass(frozen=True, slots=True)
class Nearness:
    """Nearness of scores to the truth: three correlations (1 is best) and the entropy of the ranking (0 is best)."""

    pearson: float
    spearman: float
    kendall: float
    entropy: float


def nearness_to_truth(estimated_scores: Sequence[float], truth: Sequence[float]) -> Nearness:
    """Compare scores with the true scores of the same contestants.

    >>> nearness_to_truth([0.9, 0.5, 0.1], [3, 2, 1])
    Nearness(pearson=1.0, spearman=1.0, kendall=1.0, entropy=0.0)
    """
    import numpy as np
    from scipy import stats

    if len(estimated_scores) < 3 or np.ptp(estimated_scores) == 0 or np.ptp(truth) == 0:
        raise Undefined(Note("undefined.nearness-needs-three-contestants-or"))
    pearson, spearman, kendall = (
        round(float(test(estimated_scores, truth).statistic), 12)
        for test in (stats.pearsonr, stats.spearmanr, stats.kendalltau)
    )
    return Nearness(pearson, spearman, kendall, permutation_entropy(true_ranks(estimated_scores, truth)))


def correlation_ranges(scores: Sequence[float], draws: Floats, level: float = 0.95) -> list[tuple[float, float]]:
    """Return percentile ranges of Pearson's, Spearman's and Kendall's correlation of scores with drawn true scores.

    Draws in which a contestant has no score, or all have the same, do not count.
    """
    import numpy as np
    from scipy.stats import rankdata

    valid_draws = draws[~np.isnan(draws).any(axis=1)]
    valid_draws = valid_draws[np.ptp(valid_draws, axis=1) > 0]
    if not len(valid_draws):
        return [(float("nan"), float("nan"))] * 3

    def correlations(values: Floats, drawn: Floats) -> Floats:
        values, drawn = values - values.mean(), drawn - drawn.mean(axis=1, keepdims=True)
        result: Floats = (drawn @ values) / np.sqrt((values @ values) * (drawn**2).sum(axis=1))
        return result

    given = np.asarray(scores, dtype=np.float64)
    upper = np.triu_indices(len(given), 1)
    signs = np.sign(given[upper[0]] - given[upper[1]])
    drawn_signs = np.sign(valid_draws[:, upper[0]] - valid_draws[:, upper[1]])
    kendall = (drawn_signs @ signs) / np.sqrt(np.abs(signs).sum() * np.abs(drawn_signs).sum(axis=1))
    samples = (correlations(given, valid_draws), correlations(rankdata(given), rankdata(valid_draws, axis=1)), kendall)
    ends = [(1 - level) / 2, (1 + level) / 2]
    return [(float(low), float(high)) for low, high in (np.quantile(sample, ends) for sample in samples)]


def order_true_scores(names: Sequence[str], truth: Mapping[str, float]) -> list[float]:
    """Return true scores in the order of the names, or raise `Undefined` if one is missing."""
    missing = [name for name in names if name not in truth]
    if missing:
        raise Undefined(Note("undefined.the-truth-says-nothing-of", names=", ".join(missing)))
    return [truth[name] for name in names]
