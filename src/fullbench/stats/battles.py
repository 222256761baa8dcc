"""Battles as counts: how often who met whom with which outcome. Ratings are computed from these, never from rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fullbench.stats.arrays import Floats, Ints, Numbers, column, duels
from fullbench.stats.bootstrap import Labels, Sample
from fullbench.stats.estimates import Undefined
from fullbench.stats.strengths import Pairs, curvature

_OUTCOMES = np.array([0.0, 0.5, 1.0])


@dataclass(frozen=True)
class Battles:
    """Battles of contestants 0..size-1, counted by (lower code, higher code, outcome for the lower, weight)."""

    sample: Sample
    size: int

    @classmethod
    def of(
        cls,
        first: npt.ArrayLike,
        second: npt.ArrayLike,
        outcome: Numbers,
        *,
        contestants: int = 0,
        weight: Numbers | None = None,
        cluster: Labels | None = None,
    ) -> Battles:
        """Battles from rows: who, against whom, and 1, 0 or 0.5 for the first.

        >>> Battles.of([0, 1], [1, 0], [1, 0]).sample.counts.tolist()
        [2.0]
        """
        one, two, result, size = duels(first, second, outcome, contestants)
        kind = (2 * result).astype(np.int64)
        turned = one > two
        low, high = np.minimum(one, two), np.maximum(one, two)
        code = (low * size + high) * 3 + np.where(turned, 2 - kind, kind)
        levels, level = _levels(weight, len(code))
        code = code * len(levels) + level
        counts = np.bincount(code, minlength=size * size * 3 * len(levels))
        cells = np.flatnonzero(counts)
        fought = cells // len(levels)
        parts = (fought // (3 * size), fought // 3 % size, _OUTCOMES[fought % 3], levels[cells % len(levels)])
        place = np.cumsum(counts > 0) - 1
        return cls(Sample.counted(parts, counts[cells].astype(np.float64), place[code], cluster), size)

    @classmethod
    def of_wins(cls, wins: Numbers, ties: Numbers | None = None) -> Battles:
        """Battles from a matrix of whole wins (row beat column) and a symmetric one of ties.

        >>> Battles.of_wins([[0, 3], [1, 0]]).sample.n
        4
        """
        won = _counts(wins, "wins")
        drawn = np.zeros_like(won) if ties is None else _counts(ties, "ties")
        if drawn.shape != won.shape or (drawn != drawn.T).any():
            raise ValueError("a tie stands on both sides: ties must be a symmetric matrix as large as wins")
        low, high = np.triu_indices(len(won), 1)
        counts = np.concatenate([won[high, low], drawn[low, high], won[low, high]])
        keep = np.flatnonzero(counts)
        if len(keep) == 0:
            raise Undefined("no duel was fought")
        cells = (
            np.tile(low, 3)[keep],
            np.tile(high, 3)[keep],
            np.repeat(_OUTCOMES, len(low))[keep],
            np.ones(len(keep)),
        )
        n = int(counts.sum())
        return cls(Sample(cells, counts[keep], None, n, n), len(won))

    def among(self, rated: Ints) -> Battles:
        """The battles between the rated, who are numbered anew."""
        first, second, *rest = self.sample.cells
        keep = np.isin(first, rated) & np.isin(second, rated)
        cells = (
            np.searchsorted(rated, first[keep]),
            np.searchsorted(rated, second[keep]),
            *(part[keep] for part in rest),
        )
        return Battles(self.sample.restricted(keep, cells), len(rated))

    def pairs(self) -> Pairs:
        """The same, gathered by pair."""
        return Pairs.of(*self.sample.cells, size=self.size)

    def matrix(self) -> Floats:
        """The win matrix, ties half a win each, weights counted."""
        return self.pairs().matrix(self.sample.counts)

    def played(self) -> Ints:
        """How many battles each contestant fought, whatever their weight."""
        first, second = self.sample.cells[:2]
        counts = self.sample.counts
        fought = np.bincount(first, counts, self.size) + np.bincount(second, counts, self.size)
        return fought.astype(np.int64)

    def sandwich(self, strengths: Floats) -> Floats:
        """The covariance of log strengths (mean zero) that holds whether or not the model does.

        White 1982, doi:10.2307/1912526: the curvature's inverse on both sides of the spread of the scores.
        """
        first, second, outcome, weight = self.sample.cells
        wins = self.matrix()
        bread = np.linalg.inv(curvature(wins + wins.T, strengths)) - 1 / self.size
        surprise = weight * (outcome - 1 / (1 + np.exp(strengths[second] - strengths[first])))
        if self.sample.profile is None:
            meat = _laplacian(first, second, self.sample.counts * surprise**2, self.size)
        else:
            score = np.zeros((len(first), self.size))
            rows = np.arange(len(first))
            score[rows, first], score[rows, second] = surprise, -surprise
            meat = _squared(self.sample.profile @ score)
        covariance: Floats = bread @ meat @ bread
        return covariance


def _levels(weight: Numbers | None, n: int) -> tuple[Floats, Ints]:
    if weight is None:
        return np.ones(1), np.zeros(1, dtype=np.int64)
    given = column(weight, "weights")
    if len(given) != n:
        raise ValueError(f"the weights must have one value a duel; found {len(given)} for {n} duels")
    if (given <= 0).any():
        raise ValueError(f"a weight is above 0; found {given.min()}")
    levels, place = np.unique(given, return_inverse=True)
    return levels, place.astype(np.int64)


def _counts(matrix: Numbers, name: str) -> Floats:
    found = np.asarray(matrix, dtype=np.float64)
    if found.ndim != 2 or len(found) != found.shape[-1] or len(found) < 2:
        raise ValueError(f"the {name} must be a square matrix of two contestants at least; found shape {found.shape}")
    if not np.isfinite(found).all() or (found < 0).any() or (found != np.floor(found)).any():
        raise ValueError(f"the {name} must be whole numbers from 0")
    if np.diag(found).any():
        raise ValueError(f"a contestant cannot meet itself; the diagonal of the {name} says so")
    return found


def _laplacian(first: Ints, second: Ints, weight: Floats, size: int) -> Floats:
    between = np.bincount(first * size + second, weight, size * size).reshape(size, size)
    between = between + between.T
    matrix: Floats = np.diag(between.sum(axis=1)) - between
    return matrix


def _squared(scores: Any) -> Floats:
    squared: Floats = scores.T @ scores
    return squared
