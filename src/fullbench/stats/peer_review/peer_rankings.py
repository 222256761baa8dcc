"""Peer review: contestants that review each other, and what each one's review should count.

All methods see two small matrices, `Peers`: how many points each reviewer (row) gave each contestant (column), and how
often. Contestants are codes 0, 1, 2, ...; a review gives two contestants points from 0 to 1. Weights are vectors, or
matrices with a row for each of many starts, so that all starts are solved at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Ints, Numbers, column

Scale = Literal["range", "rank", "share", "none"]
Over = Literal["weights", "reviews"]
Initial = Literal["many", "uniform", "random"]
# less weight than this is none: a division by it would be noise
_NEVER = 1e-12
SAME = 0.01
"""Scores that lie nearer to each other than this are the same."""


@dataclass(frozen=True)
class Peers:
    """Points that each reviewer (row) gave each contestant (column), summed, and how many times it did."""

    points: Floats
    counts: Floats

    @classmethod
    def of(
        cls,
        reviewer: npt.ArrayLike,
        first: npt.ArrayLike,
        second: npt.ArrayLike,
        points: Numbers,
        points_second: Numbers | None = None,
        *,
        contestants: int = 0,
    ) -> Peers:
        """Reviews as matrices. What `second` got is what `first` left of 1, unless `points_second` says otherwise.

        >>> Peers.of([0, 1], [1, 0], [2, 2], [1, 0.5]).points.tolist()
        [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]
        """
        codes = [_codes(values) for values in (reviewer, first, second)]
        first_points = column(points, "points")
        second_points = 1 - first_points if points_second is None else column(points_second, "points of the second")
        if len({len(values) for values in (*codes, first_points, second_points)}) > 1:
            raise ValueError(
                f"the columns must have one length; found {[len(v) for v in (*codes, first_points, second_points)]}"
            )
        if len(first_points) == 0:
            raise Undefined(Note("undefined.nobody-reviewed-anybody", "nobody reviewed anybody"))
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

    def keeping(self, cells: Bools) -> Peers:
        """Only what these cells hold."""
        return Peers(np.where(cells, self.points, 0.0), np.where(cells, self.counts, 0.0))

    def without(self, reviewer: int) -> Peers:
        """As if this reviewer had reviewed nothing; it is still a contestant."""
        return self.keeping(np.arange(self.size)[:, None] != reviewer)

    def trimmed(self, share: float = 0.2) -> Peers:
        """Of the reviewers of each contestant, the most and the least generous `share` left out, at least one of each.

        What one reviewer thinks of one contestant then cannot matter much, whatever it says: two who praise each other
        are each other's most generous reviewer. A contestant with fewer than three reviewers keeps them all.
        """
        counts = self.counts
        rates = np.divide(self.points, counts, out=np.full_like(counts, np.inf), where=counts > 0)
        place = np.argsort(np.argsort(rates, axis=0, kind="stable"), axis=0, kind="stable")
        known = (counts > 0).sum(axis=0)
        cut = np.where(known >= 3, np.maximum(1, np.floor(share * known)), 0)
        cut = np.minimum(cut, (known - 1) // 2)
        return self.keeping((place >= cut) & (place < known - cut))


def grades(peers: Peers, weights: Numbers, *, over: Over = "weights") -> Floats:
    """Each contestant's weighted mean of points; `over="reviews"` divides by the number of reviews instead.

    >>> peers = Peers.of([0, 1, 2], [1, 0, 0], [2, 2, 1], [1, 1, 0])
    >>> grades(peers, [1, 1, 0]).tolist()
    [1.0, 1.0, 0.0]
    """
    weight = np.asarray(weights, dtype=np.float64)
    reviews = peers.counts.sum(axis=0)
    if (reviews == 0).any():
        raise Undefined(
            Note(
                "undefined.contestant-was-never-reviewed",
                "contestant {number} was never reviewed",
                number=int(np.flatnonzero(reviews == 0)[0]),
            )
        )
    if over == "reviews":
        summed: Floats = weight @ peers.points / reviews
        return summed
    below = weight @ peers.counts
    plain = peers.points.sum(axis=0) / reviews
    known = below > _NEVER * reviews
    return np.where(known, weight @ peers.points / np.where(known, below, 1.0), plain)


def scaled(values: Floats, how: Scale = "range") -> Floats:
    """Values as weights: from 0 (the lowest) to 1 (the highest), by rank in even steps, as shares of their sum, or as
    they are.

    >>> scaled(np.array([0.25, 0.5, 0.75])).tolist(), scaled(np.array([1.0, 3.0]), "share").tolist()
    ([0.0, 0.5, 1.0], [0.25, 0.75])
    >>> scaled(np.array([0.1, 0.9, 0.2]), "rank").tolist()
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
    """Scores and weights that agree with each other, and how they were found.

    `trace` holds the loss after each round (row) from each start (column); the last row is the final one. `rounds` says
    after how many rounds a start settled, None where it did not. Scores and weights are those of the start that ended
    with the least loss, and `spread` is the furthest that a score of any start lies from them. `path` holds the grades
    that the weights gave after each round, from each start, where the method is asked for them.
    """

    scores: tuple[float, ...]
    weights: tuple[float, ...]
    trace: Floats
    rounds: tuple[int | None, ...]
    spread: float
    method: str
    path: Floats | None = None

    @property
    def converged(self) -> bool:
        """Whether all starts settled, and at the same scores to within a hundredth."""
        return None not in self.rounds and self.spread < SAME

    @property
    def elsewhere(self) -> int:
        """How many starts end at other scores than these: there may be several scores that agree with their weights,
        and the loss, which is nothing at each of them, cannot choose. None are known of without a path."""
        return 0 if self.path is None else int((np.abs(self.path[-1] - self.scores).max(axis=1) >= SAME).sum())


