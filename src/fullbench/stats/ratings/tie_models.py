"""Models in which a tie is an outcome of its own, fitted by Newton's method on counts of pairs.

Each gives the log likelihood of one pair with log-strength difference d and tie parameter t a gradient and a curvature
in (d, t); both are concave, so there is one maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.ratings.match_counts import Battles, Moves

Ties = Literal["half", "davidson", "rao-kupper"]

_STEPS = 200
_CLOSE = 1e-10
# at 0 Rao and Kupper's model holds ties for impossible, and the log likelihood of one is infinite
_LEAST = 1e-9


@dataclass(frozen=True)
class Fit:
    """Log strengths with mean zero, the tie parameter, and how the strengths move with each item (sandwich)."""

    strengths: Floats
    tie: float
    moves: Moves


@dataclass(frozen=True)
class _Slopes:
    """Gradient of one battle's log likelihood in (d, t) for each cell, and the pair's curvature for each cell."""

    d: Floats
    t: Floats
    dd: Floats
    dt: Floats
    tt: Floats


def _davidson(gap: Floats, tie: float, outcome: Floats) -> _Slopes:
    """Davidson 1970, doi:10.2307/2283595: a tie is as likely as `exp(t)` times the geometric mean of both wins."""
    up, down = np.exp(gap / 2), np.exp(-gap / 2)
    total = up + down + np.exp(tie)
    win, loss, draw = up / total, down / total, np.exp(tie) / total
    mean = (win - loss) / 2
    return _Slopes(
        (outcome - 0.5) - mean,
        (outcome == 0.5) - draw,
        (win + loss) / 4 - mean**2,
        -mean * draw,
        draw * (1 - draw),
    )


def _rao_kupper(gap: Floats, tie: float, outcome: Floats) -> _Slopes:
    """Rao and Kupper 1967, doi:10.1080/01621459.1967.10482901: a win must be clear by the threshold t."""
    short, far = 1 / (1 + np.exp(gap - tie)), 1 / (1 + np.exp(-gap - tie))
    not_lost, not_won = (outcome >= 0.5).astype(np.float64), (outcome <= 0.5).astype(np.float64)
    drawn = not_lost * not_won
    odds = np.expm1(2 * tie)
    bend_short, bend_far = not_lost * short * (1 - short), not_won * far * (1 - far)
    return _Slopes(
        not_lost * short - not_won * far,
        -not_lost * short - not_won * far + drawn * 2 * (odds + 1) / odds,
        bend_short + bend_far,
        -bend_short + bend_far,
        bend_short + bend_far + drawn * 4 * (odds + 1) / odds**2,
    )


_MODELS = {"davidson": (_davidson, -1.0), "rao-kupper": (_rao_kupper, 0.5)}


def expected(gap: float, ties: Ties, tie: float) -> float:
    """The expected outcome (a tie counted half) of the contestant that is stronger by `gap` in log strength.

    >>> expected(0.0, "davidson", 0.3), expected(0.0, "rao-kupper", 0.3)
    (0.5, 0.5)
    """
    if ties == "half":
        return float(1 / (1 + np.exp(-gap)))
    if ties == "davidson":
        up, down, draw = np.exp(gap / 2), np.exp(-gap / 2), np.exp(tie)
        return float((up + draw / 2) / (up + down + draw))
    win, loss = 1 / (1 + np.exp(tie - gap)), 1 / (1 + np.exp(tie + gap))
    return float((1 + win - loss) / 2)


def fit(battles: Battles, ties: Ties, counts: Floats | None = None, start: Fit | None = None) -> Fit:
    """The maximum of the likelihood under a model of ties; `counts` stand in for the battles' own in a resample.

    >>> made = fit(Battles.of([0] * 10, [1] * 10, [1] * 6 + [0.5] * 2 + [0] * 2), "davidson")
    >>> made.strengths.round(3).tolist(), round(made.tie, 3)
    ([0.549, -0.549], -0.549)
    """
    slopes, tie = _MODELS[ties]
    first, second, outcome, weight = battles.sample.cells
    times = weight * (battles.sample.counts if counts is None else counts)
    if not (times[outcome == 0.5] > 0).any():
        raise Undefined(
            Note(
                "undefined.no-tie-was-seen-so",
                "no tie was seen, so the model of {ties} has nothing to fit: count ties as half wins",
                ties=ties,
            )
        )
    if not (times[outcome != 0.5] > 0).any():
        raise Undefined(
            Note(
                "undefined.every-match-is-a-tie",
                "every match is a tie, so the model of {ties} has no finite fit: count ties as half wins",
                ties=ties,
            )
        )
    size = battles.size
    here, tie = (np.zeros(size), tie) if start is None else (start.strengths.copy(), start.tie)
    for _ in range(_STEPS):
        local = slopes(here[first] - here[second], tie, outcome)
        gradient, bend = _gathered(local, times, first, second, size)
        step = np.linalg.solve(bend, gradient)
        longest = float(np.abs(step).max())
        step *= min(1.0, 1.0 / max(longest, 1.0))
        here += step[:size]
        here -= here.mean()
        moved = tie + float(step[size])
        tie = max(moved, tie / 2, _LEAST) if ties == "rao-kupper" else moved
        if longest < _CLOSE:
            return Fit(here, tie, _moves(battles, local, bend))
    raise Undefined(
        Note(
            "undefined.the-ratings-with-ties-did-not-settle",
            "the ratings did not settle in {steps} Newton steps: wins or ties are too one-sided",
            steps=_STEPS,
        )
    )


def _gathered(local: _Slopes, times: Floats, first: Ints, second: Ints, size: int) -> tuple[Floats, Floats]:
    """Gradient and curvature of the whole, the free shift of the strengths held by adding 1/m."""
    gradient = np.zeros(size + 1)
    gradient[:size] = np.bincount(first, times * local.d, size) - np.bincount(second, times * local.d, size)
    gradient[size] = times @ local.t
    between = np.bincount(first * size + second, times * local.dd, size * size).reshape(size, size)
    between = between + between.T
    bend = np.zeros((size + 1, size + 1))
    bend[:size, :size] = np.diag(between.sum(axis=1)) - between + 1 / size
    across = np.bincount(first, times * local.dt, size) - np.bincount(second, times * local.dt, size)
    bend[:size, size] = bend[size, :size] = across
    bend[size, size] = times @ local.tt
    return gradient, bend


def _moves(battles: Battles, local: _Slopes, bend: Floats) -> Moves:
    first, second, _, weight = battles.sample.cells
    size, rows = battles.size, np.arange(len(first))
    score = np.zeros((len(first), size + 1))
    score[rows, first], score[rows, second], score[:, size] = local.d, -local.d, local.t
    score *= weight[:, None]
    return battles.moves(score @ np.linalg.inv(bend)[:, :size])
