"""Peer-review rankings: contestants review each other, and UPME, PRD or PiCO weight the reviewers.

All methods use two small matrices, `Peers`: the points that each reviewer (row) gave each contestant (column), and the
number of reviews. Contestants are codes 0, 1, 2, ...; a review gives two contestants points from 0 to 1. Weights are
vectors, or matrices with a row per start, so that all starts are solved at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Ints, Numbers, finite_column

Scale = Literal["range", "rank", "share", "none"]
Over = Literal["weights", "reviews"]
Initial = Literal["many", "uniform", "random"]
# a smaller weight counts as zero: a division by it would be noise
_NEVER = 1e-12
SAME = 0.01
"""Scores closer than this count as equal."""


@dataclass(frozen=True)
class Peers:
    """Sum of the points that each reviewer (row) gave each contestant (column), and the number of reviews."""

    points: Floats
    counts: Floats

    @classmethod
    def from_reviews(
        cls,
        reviewer: npt.ArrayLike,
        first: npt.ArrayLike,
        second: npt.ArrayLike,
        points: Numbers,
        points_second: Numbers | None = None,
        *,
        contestants: int = 0,
    ) -> Peers:
        """Build the matrices from reviews; `points_second` defaults to 1 minus the points of `first`.

        >>> Peers.from_reviews([0, 1], [1, 0], [2, 2], [1, 0.5]).points.tolist()
        [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]
        """
        codes = [_checked_codes(values) for values in (reviewer, first, second)]
        first_points = finite_column(points, "points")
        second_points = (
            1 - first_points if points_second is None else finite_column(points_second, "points of the second")
        )
        if len({len(values) for values in (*codes, first_points, second_points)}) > 1:
            raise ValueError(
                f"the columns must have one length; found {[len(v) for v in (*codes, first_points, second_points)]}"
            )
        if len(first_points) == 0:
            raise Undefined(Note("undefined.nobody-reviewed-anybody"))
        size = max(contestants, *(int(values.max()) + 1 for values in codes))
        totals, counts = np.zeros(size * size), np.zeros(size * size)
        for who, worth in ((codes[1], first_points), (codes[2], second_points)):
            cell = codes[0] * size + who
            totals += np.bincount(cell, worth, size * size)
            counts += np.bincount(cell, minlength=size * size)
        return cls(totals.reshape(size, size), counts.reshape(size, size))

    @property
    def size(self) -> int:
        return len(self.counts)

    def keep_cells(self, cells: Bools) -> Peers:
        """Return the matrices with all other cells set to zero."""
        return Peers(np.where(cells, self.points, 0.0), np.where(cells, self.counts, 0.0))

    def without_reviewer(self, reviewer: int) -> Peers:
        """Return the matrices without this reviewer's reviews; it is still a contestant."""
        return self.keep_cells(np.arange(self.size)[:, None] != reviewer)

    def without_extremes(self, share: float = 0.2) -> Peers:
        """Leave out the most and the least generous `share` of each contestant's reviewers, at least one of each.

        One reviewer's opinion of one contestant then cannot matter much: two who praise each other are each other's
        most generous reviewer. A contestant with fewer than three reviewers keeps them all.
        """
        counts = self.counts
        rates = np.divide(self.points, counts, out=np.full_like(counts, np.inf), where=counts > 0)
        place = np.argsort(np.argsort(rates, axis=0, kind="stable"), axis=0, kind="stable")
        reviewer_counts = (counts > 0).sum(axis=0)
        cut = np.where(reviewer_counts >= 3, np.maximum(1, np.floor(share * reviewer_counts)), 0)
        cut = np.minimum(cut, (reviewer_counts - 1) // 2)
        return self.keep_cells((place >= cut) & (place < reviewer_counts - cut))


def weighted_grades(peers: Peers, weights: Numbers, *, over: Over = "weights") -> Floats:
    """Return each contestant's weighted mean of points; `over="reviews"` divides by the number of reviews instead.

    >>> peers = Peers.from_reviews([0, 1, 2], [1, 0, 0], [2, 2, 1], [1, 1, 0])
    >>> weighted_grades(peers, [1, 1, 0]).tolist()
    [1.0, 1.0, 0.0]
    """
    weight = np.asarray(weights, dtype=np.float64)
    reviews = peers.counts.sum(axis=0)
    if (reviews == 0).any():
        raise Undefined(Note("undefined.contestant-was-never-reviewed", number=int(np.flatnonzero(reviews == 0)[0])))
    if over == "reviews":
        grades_per_review: Floats = weight @ peers.points / reviews
        return grades_per_review
    below = weight @ peers.counts
    plain = peers.points.sum(axis=0) / reviews
    has_weight = below > _NEVER * reviews
    return np.where(has_weight, weight @ peers.points / np.where(has_weight, below, 1.0), plain)


def scale_to_weights(values: Floats, how: Scale = "range") -> Floats:
    """Return values as weights: by range (0 lowest, 1 highest), by rank in even steps, as shares, or unchanged.

    >>> scale_to_weights(np.array([0.25, 0.5, 0.75])).tolist(), scale_to_weights(np.array([1.0, 3.0]), "share").tolist()
    ([0.0, 0.5, 1.0], [0.25, 0.75])
    >>> scale_to_weights(np.array([0.1, 0.9, 0.2]), "rank").tolist()
    [0.0, 1.0, 0.5]
    """
    if how == "none":
        return values
    if how == "share":
        total = values.sum(axis=-1, keepdims=True)
        even = np.full_like(values, 1 / values.shape[-1])
        return np.where(total > 0, values / np.where(total > 0, total, 1.0), even)
    if how == "rank":
        from scipy.stats import rankdata

        steps: Floats = (rankdata(values, axis=-1) - 1) / max(1, values.shape[-1] - 1)
        return steps
    low, span = values.min(axis=-1, keepdims=True), np.ptp(values, axis=-1, keepdims=True)
    return np.where(span > 0, (values - low) / np.where(span > 0, span, 1.0), 1.0)


@dataclass(frozen=True)
class Consensus:
    """Scores and weights that agree with each other, and the course of the search.

    `trace` has the loss after each round (row) from each start (column). `rounds` has the round in which a start
    converged, or None. Scores and weights are those of the start with the least final loss; `spread` is the largest
    distance of any start's score from them. `path` has the grades after each round, from each start, if the method
    records them.
    """

    scores: tuple[float, ...]
    weights: tuple[float, ...]
    trace: Floats
    rounds: tuple[int | None, ...]
    spread: float
    method: str
    path: Floats | None = None

    @property
    def has_converged(self) -> bool:
        """True if all starts converged to the same scores within a hundredth."""
        return None not in self.rounds and self.spread < SAME

    @property
    def other_solution_count(self) -> int:
        """Return the number of starts that end at other scores (their loss is also zero); 0 if there is no path."""
        return 0 if self.path is None else int((np.abs(self.path[-1] - self.scores).max(axis=1) >= SAME).sum())


def upme_consensus(
    peers: Peers,
    *,
    starts: int = 64,
    rounds: int = 30,
    smoothing: float = 0.8,
    step: float = 0.8,
    scale: Scale = "range",
    over: Over = "weights",
    initial: Initial = "many",
    tolerance: float = 1e-3,
    seed: int = 0,
) -> Consensus:
    """Return the consensus of dynamic weights (Zhang et al. 2025, UPME, arXiv:2503.14941, section 3.3, algorithm 1).

    Each round moves the scores by `smoothing` towards the grades that the weights give (an exponential moving
    average), and the weights by `step` towards the scores (down the gradient of their mean squared difference).
    `scale` makes scores comparable with weights, and `over` decides whether a score is a mean or a sum. The paper
    leaves both open; `stats.peer_review.equation_variants` lists the possible meanings. The first of many starts is
    uniform, the others random; `initial` selects one uniform or one random start instead.

    >>> found = upme_consensus(Peers.from_reviews([0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, 0], [2, 2, 2, 2, 1, 1],
    ...     [1, 1, 1, 1, 1, 0.5]))
    >>> [round(score, 2) for score in found.scores], found.has_converged
    ([1.0, 1.0, 0.0], True)
    """
    weights = _initial_weights(peers.size, starts, seed, initial)
    scores = scale_to_weights(weighted_grades(peers, weights, over=over), scale)
    trace = [_squared_loss(scores, weights)]
    path = [weighted_grades(peers, weights, over=over)]
    settling_rounds = np.full(len(weights), -1, dtype=np.int64)
    for turn in range(1, rounds + 1):
        new_scores = scores + smoothing * (scale_to_weights(path[-1], scale) - scores)
        new_weights = weights + step * (new_scores - weights)
        still = (
            np.maximum(np.abs(new_scores - scores).max(axis=1), np.abs(new_weights - weights).max(axis=1)) < tolerance
        )
        settling_rounds = np.where(still, np.where(settling_rounds < 0, turn, settling_rounds), -1)
        scores, weights = new_scores, new_weights
        trace.append(_squared_loss(scores, weights))
        path.append(weighted_grades(peers, weights, over=over))
    return replace(_best_consensus(path[-1], weights, np.array(trace), settling_rounds, "UPME"), path=np.array(path))


def prd_consensus(
    peers: Peers, *, rounds: int = 5, starts: int = 1, tolerance: float = 1e-3, seed: int = 0
) -> Consensus:
    """Return the peer rank (Li et al. 2023, PRD, arXiv:2307.02762): weights are win rates, from 0 to 1, over their sum.

    The scores are the grades of the round before the last weights, as the authors print them. One start is uniform.

    >>> found = prd_consensus(Peers.from_reviews([0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, 0], [2, 2, 2, 2, 1, 1],
    ...     [1, 1, 1, 1, 1, 0.5]))
    >>> [round(weight, 2) for weight in found.weights]
    [0.5, 0.5, 0.0]
    """
    weights = _start_weights(peers.size, starts, seed)
    scores = weighted_grades(peers, weights)
    trace = [_squared_loss(scale_to_weights(scores, "share"), scale_to_weights(weights, "share"))]
    settling_rounds = np.full(starts, -1, dtype=np.int64)
    for turn in range(1, rounds + 1):
        scores = weighted_grades(peers, weights)
        new_weights = scale_to_weights(scale_to_weights(scores), "share")
        still = np.abs(new_weights - weights).max(axis=1) < tolerance
        settling_rounds = np.where(still, np.where(settling_rounds < 0, turn, settling_rounds), -1)
        trace.append(_squared_loss(new_weights, scale_to_weights(weights, "share")))
        weights = new_weights
    return _best_consensus(scores, weights, np.array(trace), settling_rounds, "PRD")


def pico_consensus(
    peers: Peers, *, starts: int = 64, rounds: int = 300, step: float = 0.05, tolerance: float = 1e-3, seed: int = 0
) -> Consensus:
    """Return the consensus with the least 1 - Pearson(weights, scores) (Ning et al. 2024, PiCO, arXiv:2402.01830).

    It is found by Adam (Kingma and Ba 2015, arXiv:1412.6980), with weights between 0 and 1. Equal weights have no
    correlation, so the first start is the plain grades; the others are random.

    >>> found = pico_consensus(Peers.from_reviews([0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, 0], [2, 2, 2, 2, 1, 1],
    ...     [1, 1, 1, 1, 1, 0.5]))
    >>> bool(found.trace[-1].min() < 0.01)
    True
    """
    weights = _start_weights(peers.size, starts, seed)
    weights[0] = scale_to_weights(weighted_grades(peers, np.ones(peers.size)))
    weights = 0.05 + 0.9 * weights
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    trace = []
    settling_rounds = np.full(starts, -1, dtype=np.int64)
    for turn in range(1, rounds + 1):
        loss, slope = _pearson_slope(peers, weights)
        trace.append(loss)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        pace = step * (1 - (turn - 1) / rounds)
        move = pace * (mean / (1 - 0.9**turn)) / (np.sqrt(square / (1 - 0.999**turn)) + 1e-8)
        new_weights = np.clip(weights - move, 1e-3, 1.0)
        still = np.abs(new_weights - weights).max(axis=1) < tolerance
        settling_rounds = np.where(still, np.where(settling_rounds < 0, turn, settling_rounds), -1)
        weights = new_weights
    trace.append(_pearson_slope(peers, weights)[0])
    return _best_consensus(weighted_grades(peers, weights), weights, np.array(trace), settling_rounds, "PiCO")


def reviewer_influence(peers: Peers, method: Callable[[Peers], Consensus]) -> list[float]:
    """Return each reviewer's influence: the largest change of a score if its reviews are left out.

    >>> peers = Peers.from_reviews([0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, 0], [2, 2, 2, 2, 1, 1], [1, 1, 1, 1, 1, 0.5])
    >>> [round(moved, 2) for moved in reviewer_influence(peers, uniform_consensus)]
    [0.38, 0.12, 0.38]
    """
    full_scores = np.array(method(peers).scores)
    largest_changes = []
    for reviewer in range(peers.size):
        other_peers = peers.without_reviewer(reviewer)
        left = other_peers.counts.sum(axis=0) > 0
        filled_peers = Peers(
            np.where(left, other_peers.points, peers.points), np.where(left, other_peers.counts, peers.counts)
        )
        largest_changes.append(float(np.abs(np.array(method(filled_peers).scores) - full_scores).max()))
    return largest_changes


def uniform_consensus(peers: Peers) -> Consensus:
    """Return plain peer review: every reviewer counts the same.

    >>> uniform_consensus(Peers.from_reviews([0, 1], [1, 0], [2, 2], [1, 0.5])).scores
    (0.5, 1.0, 0.25)
    """
    return weighted_consensus(peers, np.ones(peers.size), "uniform")


def single_reviewer_scores(peers: Peers, reviewer: int) -> list[float | None]:
    """Return one reviewer's mean points for each contestant, or None if it never reviewed it, such as itself.

    >>> single_reviewer_scores(Peers.from_reviews([0, 1], [1, 0], [2, 2], [1, 0.5]), 0)
    [None, 1.0, 0.0]
    """
    totals, times = peers.points[reviewer], peers.counts[reviewer]
    return [float(points / n) if n else None for points, n in zip(totals, times, strict=True)]


def weighted_consensus(peers: Peers, weights: Numbers, method: str = "given weights") -> Consensus:
    """Return the scores for given weights, without optimisation.

    >>> weighted_consensus(Peers.from_reviews([0, 1], [1, 0], [2, 2], [1, 0.5]), [1, 1, 1]).method
    'given weights'
    """
    reviewer_weights = finite_column(weights, "weights")
    return _best_consensus(
        weighted_grades(peers, reviewer_weights)[None],
        reviewer_weights[None],
        np.zeros((1, 1)),
        np.zeros(1, dtype=np.int64),
        method,
    )


def _checked_codes(values: npt.ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.size and (array.dtype.kind not in "iu" or array.min() < 0):
        raise ValueError("reviewers and contestants must be codes 0, 1, 2, ...")
    return array.astype(np.int64)


def _start_weights(size: int, starts: int, seed: int) -> Floats:
    weights = np.random.default_rng(seed).uniform(size=(starts, size))
    weights[0] = 1.0
    return weights


def _initial_weights(size: int, starts: int, seed: int, initial: Initial) -> Floats:
    if initial == "many":
        return _start_weights(size, starts, seed)
    return _start_weights(size, 2, seed)[[0 if initial == "uniform" else 1]]


def _squared_loss(scores: Floats, weights: Floats) -> Floats:
    loss: Floats = ((scores - weights) ** 2).mean(axis=1)
    return loss


def _pearson_slope(peers: Peers, weights: Floats) -> tuple[Floats, Floats]:
    below = np.maximum(weights @ peers.counts, _NEVER)
    score = weights @ peers.points / below
    x, y = (values - values.mean(axis=1, keepdims=True) for values in (weights, score))
    far_x, far_y = (np.maximum(np.linalg.norm(values, axis=1, keepdims=True), _NEVER) for values in (x, y))
    r = (x * y).sum(axis=1, keepdims=True) / (far_x * far_y)
    by_weight = (y / far_y - r * x / far_x) / far_x
    by_score = (x / far_x - r * y / far_y) / far_y / below
    through = by_score @ peers.points.T - (by_score * score) @ peers.counts.T
    return 1 - r[:, 0], -(by_weight + through)


def _best_consensus(scores: Floats, weights: Floats, trace: Floats, settling_rounds: Ints, method: str) -> Consensus:
    best = int(np.argmin(np.round(trace[-1], 9)))
    spread = float(np.abs(scores - scores[best]).max())
    rounds = tuple(int(turn) if turn >= 0 else None for turn in settling_rounds)
    return Consensus(tuple(map(float, scores[best])), tuple(map(float, weights[best])), trace, rounds, spread, method)
