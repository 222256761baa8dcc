"""Rating models with ties as a separate outcome (Davidson, Rao-Kupper), fitted by Newton's method on pair counts.

Each model gives the gradient and curvature of one pair's log likelihood in (d, t): the log-strength difference d and
the tie parameter t. Both models are concave, so there is one maximum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.ratings.match_counts import MatchCounts, Moves

Ties = Literal["half", "davidson", "rao-kupper"]

_STEPS = 200
_CLOSE = 1e-10
# least threshold: at 0 Rao and Kupper's model excludes ties, and the log likelihood of one is infinite
_LEAST = 1e-9


@dataclass(frozen=True)
class Fit:
    """Log strengths with mean zero, the tie parameter, and the changes of the strengths with each item (sandwich)."""

    strengths: Floats
    tie: float
    moves: Moves


@dataclass(frozen=True)
class _Slopes:
    """Gradient in (d, t) of one match's log likelihood per cell, and its curvature per cell."""

    d: Floats
    t: Floats
    dd: Floats
    dt: Floats
    tt: Floats


def _davidson_slopes(gap: Floats, tie: float, outcome: Floats) -> _Slopes:
    """Davidson 1970, doi:10.2307/2283595: a tie is `exp(t)` times as likely as the geometric mean of both wins."""
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


def _rao_kupper_slopes(gap: Floats, tie: float, outcome: Floats) -> _Slopes:
    """Rao and Kupper 1967, doi:10.1080/01621459.1967.10482901: a win must be clear by the threshold t."""
    short, far = 1 / (1 + np.exp(gap - tie)), 1 / (1 + np.exp(-gap - tie))
    not_lost, not_won = (outcome >= 0.5).astype(np.float64), (outcome <= 0.5).astype(np.float64)
    is_tie = not_lost * not_won
    odds = np.expm1(2 * tie)
    bend_short, bend_far = not_lost * short * (1 - short), not_won * far * (1 - far)
    return _Slopes(
        not_lost * short - not_won * far,
        -not_lost * short - not_won * far + is_tie * 2 * (odds + 1) / odds,
        bend_short + bend_far,
        -bend_short + bend_far,
        bend_short + bend_far + is_tie * 4 * (odds + 1) / odds**2,
    )


_MODELS = {"davidson": (_davidson_slopes, -1.0), "rao-kupper": (_rao_kupper_slopes, 0.5)}


def expected_outcome(gap: float, ties: Ties, tie: float) -> float:
    """Return the expected outcome (a tie counted half) of a contestant stronger by `gap` in log strength.

    >>> expected_outcome(0.0, "davidson", 0.3), expected_outcome(0.0, "rao-kupper", 0.3)
    (0.5, 0.5)
    """
    if ties == "half":
        return float(1 / (1 + np.exp(-gap)))
    if ties == "davidson":
        up, down, draw = np.exp(gap / 2), np.exp(-gap / 2), np.exp(tie)
        return float((up + draw / 2) / (up + down + draw))
    win, loss = 1 / (1 + np.exp(tie - gap)), 1 / (1 + np.exp(tie + gap))
    return float((1 + win - loss) / 2)


def fit_tie_model(match_counts: MatchCounts, ties: Ties, counts: Floats | None = None, start: Fit | None = None) -> Fit:
    """Maximise the likelihood under a tie model; `counts` replace the counts of the matches in a resample.

    >>> made = fit_tie_model(MatchCounts.from_rows([0] * 10, [1] * 10, [1] * 6 + [0.5] * 2 + [0] * 2), "davidson")
    >>> made.strengths.round(3).tolist(), round(made.tie, 3)
    ([0.549, -0.549], -0.549)
    """
    slopes, tie = _MODELS[ties]
    first, second, outcome, weight = match_counts.sample.cells
    times = weight * (match_counts.sample.counts if counts is None else counts)
    if not (times[outcome == 0.5] > 0).any():
        raise Undefined(Note("undefined.no-tie-was-seen-so", ties=ties))
    if not (times[outcome != 0.5] > 0).any():
        raise Undefined(Note("undefined.every-match-is-a-tie", ties=ties))
    size = match_counts.size
    here, tie = (np.zeros(size), tie) if start is None else (start.strengths.copy(), start.tie)
    for _ in range(_STEPS):
        local = slopes(here[first] - here[second], tie, outcome)
        gradient, bend = _total_slopes(local, times, first, second, size)
        step = np.linalg.solve(bend, gradient)
        longest = float(np.abs(step).max())
        step *= min(1.0, 1.0 / max(longest, 1.0))
        here += step[:size]
        here -= here.mean()
        new_tie = tie + float(step[size])
        # The Rao-Kupper threshold must stay positive, so a step at most halves it.
        tie = max(new_tie, tie / 2, _LEAST) if ties == "rao-kupper" else new_tie
        if longest < _CLOSE:
            return Fit(here, tie, _item_moves(match_counts, local, bend))
    raise Undefined(Note("undefined.the-ratings-with-ties-did-not-settle", steps=_STEPS))


def _total_slopes(local: _Slopes, times: Floats, first: Ints, second: Ints, size: int) -> tuple[Floats, Floats]:
    """Gradient and curvature of the whole likelihood; adding 1/m fixes the free shift of the strengths."""
    gradient = np.zeros(size + 1)
    gradient[:size] = np.bincount(first, times * local.d, size) - np.bincount(second, times * local.d, size)
    gradient[size] = times @ local.t
    pair_curvature = np.bincount(first * size + second, times * local.dd, size * size).reshape(size, size)
    pair_curvature = pair_curvature + pair_curvature.T
    bend = np.zeros((size + 1, size + 1))
    bend[:size, :size] = np.diag(pair_curvature.sum(axis=1)) - pair_curvature + 1 / size
    across = np.bincount(first, times * local.dt, size) - np.bincount(second, times * local.dt, size)
    bend[:size, size] = bend[size, :size] = across
    bend[size, size] = times @ local.tt
    return gradient, bend


def _item_moves(match_counts: MatchCounts, local: _Slopes, bend: Floats) -> Moves:
    first, second, _, weight = match_counts.sample.cells
    size, rows = match_counts.size, np.arange(len(first))
    score = np.zeros((len(first), size + 1))
    score[rows, first], score[rows, second], score[:, size] = local.d, -local.d, local.t
    score *= weight[:, None]
    return match_counts.moves(score @ np.linalg.inv(bend)[:, :size])
