"""Where marks on a short scale lie as they were felt: before rounding, and before the ends of the scale cut them off.

A noisy judge of good answers gives lower marks than a sure one, though it leans nowhere: above the best mark there is
no room for its errors. The centre of marks as felt is free of that. They are taken as normal and written down as the
nearest mark of the scale, so that the best mark says no more than "at least that" (grouped data: M. B. Stewart, Review
of Economic Studies 50, 1983).
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
class Felt:
    """The centre and the spread of marks as felt, and how both move when one item after another is left out."""

    centre: float
    spread: float
    moves: Floats


def felt(marks: Floats, item: Ints, items: int, scale: Scale, weight: Floats | None = None) -> Felt:
    """Of whole marks on items 0 to `items` - 1.

    >>> rng = np.random.default_rng(1)
    >>> marks = np.clip(np.rint(rng.normal(4.5, 1.0, 5000)), 1, 5)
    >>> found = felt(marks, np.arange(5000), 5000, (1, 5))
    >>> round(float(marks.mean()), 1), round(found.centre, 1), round(found.spread, 1)
    (4.3, 4.5, 1.0)
    """
    levels, level = np.unique(marks, return_inverse=True)
    if len(levels) < 3:
        raise Undefined(Note("undefined.felt", "marks as felt need three different marks; found {n}", n=len(levels)))
    lower = np.where(levels <= scale[0], -np.inf, levels - 0.5)
    upper = np.where(levels >= scale[1], np.inf, levels + 0.5)
    counts = np.bincount(item * len(levels) + level, weight, items * len(levels)).reshape(items, len(levels))
    whole = counts.sum(axis=0)
    here = np.array([float(np.average(marks, weights=weight)), 1.0]) / max(0.3, float(np.std(marks)))
    for _ in range(_STEPS):
        height, scores, bend = _local(here, lower, upper, whole)
        step = np.linalg.solve(bend, whole @ scores)
        while True:
            there = here + step
            if there[1] > 0 and _local(there, lower, upper, whole)[0] >= height - 1e-9:
                break
            step = step / 2
            if float(np.abs(step).max()) < 1e-14:
                there = here
                break
        here = there
        if float(np.abs(step).max()) < _CLOSE:
            break
    _, scores, bend = _local(here, lower, upper, whole)
    moves = -np.linalg.solve(bend, (counts @ scores).T).T
    centre, spread = here[0] / here[1], 1 / here[1]
    turned = np.column_stack([(moves[:, 0] - centre * moves[:, 1]) * spread, -moves[:, 1] * spread**2])
    return Felt(float(centre), float(spread), turned * items / max(1, items - 1))


def _local(point: Floats, lower: Floats, upper: Floats, counts: Floats) -> tuple[float, Floats, Floats]:
    """The log likelihood, its gradient for each mark, and minus its second derivatives, in (centre, 1) / spread."""
    from scipy.special import ndtr

    ends = [np.where(np.isfinite(bound), bound, 0.0) for bound in (lower, upper)]
    low, high = (
        np.where(np.isfinite(bound), point[1] * end - point[0], bound)
        for bound, end in zip((lower, upper), ends, strict=True)
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
