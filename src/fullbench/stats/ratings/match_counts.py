"""Matches as counts of (pair, outcome, weight). Ratings are computed from these, never from rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import (
    Bools,
    Floats,
    Ints,
    Numbers,
    count_contestants,
    finite_column,
    narrow_match_arrays,
)
from fullbench.stats.intervals.bootstrap_and_jackknife import Labels, Sample
from fullbench.stats.intervals.cluster_intervals import Spread
from fullbench.stats.ratings.bradley_terry_solver import Pairs, likelihood_curvature

IntArray = npt.NDArray[Any]

_BLOCK = 1 << 17
# above this number of matches, resamples are drawn per cell: normal for large cells, Poisson for small ones
_MANY = 100_000
_LARGE = 16
_OUTCOMES = np.array([0.0, 0.5, 1.0])


@dataclass(frozen=True)
class Moves:
    """Changes of estimates (columns) with each independent unit (row), and the number of units behind each row."""

    rows: Floats
    times: Floats

    @property
    def units(self) -> int:
        return round(float(self.times.sum()))

    def covariance(self) -> Floats:
        """Return the sandwich covariance, with the small-sample factor n / (n - 1)."""
        square: Floats = self.rows.T @ (self.rows * self.times[:, None])
        return square * self.units / max(1, self.units - 1)

    def along(self, contrast: Floats) -> Moves:
        """Return the changes of linear combinations of the estimates, one per row of the contrast."""
        return Moves(self.rows @ contrast.T, self.times)

    def spread(self, place: int) -> Spread:
        """Return the spread of one estimate."""
        return Spread.from_moves(self.rows[:, place] * self.units / max(1, self.units - 1), self.times)


@dataclass(frozen=True)
class MatchCounts:
    """Matches of contestants 0..size-1, counted by (lower code, higher code, outcome for the lower, weight)."""

    sample: Sample
    size: int

    @classmethod
    def from_rows(
        cls,
        first: npt.ArrayLike,
        second: npt.ArrayLike,
        outcome: Numbers,
        *,
        contestants: int = 0,
        weight: Numbers | None = None,
        cluster: Labels | None = None,
        shares: bool = False,
    ) -> MatchCounts:
        """Count matches from rows: first, second, and 1, 0 or 0.5 for the first.

        With `shares`, an outcome may be any share of a win, such as the mean over both orders.

        >>> MatchCounts.from_rows([0, 1], [1, 0], [1, 0]).sample.counts.tolist()
        [2.0]
        """
        if weight is None and cluster is None and not shares:
            firsts, seconds, result = np.asarray(first), np.asarray(second), np.asarray(outcome)
            return cls._from_unweighted_rows(
                firsts, seconds, result, count_contestants(firsts, seconds, result, contestants)
            )
        firsts, seconds, result, size = narrow_match_arrays(first, second, outcome, contestants, shares=shares)
        levels, level = _weight_levels(weight, len(firsts))
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(firsts), _BLOCK)]

        def lower_outcomes(rows: slice) -> Floats:
            return np.where(firsts[rows] > seconds[rows], 1 - result[rows], result[rows])

        outcomes = np.unique(np.concatenate([np.unique(lower_outcomes(rows)) for rows in blocks]))
        kinds = len(outcomes)
        counts = np.zeros(size * size * kinds * len(levels), dtype=np.int64)
        # In blocks and narrow integers, because there are at least as many rows as verdicts.
        inverse = np.empty(len(firsts), dtype=np.int32 if len(counts) < 1 << 31 else np.int64)
        for rows in blocks:
            code = np.minimum(firsts[rows], seconds[rows]).astype(np.int64)
            code *= size
            code += np.maximum(firsts[rows], seconds[rows])
            code *= kinds
            code += np.searchsorted(outcomes, lower_outcomes(rows))
            code *= len(levels)
            code += level[rows] if len(level) > 1 else level
            counts += np.bincount(code, minlength=len(counts))
            inverse[rows] = code
        cells = np.flatnonzero(counts)
        match_codes = cells // len(levels)
        parts = (
            match_codes // (kinds * size),
            match_codes // kinds % size,
            outcomes[match_codes % kinds],
            levels[cells % len(levels)],
        )
        place = (np.cumsum(counts > 0) - 1).astype(inverse.dtype)
        for rows in blocks:
            inverse[rows] = place[inverse[rows]]
        return cls(Sample.from_cells(parts, counts[cells].astype(np.float64), inverse, cluster), size)

    @classmethod
    def _from_unweighted_rows(cls, first: IntArray, second: IntArray, outcome: Numbers, size: int) -> MatchCounts:
        outcomes = np.asarray(outcome)
        counts = np.zeros(size * size * 3, dtype=np.int64)
        for start in range(0, len(first), _BLOCK):
            rows = slice(start, start + _BLOCK)
            code = first[rows].astype(np.int64)
            code *= size
            code += second[rows]
            code *= 3
            code += _outcome_codes(outcomes[rows])
            counts += np.bincount(code, minlength=len(counts))
        table = counts.reshape(size, size, 3)
        itself = int(table[np.arange(size), np.arange(size)].sum())
        if itself:
            raise ValueError(f"a contestant cannot meet itself; {itself} matches say so")
        return cls._from_table(table + table.transpose(1, 0, 2)[:, :, ::-1])

    @classmethod
    def _from_table(cls, table: npt.NDArray[np.int64]) -> MatchCounts:
        """`table` counts by (contestant, opponent, outcome), with both sides of a match counted."""
        low, high = np.triu_indices(len(table), 1)
        upper = table[low, high]
        pair, kind = np.nonzero(upper)
        counts = upper[pair, kind].astype(np.float64)
        n = int(counts.sum())
        cells = (low[pair], high[pair], _OUTCOMES[kind], np.ones(len(pair)))
        return cls(Sample(cells, counts, None, n, n), len(table))

    @classmethod
    def from_wins(cls, wins: Numbers, ties: Numbers | None = None) -> MatchCounts:
        """Count matches from a matrix of whole wins (row beat column) and a symmetric one of ties.

        >>> MatchCounts.from_wins([[0, 3], [1, 0]]).sample.n
        4
        """
        win_counts = _checked_counts(wins, "wins")
        tie_counts = np.zeros_like(win_counts) if ties is None else _checked_counts(ties, "ties")
        if tie_counts.shape != win_counts.shape or (tie_counts != tie_counts.T).any():
            raise ValueError("a tie counts for both sides: ties must be a symmetric matrix as large as wins")
        table = np.stack([win_counts.T, tie_counts, win_counts], axis=2).astype(np.int64)
        if not table.any():
            raise Undefined(Note("undefined.no-match-was-fought"))
        return cls._from_table(table)

    def restrict_to(self, rated_codes: Ints) -> MatchCounts:
        """Return the matches between the rated contestants, renumbered."""
        if len(rated_codes) == self.size:
            return self
        first, second, *other_cells = self.sample.cells
        keep = np.isin(first, rated_codes) & np.isin(second, rated_codes)
        cells = (
            np.searchsorted(rated_codes, first[keep]),
            np.searchsorted(rated_codes, second[keep]),
            *(part[keep] for part in other_cells),
        )
        return MatchCounts(self.sample.keep_cells(keep, cells), len(rated_codes))

    def pairs(self) -> Pairs:
        """Return the same counts, grouped by pair."""
        return Pairs.from_cells(*self.sample.cells, size=self.size)

    def matrix(self) -> Floats:
        """Return the weighted win matrix, with ties as half wins."""
        first, second, outcome, weight = self.sample.cells
        counts, size = self.sample.counts * weight, self.size
        wins = np.bincount(first * size + second, counts * outcome, size * size)
        wins += np.bincount(second * size + first, counts * (1 - outcome), size * size)
        return wins.astype(np.float64).reshape(size, size)

    def matches_played(self) -> Ints:
        """Return the unweighted number of matches of each contestant."""
        first, second = self.sample.cells[:2]
        counts = self.sample.counts
        match_totals = np.bincount(first, counts, self.size) + np.bincount(second, counts, self.size)
        return match_totals.astype(np.int64)

    def draw(self, rng: np.random.Generator, resamples: int) -> Floats:
        """Return how often each cell (row) occurs in each resample (column).

        Large unclustered cells are drawn from a normal distribution with the mean and variance of the Poisson one. A
        million matches then cost no more than ten thousand.
        """
        counts = self.sample.counts
        if self.sample.profile is not None or self.sample.n <= _MANY:
            return np.ascontiguousarray(self.sample.draw(rng, resamples).T)
        cell_draws = rng.standard_normal((len(counts), resamples), dtype=np.float32).astype(np.float64)
        cell_draws *= np.sqrt(counts)[:, None]
        cell_draws += counts[:, None]
        np.maximum(cell_draws, 0, out=cell_draws)
        small = np.flatnonzero(counts < _LARGE)
        cell_draws[small] = rng.poisson(counts[small, None], size=(len(small), resamples))
        return cell_draws

    def matches_against(self, who: int, opponents: Bools) -> tuple[Floats, int]:
        """Return one contestant's matches against each of some opponents, and the number of their units (items)."""
        first, second, _, weight = self.sample.cells
        is_selected = ((first == who) & opponents[second]) | ((second == who) & opponents[first])
        counts = np.where(is_selected, self.sample.counts, 0.0)
        opponent_matches = np.bincount(np.where(first == who, second, first), counts * weight, self.size)
        if self.sample.profile is None:
            return opponent_matches.astype(np.float64), round(float(counts.sum()))
        return opponent_matches.astype(np.float64), int(
            (self.sample.profile @ is_selected.astype(np.float64) > 0).sum()
        )

    def sandwich(self, strengths: Floats) -> Moves:
        """Return the changes of the log strengths (mean zero) with each independent unit.

        They form the sandwich covariance (White 1982, doi:10.2307/1912526): the inverse curvature on both sides of the
        spread of the scores.
        """
        first, second, outcome, weight = self.sample.cells
        wins = self.matrix()
        bread = np.linalg.inv(likelihood_curvature(wins + wins.T, strengths)) - 1 / self.size
        surprise = weight * (outcome - 1 / (1 + np.exp(strengths[second] - strengths[first])))
        # A score row has only two entries, so its product with the bread is a difference of two rows.
        return self.moves(surprise[:, None] * (bread[first] - bread[second]))

    def moves(self, parts: Floats) -> Moves:
        """Sum each cell's changes of estimates to changes per unit (a match, or a cluster of matches).

        A cluster with more matches than others draws the estimates towards itself, which shrinks its own change. A
        factor makes up for that (CR3, Bell and McCaffrey 2002); clusters of equal size have none.
        """
        if self.sample.profile is None:
            return Moves(parts, self.sample.counts)
        sizes = np.asarray(self.sample.profile @ np.ones(len(self.sample.counts))).ravel()
        units = self.sample.clusters
        factors = np.maximum(1.0, (1 - 1 / max(units, 2)) / np.maximum(1 - sizes / sizes.sum(), 0.05))
        return Moves(np.asarray(self.sample.profile @ parts) * factors[:, None], np.ones(units))


