"""Centre and spread of latent marks: before rounding to a short scale and before its ends cut them off.

A noisy judge of good answers gives lower marks than a precise one, without any bias: there is no room for its errors
above the best mark. The centre of the latent marks does not have this problem. Latent marks are modelled as normal and
recorded as the nearest mark of the scale, so the best mark only means "at least that" (grouped data: M. B. Stewart,
Review of Economic Studies 50, 1983).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.intervals.cluster_intervals import Scale

_STEPS = 100
_CLOSE = 1e-10


@dataclass(frozen=True)
class LatentScale:
    """Centre and spread of latent marks, and the change of both when each item in turn is left out."""

    centre: float
    spread: float
    moves: Floats


def fit_latent_scale(marks: Floats, item: Ints, items: int, scale: Scale, weight: Floats | None = None) -> LatentScale:
    """Fit the centre and spread of latent marks behind whole marks on items 0 to `items` - 1.

    >>> rng = np.random.default_rng(1)
    >>> marks = np.clip(np.rint(rng.normal(4.5, 1.0, 5000)), 1, 5)
    >>> found = fit_latent_scale(marks, np.arange(5000), 5000, (1, 5))
    >>> round(float(marks.mean()), 1), round(found.centre, 1), round(found.spread, 1)
    (4.3, 4.5, 1.0)
    """
    levels, level = np.unique(marks, return_inverse=True)
    if len(levels) < 3:
        raise Undefined(Note("undefined.felt", n=len(levels)))
    lower = np.where(levels <= scale[0], -np.inf, levels - 0.5)
    upper = np.where(levels >= scale[1], np.inf, levels + 0.5)
    counts = np.bincount(item * len(levels) + level, weight, items * len(levels)).reshape(items, len(levels))
    total_counts = counts.sum(axis=0)
    here = np.array([float(np.average(marks, weights=weight)), 1.0]) / max(0.3, float(np.std(marks)))
    # Newton's method with step halving: the scale must stay positive and the likelihood must not fall.
    for _ in range(_STEPS):
        height, scores, bend = _local_likelihood(here, lower, upper, total_counts)
        step = np.linalg.solve(bend, total_counts @ scores)
        while True:
            there = here + step
            if there[1] > 0 and _local_likelihood(there, lower, upper, total_counts)[0] >= height - 1e-9:
                break
            step = step / 2
            if float(np.abs(step).max()) < 1e-14:
                there = here
                break
        here = there
        if float(np.abs(step).max()) < _CLOSE:
            break
    _, scores, bend = _local_likelihood(here, lower, upper, total_counts)
    moves = -np.linalg.solve(bend, (counts @ scores).T).T
    centre, spread = here[0] / here[1], 1 / here[1]
    scale_moves = np.column_stack([(moves[:, 0] - centre * moves[:, 1]) * spread, -moves[:, 1] * spread**2])
    return LatentScale(float(centre), float(spread), scale_moves * items / max(1, items - 1))


def _local_likelihood(point: Floats, lower: Floats, upper: Floats, counts: Floats) -> tuple[float, Floats, Floats]:
    """Value, gradient per mark, and minus the second derivatives, in (centre, 1) / spread."""
    from scipy.special import ndtr

    ends = [np.where(np.isfinite(mark_bound), mark_bound, 0.0) for mark_bound in (lower, upper)]
    low, high = (
        np.where(np.isfinite(mark_bound), point[1] * end - point[0], mark_bound)
        for mark_bound, end in zip((lower, upper), ends, strict=True)
    )
    mass = np.maximum(np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)), 1e-300)
    density = [np.where(np.isfinite(z), np.exp(-0.5 * np.where(np.isfinite(z), z, 0.0) ** 2), 0.0) / np.sqrt(2 * np.pi)
               for z in (low, high)]  # fmt: skip
    columns = [np.column_stack([-np.ones(len(end)), end]) for end in ends]
    scores = (density[1][:, None] * columns[1] - density[0][:, None] * columns[0]) / mass[:, None]
    bend = scores.T @ (scores * counts[:, None])
    for sign, z, height, column in zip((-1.0, 1.0), (low, high), density, columns, strict=True):
        weight = sign * np.where(np.isfinite(z), z, 0.0) * height / mass * counts
        bend = bend + column.T @ (column * weight[:, None])
    return float(counts @ np.log(mass)), scores, bend