def upme(
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
    """Dynamic weights (Zhang et al. 2025, UPME, arXiv:2503.14941, section 3.3 and algorithm 1).

    Each round moves the scores by `smoothing` toward the grades that the weights give (an exponential moving average),
    and the weights by `step` toward the scores (down the gradient of their mean squared difference). `scale` is how
    scores are made comparable with weights, and `over` whether a score is a mean or a sum: the paper leaves both open,
    and `stats.peer_review.equation_variants` names what it may have meant. The first of many starts is uniform, the
    others random; `initial` takes one uniform or one random start alone.

    >>> found = upme(Peers.of([0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, 0], [2, 2, 2, 2, 1, 1], [1, 1, 1, 1, 1, 0.5]))
    >>> [round(score, 2) for score in found.scores], found.converged
    ([1.0, 1.0, 0.0], True)
    """
    weights = _initial(peers.size, starts, seed, initial)
    scores = scaled(grades(peers, weights, over=over), scale)
    trace = [_loss(scores, weights)]
    path = [grades(peers, weights, over=over)]
    settled = np.full(len(weights), -1, dtype=np.int64)
    for turn in range(1, rounds + 1):
        moved = scores + smoothing * (scaled(path[-1], scale) - scores)
        heavier = weights + step * (moved - weights)
        still = np.maximum(np.abs(moved - scores).max(axis=1), np.abs(heavier - weights).max(axis=1)) < tolerance
        settled = np.where(still, np.where(settled < 0, turn, settled), -1)
        scores, weights = moved, heavier
        trace.append(_loss(scores, weights))
        path.append(grades(peers, weights, over=over))
    return replace(_consensus(path[-1], weights, np.array(trace), settled, "UPME"), path=np.array(path))


def prd(peers: Peers, *, rounds: int = 5, starts: int = 1, tolerance: float = 1e-3, seed: int = 0) -> Consensus:
    """Peer rank (Li et al. 2023, PRD, arXiv:2307.02762): the weights are the win rates, from 0 to 1, over their sum.

    The scores are the grades of the round before the last weights, as the authors print them. One start is uniform.

    >>> found = prd(Peers.of([0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, 0], [2, 2, 2, 2, 1, 1], [1, 1, 1, 1, 1, 0.5]))
    >>> [round(weight, 2) for weight in found.weights]
    [0.5, 0.5, 0.0]
    """
    weights = _starts(peers.size, starts, seed)
    scores = grades(peers, weights)
    trace = [_loss(scaled(scores, "share"), scaled(weights, "share"))]
    settled = np.full(starts, -1, dtype=np.int64)
    for turn in range(1, rounds + 1):
        scores = grades(peers, weights)
        heavier = scaled(scaled(scores), "share")
        still = np.abs(heavier - weights).max(axis=1) < tolerance
        settled = np.where(still, np.where(settled < 0, turn, settled), -1)
        trace.append(_loss(heavier, scaled(weights, "share")))
        weights = heavier
    return _consensus(scores, weights, np.array(trace), settled, "PRD")


def pico(
    peers: Peers, *, starts: int = 64, rounds: int = 300, step: float = 0.05, tolerance: float = 1e-3, seed: int = 0
) -> Consensus:
    """Consistency (Ning et al. 2024, PiCO, arXiv:2402.01830): the weights for which 1 - Pearson(weights, scores) is
    least, found by gradient steps that adapt (Kingma and Ba 2015, arXiv:1412.6980), weights held between 0 and 1.

    Weights that are all alike have no correlation, so that the first start is the plain grades; the others are random.

    >>> found = pico(Peers.of([0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, 0], [2, 2, 2, 2, 1, 1], [1, 1, 1, 1, 1, 0.5]))
    >>> bool(found.trace[-1].min() < 0.01)
    True
    """
    weights = _starts(peers.size, starts, seed)
    weights[0] = scaled(grades(peers, np.ones(peers.size)))
    weights = 0.05 + 0.9 * weights
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    trace = []
    settled = np.full(starts, -1, dtype=np.int64)
    for turn in range(1, rounds + 1):
        loss, slope = _pearson_slope(peers, weights)
        trace.append(loss)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        pace = step * (1 - (turn - 1) / rounds)
        move = pace * (mean / (1 - 0.9**turn)) / (np.sqrt(square / (1 - 0.999**turn)) + 1e-8)
        moved = np.clip(weights - move, 1e-3, 1.0)
        still = np.abs(moved - weights).max(axis=1) < tolerance
        settled = np.where(still, np.where(settled < 0, turn, settled), -1)
        weights = moved
    trace.append(_pearson_slope(peers, weights)[0])
    return _consensus(grades(peers, weights), weights, np.array(trace), settled, "PiCO")


def influence(peers: Peers, method: Callable[[Peers], Consensus]) -> list[float]:
    """How far each reviewer moves the scores: the largest change of a score when its reviews are left out.

    >>> peers = Peers.of([0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, 0], [2, 2, 2, 2, 1, 1], [1, 1, 1, 1, 1, 0.5])
    >>> [round(moved, 2) for moved in influence(peers, uniform)]
    [0.38, 0.12, 0.38]
    """
    whole = np.array(method(peers).scores)
    moved = []
    for reviewer in range(peers.size):
        rest = peers.without(reviewer)
        left = rest.counts.sum(axis=0) > 0
        filled = Peers(np.where(left, rest.points, peers.points), np.where(left, rest.counts, peers.counts))
        moved.append(float(np.abs(np.array(method(filled).scores) - whole).max()))
    return moved


def uniform(peers: Peers) -> Consensus:
    """Every reviewer counts the same: plain peer review.

    >>> uniform(Peers.of([0, 1], [1, 0], [2, 2], [1, 0.5])).scores
    (0.5, 1.0, 0.25)
    """
    return weighted(peers, np.ones(peers.size), "uniform")


def single(peers: Peers, reviewer: int) -> list[float | None]:
    """One reviewer alone: its mean of points for each contestant, None for those it never reviewed, such as itself.

    >>> single(Peers.of([0, 1], [1, 0], [2, 2], [1, 0.5]), 0)
    [None, 1.0, 0.0]
    """
    totals, times = peers.points[reviewer], peers.counts[reviewer]
    return [float(points / n) if n else None for points, n in zip(totals, times, strict=True)]


def weighted(peers: Peers, weights: Numbers, method: str = "given weights") -> Consensus:
    """The scores that given weights lead to; nothing is optimised.

    >>> weighted(Peers.of([0, 1], [1, 0], [2, 2], [1, 0.5]), [1, 1, 1]).method
    'given weights'
    """
    reviewer_weights = column(weights, "weights")
    return _consensus(
        grades(peers, reviewer_weights)[None],
        reviewer_weights[None],
        np.zeros((1, 1)),
        np.zeros(1, dtype=np.int64),
        method,
    )


def _codes(values: npt.ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.size and (array.dtype.kind not in "iu" or array.min() < 0):
        raise ValueError("reviewers and contestants must be codes 0, 1, 2, ...")
    return array.astype(np.int64)


def _starts(size: int, starts: int, seed: int) -> Floats:
    weights = np.random.default_rng(seed).uniform(size=(starts, size))
    weights[0] = 1.0
    return weights


def _initial(size: int, starts: int, seed: int, initial: Initial) -> Floats:
    if initial == "many":
        return _starts(size, starts, seed)
    return _starts(size, 2, seed)[[0 if initial == "uniform" else 1]]


def _loss(scores: Floats, weights: Floats) -> Floats:
    loss: Floats = ((scores - weights) ** 2).mean(axis=1)
    return loss


def _pearson_slope(peers: Peers, weights: Floats) -> tuple[Floats, Floats]:
    """1 - Pearson's r of weights and grades for each row of weights, and its gradient."""
    below = np.maximum(weights @ peers.counts, _NEVER)
    score = weights @ peers.points / below
    x, y = (values - values.mean(axis=1, keepdims=True) for values in (weights, score))
    far_x, far_y = (np.maximum(np.linalg.norm(values, axis=1, keepdims=True), _NEVER) for values in (x, y))
    r = (x * y).sum(axis=1, keepdims=True) / (far_x * far_y)
    by_weight = (y / far_y - r * x / far_x) / far_x
    by_score = (x / far_x - r * y / far_y) / far_y / below
    through = by_score @ peers.points.T - (by_score * score) @ peers.counts.T
    return 1 - r[:, 0], -(by_weight + through)


def _consensus(scores: Floats, weights: Floats, trace: Floats, settled: Ints, method: str) -> Consensus:
    best = int(np.argmin(np.round(trace[-1], 9)))
    spread = float(np.abs(scores - scores[best]).max())
    rounds = tuple(int(turn) if turn >= 0 else None for turn in settled)
    return Consensus(tuple(map(float, scores[best])), tuple(map(float, weights[best])), trace, rounds, spread, method)
