"""The log strengths that make a set of duels most likely: one set exactly, or thousands of resamples of it at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Ints
from fullbench.stats.ratings.match_graph import strong_components

_STEPS = 200
# a longer step than this, in log strength, may overshoot where wins are one-sided
_LONGEST = 1.0
_CLOSE = 1e-10
_QUICK_STEPS = 30
# resamples only make an interval: this is 0.005 of a rating point on the usual scale of 400
_QUICK_CLOSE = 3e-5


def newton(wins: Floats, start: Floats | None = None) -> Floats:
    """Log strengths with mean zero of one win matrix, by Newton's method with a bounded step.

    The matrix must be strongly connected, or there is no finite answer.

    >>> newton(np.array([[0.0, 3.0], [1.0, 0.0]])).round(4)
    array([ 0.5493, -0.5493])
    """
    matches, won = wins + wins.T, wins.sum(axis=1)
    here = np.zeros(len(wins)) if start is None else start.copy()
    for _ in range(_STEPS):
        expected, curvature = _local(matches, here)
        step = np.linalg.solve(curvature, won - expected)
        longest = float(np.abs(step).max())
        here += step * min(1.0, _LONGEST / max(longest, _LONGEST))
        here -= here.mean()
        if longest < _CLOSE:
            return here
    raise Undefined(
        Note(
            "undefined.the-ratings-did-not-settle",
            "the ratings did not settle in {steps} Newton steps: wins are too one-sided",
            steps=_STEPS,
        )
    )


def _local(matches: Floats, here: Floats) -> tuple[Floats, Floats]:
    """Expected wins, and the curvature of the likelihood with the free shift held by adding 1/m."""
    chance = 1 / (1 + np.exp(here[None, :] - here[:, None]))
    expected = matches * chance
    bend = expected * (1 - chance)
    return expected.sum(axis=1), np.diag(bend.sum(axis=1)) - bend + 1 / len(here)


def curvature(matches: Floats, here: Floats) -> Floats:
    """How sharply the likelihood bends at some log strengths, the free shift held by adding 1/m.

    >>> curvature(np.array([[0.0, 4.0], [4.0, 0.0]]), np.zeros(2)).tolist()
    [[1.5, -0.5], [-0.5, 1.5]]
    """
    return _local(matches, here)[1]


@dataclass(frozen=True)
class Pairs:
    """Cells of duels (first, second, outcome, weight) by pair, ready to be solved for many counts of the cells."""

    size: int
    first: Ints
    second: Ints
    won: Any
    matches: Any
    contrast: Any

    @classmethod
    def of(cls, first: Ints, second: Ints, outcome: Floats, weight: Floats, *, size: int) -> Pairs:
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
        """The win matrix under one row of weights."""
        won, matches = self.won @ weights, self.matches @ weights
        wins = np.zeros((self.size, self.size))
        np.add.at(wins, (self.first, self.second), won)
        np.add.at(wins, (self.second, self.first), matches - won)
        return wins

    def solve(self, weights: Floats, centre: Floats, whole: Floats) -> Floats:
        """Log strengths (a row of them) for each column of weights; NaN where wins fall apart.

        `centre` solves the weights `whole`. Resamples lie near it, so its curvature serves them all; what has not
        settled after some steps is solved by Newton's method.
        """
        won, matches = self.won @ weights, self.matches @ weights
        figures = np.full((weights.shape[1], self.size), np.nan)
        todo = np.flatnonzero(self._linked(won, matches, weights, whole))
        if len(todo) == 0:
            return figures
        base = self.matrix(whole)
        inverse = np.linalg.inv(_local(base + base.T, centre)[1])
        won, matches = won[:, todo], matches[:, todo]
        here = np.repeat(centre[:, None], len(todo), axis=1)
        for _ in range(_QUICK_STEPS):
            gap = np.exp(-(self.contrast @ here))
            gap += 1
            np.divide(matches, gap, out=gap)
            step = inverse @ (self.contrast.T @ np.subtract(won, gap, out=gap))
            here += np.clip(step, -_LONGEST, _LONGEST)
            left = np.abs(step).max(axis=0) > _QUICK_CLOSE
            if left.all():
                continue
            figures[todo[~left]] = here[:, ~left].T
            todo, here, won, matches = todo[left], here[:, left], won[:, left], matches[:, left]
            if len(todo) == 0:
                break
        for row in todo:
            figures[row] = newton(self.matrix(weights[:, row]), centre)
        figures -= figures.mean(axis=1, keepdims=True)
        return figures

    def _linked(self, won: Floats, matches: Floats, weights: Floats, whole: Floats) -> Bools:
        """Which columns of weights keep everyone linked by wins both ways; only those that lost a link are checked."""
        up, down = self.won @ whole > 0, (self.matches - self.won) @ whole > 0
        linked: Bools = (won[up] > 0).all(axis=0) & ((matches - won)[down] > 0).all(axis=0)
        for row in np.flatnonzero(~linked):
            linked[row] = len(strong_components(self.matrix(weights[:, row]))) == 1
        return linked
