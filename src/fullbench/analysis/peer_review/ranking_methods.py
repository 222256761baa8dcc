"""Every way to make one ranking of many reviews, by name, and how near a ranking comes to the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fullbench.analysis.peer_review.reviews_from_record import GAMMA, Gamma, Reviews
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.agreement.pooled_pair_votes import majority_vote, rating_vote
from fullbench.stats.peer_review import peer_rankings as learning
from fullbench.stats.peer_review.equation_variants import USUAL, by_reading
from fullbench.stats.peer_review.list_disorder import permutation_entropy, true_ranks
from fullbench.stats.peer_review.peer_rankings import Consensus, Initial, Peers

ROBUST = "UPME, robust"
METHODS = ("UPME", ROBUST, "PiCO", "PRD", "uniform", "rating vote", "majority vote")
STARTS = 64

Scores = tuple[float, ...]


@dataclass(frozen=True)
class Terms:
    """On what terms a ranking is made: the weights of the parts, how the paper is read, where weights begin."""

    gamma: Gamma = field(default_factory=lambda: GAMMA)
    seed: int = 0
    reading: str = USUAL
    initial: Initial = "many"

    @property
    def settings(self) -> dict[str, object]:
        """What a table says of where it comes from; what is usual goes unsaid."""
        source: dict[str, object] = {"gamma": dict(self.gamma), "seed": self.seed}
        source |= {"reading": self.reading} if self.reading != USUAL else {}
        return source | ({"initial": self.initial} if self.initial != "many" else {})


def consensus(peers: Peers, method: str, *, starts: int = STARTS, terms: Terms | None = None) -> Consensus:
    """Scores and weights by one of the methods that learn from the matrices alone."""
    terms = terms or Terms()
    seed = terms.seed
    if method in {"UPME", ROBUST}:
        heard = peers if method == "UPME" else peers.trimmed()
        return by_reading(heard, terms.reading, starts=starts, seed=seed, initial=terms.initial)
    if method == "PiCO":
        return learning.pico(peers, starts=starts, seed=seed)
    if method == "PRD":
        return learning.prd(peers)
    return learning.uniform(peers)


def voted(reviews: Reviews, method: str) -> Scores:
    """Scores by counting votes; the picture and the pair are what is voted on."""
    columns = (reviews.first, reviews.second, reviews.votes)
    if method == "majority vote":
        vote_scores = majority_vote(reviews.questions, *columns, contestants=len(reviews.names))
    else:
        vote_scores = list(
            rating_vote(reviews.questions, reviews.reviewer, *columns, contestants=len(reviews.names)).scores
        )  # fmt: skip
    known = [score for score in vote_scores if score is not None]
    if len(known) < len(vote_scores):
        raise Undefined(Note("undefined.a-contestant-was-never-voted", "a contestant was never voted on"))
    return tuple(known)


def scores(reviews: Reviews, method: str, terms: Terms | None = None, *, starts: int = STARTS) -> Scores:
    """What a method makes of the reviews, a score for each contestant in the order of their names."""
    if method.endswith("vote"):
        return voted(reviews, method)
    terms = terms or Terms()
    return consensus(reviews.peers(terms.gamma), method, starts=starts, terms=terms).scores


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near scores come to the truth: two correlations (1 is best) and the disorder of the ranking (0 is best)."""

    pearson: float
    spearman: float
    kendall: float
    entropy: float


def nearness(estimated: Sequence[float], truth: Sequence[float]) -> Nearness:
    """Scores beside true scores of the same contestants.

    >>> nearness([0.9, 0.5, 0.1], [3, 2, 1])
    Nearness(pearson=1.0, spearman=1.0, kendall=1.0, entropy=0.0)
    """
    import numpy as np
    from scipy import stats

    if len(estimated) < 3 or np.ptp(estimated) == 0 or np.ptp(truth) == 0:
        raise Undefined(
            Note(
                "undefined.nearness-needs-three-contestants-or",
                "nearness needs three contestants or more whose scores differ",
            )
        )
    pearson, spearman, kendall = (
        round(float(test(estimated, truth).statistic), 12)
        for test in (stats.pearsonr, stats.spearmanr, stats.kendalltau)
    )
    return Nearness(pearson, spearman, kendall, permutation_entropy(true_ranks(estimated, truth)))


def in_order(names: Sequence[str], truth: Mapping[str, float]) -> list[float]:
    """True scores in the order of the names; `Undefined` where one is missing."""
    missing = [name for name in names if name not in truth]
    if missing:
        raise Undefined(
            Note("undefined.the-truth-says-nothing-of", "the truth says nothing of {names}", names=", ".join(missing))
        )
    return [truth[name] for name in names]