def _outcome_codes(outcome: npt.NDArray[Any]) -> Ints:
    """0 for a loss, 1 for a tie, 2 for a win of the first."""
    doubled_outcomes = outcome.astype(np.float64)
    if not np.isfinite(doubled_outcomes).all():
        raise ValueError("the outcomes hold values that are not finite numbers")
    doubled_outcomes *= 2
    kinds = doubled_outcomes.astype(np.int64)
    if (kinds != doubled_outcomes).any() or kinds.min() < 0 or kinds.max() > 2:
        raise ValueError("an outcome is 1 (the first won), 0 (it lost) or 0.5 (a tie)")
    return kinds


def _weight_levels(weight: Numbers | None, n: int) -> tuple[Floats, Ints]:
    if weight is None:
        return np.ones(1), np.zeros(1, dtype=np.int64)
    weights = finite_column(weight, "weights")
    if len(weights) != n:
        raise ValueError(f"the weights must have one value a match; found {len(weights)} for {n} matches")
    if (weights <= 0).any():
        raise ValueError(f"a weight is above 0; found {weights.min()}")
    levels, place = np.unique(weights, return_inverse=True)
    return levels, place.astype(np.int64)


def _checked_counts(matrix: Numbers, name: str) -> Floats:
    counts = np.asarray(matrix, dtype=np.float64)
    if counts.ndim != 2 or len(counts) != counts.shape[-1] or len(counts) < 2:
        raise ValueError(f"the {name} must be a square matrix of two contestants at least; found shape {counts.shape}")
    if not np.isfinite(counts).all() or (counts < 0).any() or (counts != np.floor(counts)).any():
        raise ValueError(f"the {name} must be whole numbers from 0")
    if np.diag(counts).any():
        raise ValueError(f"a contestant cannot meet itself; the diagonal of the {name} says so")
    return counts
