"""Maximum-likelihood log strengths of a set of matches, or of thousands of resamples at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Ints
from fullbench.stats.ratings.match_graph import strong_components

_STEPS = 200
# longest step in log strength: longer ones may overshoot if wins are one-sided
_LONGEST = 1.0
_CLOSE = 1e-10
_QUICK_STEPS = 30
# resamples only form an interval: this is 0.005 of a rating point on the usual scale of 400
_QUICK_CLOSE = 3e-5


def solve_strengths(wins: Floats, start: Floats | None = None) -> Floats:
    """Return log strengths with mean zero of one win matrix, by Newton's method with a bounded step.

    The matrix must be strongly connected, otherwise there is no finite solution.

    >>> solve_strengths(np.array([[0.0, 3.0], [1.0, 0.0]])).round(4)
    array([ 0.5493, -0.5493])
    """
    matches, win_totals = wins + wins.T, wins.sum(axis=1)
    here = np.zeros(len(wins)) if start is None else start.copy()
    for _ in range(_STEPS):
        expected_wins, curvature = _expected_wins_and_curvature(matches, here)
        step = np.linalg.solve(curvature, win_totals - expected_wins)
        longest = float(np.abs(step).max())
        here += step * min(1.0, _LONGEST / max(longest, _LONGEST))
        here -= here.mean()
        if longest < _CLOSE:
            return here
    raise Undefined(Note("undefined.the-ratings-did-not-settle", steps=_STEPS))


def _expected_wins_and_curvature(matches: Floats, here: Floats) -> tuple[Floats, Floats]:
    """Adding 1/m to the curvature fixes the free shift of the strengths."""
    chance = 1 / (1 + np.exp(here[None, :] - here[:, None]))
    pair_expectations = matches * chance
    bend = pair_expectations * (1 - chance)
    return pair_expectations.sum(axis=1), np.diag(bend.sum(axis=1)) - bend + 1 / len(here)


def likelihood_curvature(matches: Floats, here: Floats) -> Floats:
    """Return the curvature of the likelihood at some log strengths; adding 1/m fixes the free shift.

    >>> likelihood_curvature(np.array([[0.0, 4.0], [4.0, 0.0]]), np.zeros(2)).tolist()
    [[1.5, -0.5], [-0.5, 1.5]]
    """
    return _expected_wins_and_curvature(matches, here)[1]


@dataclass(frozen=True)
class Pairs:
    """Cells of matches (first, second, outcome, weight) grouped by pair, to be solved for many counts of the cells."""

    size: int
    first: Ints
    second: Ints
    wins: Any
    matches: Any
    contrast: Any

    @classmethod
    def from_cells(cls, first: Ints, second: Ints, outcome: Floats, weight: Floats, *, size: int) -> Pairs:
        from scipy.sparse import csr_array

        pair, place = np.unique(first * size + second, return_inverse=True)
        cell, row = np.arange(len(outcome)), np.arange(len(pair))
        shape = (len(pair), len(cell))
        firsts, seconds = pair // size, pair % size
        ends = (np.concatenate([row, row]), np.concatenate([firsts, seconds]))
        signs = np.repeat([1.0, -1.0], len(pair))
        return cls(
            size,
            firsts,
            seconds,
            csr_array((outcome * weight, (place, cell)), shape=shape),
            csr_array((weight, (place, cell)), shape=shape),
            csr_array((signs, ends), shape=(len(pair), size)),
        )

    def matrix(self, weights: Floats) -> Floats:
        """Return the win matrix for one row of weights."""
        pair_wins, matches = self.wins @ weights, self.matches @ weights
        wins = np.zeros((self.size, self.size))
        np.add.at(wins, (self.first, self.second), pair_wins)
        np.add.at(wins, (self.second, self.first), matches - pair_wins)
        return wins

    def solve(self, weights: Floats, centre: Floats, total_weights: Floats) -> Floats:
        """Return log strengths (a row) for each column of weights, NaN if wins do not link all contestants.

        `centre` is the solution for `total_weights`. Resamples are close to it, so its curvature serves all of them.
        Those not converged after some steps are solved by Newton's method.
        """
        pair_wins, matches = self.wins @ weights, self.matches @ weights
        values = np.full((weights.shape[1], self.size), np.nan)
        todo = np.flatnonzero(self._is_linked(pair_wins, matches, weights, total_weights))
        if len(todo) == 0:
            return values
        base = self.matrix(total_weights)
        inverse = np.linalg.inv(_expected_wins_and_curvature(base + base.T, centre)[1])
        pair_wins, matches = pair_wins[:, todo], matches[:, todo]
        here = np.repeat(centre[:, None], len(todo), axis=1)
        for _ in range(_QUICK_STEPS):
            gap = np.exp(-(self.contrast @ here))
            gap += 1
            np.divide(matches, gap, out=gap)
            step = inverse @ (self.contrast.T @ np.subtract(pair_wins, gap, out=gap))
            here += np.clip(step, -_LONGEST, _LONGEST)
            left = np.abs(step).max(axis=0) > _QUICK_CLOSE
            if left.all():
                continue
            values[todo[~left]] = here[:, ~left].T
            todo, here, pair_wins, matches = todo[left], here[:, left], pair_wins[:, left], matches[:, left]
            if len(todo) == 0:
                break
        for row in todo:
            values[row] = solve_strengths(self.matrix(weights[:, row]), centre)
        values -= values.mean(axis=1, keepdims=True)
        return values

    def _is_linked(self, pair_wins: Floats, matches: Floats, weights: Floats, total_weights: Floats) -> Bools:
        """True for columns of weights that link everyone by wins both ways; only those that lost a link are checked."""
        up, down = self.wins @ total_weights > 0, (self.matches - self.wins) @ total_weights > 0
        is_linked: Bools = (pair_wins[up] > 0).all(axis=0) & ((matches - pair_wins)[down] > 0).all(axis=0)
        for row in np.flatnonzero(~is_linked):
            is_linked[row] = len(strong_components(self.matrix(weights[:, row]))) == 1
        return is_linked
