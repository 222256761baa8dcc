"""Battles as counts: how often who met whom with which outcome. Ratings are computed from these, never from rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Ints, Numbers, coded, column, narrow_duels
from fullbench.stats.intervals.bootstrap import Labels, Sample
from fullbench.stats.intervals.cluster_intervals import Spread
from fullbench.stats.ratings.bradley_terry_solver import Pairs, curvature

Whole = npt.NDArray[Any]

_BLOCK = 1 << 17
# from so many duels on, resamples are drawn cell by cell: normal where a cell is large, Poisson where it is small
_MANY = 100_000
_LARGE = 16
_OUTCOMES = np.array([0.0, 0.5, 1.0])


@dataclass(frozen=True)
class Moves:
    """How estimates (columns) move with each independent unit (row), and how many units each row stands for."""

    rows: Floats
    times: Floats

    @property
    def units(self) -> int:
        return round(float(self.times.sum()))

    def covariance(self) -> Floats:
        """The sandwich covariance, with the factor for few units: n / (n - 1)."""
        square: Floats = self.rows.T @ (self.rows * self.times[:, None])
        return square * self.units / max(1, self.units - 1)

    def along(self, contrast: Floats) -> Moves:
        """The moves of differences of the estimates: a row of the contrast for each."""
        return Moves(self.rows @ contrast.T, self.times)

    def spread(self, place: int) -> Spread:
        """The spread of one estimate."""
        return Spread.of(self.rows[:, place] * self.units / max(1, self.units - 1), self.times)


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
        shares: bool = False,
    ) -> Battles:
        """Battles from rows: who, against whom, and 1, 0 or 0.5 for the first.

        With `shares` an outcome may be any share of a win, such as the mean over both orders.

        >>> Battles.of([0, 1], [1, 0], [1, 0]).sample.counts.tolist()
        [2.0]
        """
        if weight is None and cluster is None and not shares:
            firsts, seconds, result = np.asarray(first), np.asarray(second), np.asarray(outcome)
            return cls._counted(firsts, seconds, result, coded(firsts, seconds, result, contestants))
        firsts, seconds, result, size = narrow_duels(first, second, outcome, contestants, shares=shares)
        levels, level = _levels(weight, len(firsts))
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(firsts), _BLOCK)]

        def won(rows: slice) -> Floats:
            return np.where(firsts[rows] > seconds[rows], 1 - result[rows], result[rows])

        outcomes = np.unique(np.concatenate([np.unique(won(rows)) for rows in blocks]))
        kinds = len(outcomes)
        counts = np.zeros(size * size * kinds * len(levels), dtype=np.int64)
        # By the block and in few bytes: there are as many rows as verdicts, and more.
        inverse = np.empty(len(firsts), dtype=np.int32 if len(counts) < 1 << 31 else np.int64)
        for rows in blocks:
            code = np.minimum(firsts[rows], seconds[rows]).astype(np.int64)
            code *= size
            code += np.maximum(firsts[rows], seconds[rows])
            code *= kinds
            code += np.searchsorted(outcomes, won(rows))
            code *= len(levels)
            code += level[rows] if len(level) > 1 else level
            counts += np.bincount(code, minlength=len(counts))
            inverse[rows] = code
        cells = np.flatnonzero(counts)
        fought = cells // len(levels)
        parts = (
            fought // (kinds * size),
            fought // kinds % size,
            outcomes[fought % kinds],
            levels[cells % len(levels)],
        )
        place = (np.cumsum(counts > 0) - 1).astype(inverse.dtype)
        for rows in blocks:
            inverse[rows] = place[inverse[rows]]
        return cls(Sample.counted(parts, counts[cells].astype(np.float64), inverse, cluster), size)

    @classmethod
    def _counted(cls, first: Whole, second: Whole, outcome: Numbers, size: int) -> Battles:
        """Rows without weights or clusters: counted block by block, so that memory does not grow with them."""
        doubled = np.asarray(outcome)
        counts = np.zeros(size * size * 3, dtype=np.int64)
        for start in range(0, len(first), _BLOCK):
            rows = slice(start, start + _BLOCK)
            code = first[rows].astype(np.int64)
            code *= size
            code += second[rows]
            code *= 3
            code += _kinds(doubled[rows])
            counts += np.bincount(code, minlength=len(counts))
        table = counts.reshape(size, size, 3)
        itself = int(table[np.arange(size), np.arange(size)].sum())
        if itself:
            raise ValueError(f"a contestant cannot meet itself; {itself} duels say so")
        return cls._of_table(table + table.transpose(1, 0, 2)[:, :, ::-1])

    @classmethod
    def _of_table(cls, table: npt.NDArray[np.int64]) -> Battles:
        """From counts by (contestant, opponent, outcome for the contestant), both sides of a battle counted."""
        low, high = np.triu_indices(len(table), 1)
        upper = table[low, high]
        pair, kind = np.nonzero(upper)
        counts = upper[pair, kind].astype(np.float64)
        n = int(counts.sum())
        cells = (low[pair], high[pair], _OUTCOMES[kind], np.ones(len(pair)))
        return cls(Sample(cells, counts, None, n, n), len(table))

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
        table = np.stack([won.T, drawn, won], axis=2).astype(np.int64)
        if not table.any():
            raise Undefined(Note("undefined.no-duel-was-fought", "no duel was fought"))
        return cls._of_table(table)

    def among(self, rated: Ints) -> Battles:
        """The battles between the rated, who are numbered anew."""
        if len(rated) == self.size:
            return self
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
        first, second, outcome, weight = self.sample.cells
        counts, size = self.sample.counts * weight, self.size
        wins = np.bincount(first * size + second, counts * outcome, size * size)
        wins += np.bincount(second * size + first, counts * (1 - outcome), size * size)
        return wins.astype(np.float64).reshape(size, size)

    def played(self) -> Ints:
        """How many battles each contestant fought, whatever their weight."""
        first, second = self.sample.cells[:2]
        counts = self.sample.counts
        fought = np.bincount(first, counts, self.size) + np.bincount(second, counts, self.size)
        return fought.astype(np.int64)

    def draw(self, rng: np.random.Generator, resamples: int) -> Floats:
        """How often each cell (row) occurs in each of some resamples (column).

        Cells of many battles that need not stay together are drawn from the normal distribution with the mean and
        variance of the Poisson one: a million battles then cost no more than ten thousand.
        """
        counts = self.sample.counts
        if self.sample.profile is not None or self.sample.n <= _MANY:
            return np.ascontiguousarray(self.sample.draw(rng, resamples).T)
        drawn = rng.standard_normal((len(counts), resamples), dtype=np.float32).astype(np.float64)
        drawn *= np.sqrt(counts)[:, None]
        drawn += counts[:, None]
        np.maximum(drawn, 0, out=drawn)
        small = np.flatnonzero(counts < _LARGE)
        drawn[small] = rng.poisson(counts[small, None], size=(len(small), resamples))
        return drawn

    def between(self, who: int, opponents: Bools) -> tuple[Floats, int]:
        """How many battles one had against each of some opponents, and on how many independent units (items)."""
        first, second, _, weight = self.sample.cells
        chosen = ((first == who) & opponents[second]) | ((second == who) & opponents[first])
        counts = np.where(chosen, self.sample.counts, 0.0)
        fought = np.bincount(np.where(first == who, second, first), counts * weight, self.size)
        if self.sample.profile is None:
            return fought.astype(np.float64), round(float(counts.sum()))
        return fought.astype(np.float64), int((self.sample.profile @ chosen.astype(np.float64) > 0).sum())

    def sandwich(self, strengths: Floats) -> Moves:
        """How the log strengths (mean zero) move with each independent unit: what the sandwich covariance is made of.

        White 1982, doi:10.2307/1912526: the curvature's inverse on both sides of the spread of the scores.
        """
        first, second, outcome, weight = self.sample.cells
        wins = self.matrix()
        bread = np.linalg.inv(curvature(wins + wins.T, strengths)) - 1 / self.size
        surprise = weight * (outcome - 1 / (1 + np.exp(strengths[second] - strengths[first])))
        # A row of scores has two entries, so that its product with the bread is a difference of two rows.
        return self.moves(surprise[:, None] * (bread[first] - bread[second]))

    def moves(self, parts: Floats) -> Moves:
        """The moves of estimates by unit (a battle, or a cluster of them) from those of each cell's battles."""
        if self.sample.profile is None:
            return Moves(parts, self.sample.counts)
        return Moves(np.asarray(self.sample.profile @ parts), np.ones(self.sample.clusters))


def _kinds(outcome: npt.NDArray[Any]) -> Ints:
    """0 for a loss, 1 for a tie, 2 for a win of the first; anything else is refused."""
    doubled = outcome.astype(np.float64)
    if not np.isfinite(doubled).all():
        raise ValueError("the outcomes hold values that are not finite numbers")
    doubled *= 2
    kinds = doubled.astype(np.int64)
    if (kinds != doubled).any() or kinds.min() < 0 or kinds.max() > 2:
        raise ValueError("an outcome is 1 (the first won), 0 (it lost) or 0.5 (a tie)")
    return kinds


def _levels(weight: Numbers | None, n: int) -> tuple[Floats, Ints]:
    if weight is None:
        return np.ones(1), np.zeros(1, dtype=np.int64)
    weights = column(weight, "weights")
    if len(weights) != n:
        raise ValueError(f"the weights must have one value a duel; found {len(weights)} for {n} duels")
    if (weights <= 0).any():
        raise ValueError(f"a weight is above 0; found {weights.min()}")
    levels, place = np.unique(weights, return_inverse=True)
    return levels, place.astype(np.int64)


def _counts(matrix: Numbers, name: str) -> Floats:
    counts = np.asarray(matrix, dtype=np.float64)
    if counts.ndim != 2 or len(counts) != counts.shape[-1] or len(counts) < 2:
        raise ValueError(f"the {name} must be a square matrix of two contestants at least; found shape {counts.shape}")
    if not np.isfinite(counts).all() or (counts < 0).any() or (counts != np.floor(counts)).any():
        raise ValueError(f"the {name} must be whole numbers from 0")
    if np.diag(counts).any():
        raise ValueError(f"a contestant cannot meet itself; the diagonal of the {name} says so")
    return counts
