"""Biases of a judge, as numbers with intervals: place, length, shift, favour, noise. (For its faults see `wilson`.)

Rows that share an item are not independent, so every interval is clustered: `clusters` says which rows belong
together. Intervals are at 95% unless `level` says otherwise. What cannot be estimated raises `Undefined`.

On a short scale marks pile up at the ends, so that differences of means shrink toward zero: `latent_marks` takes the
ends and the rounding into account and gives all effects at once, in marks of the unbounded scale behind the ballot.
Its truth has no error; where people stand for the truth, `stats.bias.errors_in_variables` takes their errors out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.intervals.cluster_intervals import Scale, cluster_mean

if TYPE_CHECKING:
    from collections.abc import Hashable

Array = NDArray[np.float64]
METHOD = "clustered jackknife"
Bends = list[tuple[Array, Array]]
"""Columns and weights whose weighted squares, summed, are a matrix of (minus) second derivatives."""


def clustered_mean(
    values: ArrayLike,
    clusters: Sequence[Hashable],
    *,
    within: Scale | None = None,
    level: float = 0.95,
) -> Estimate:
    """The mean of all values, with an interval that respects the clusters.

    `within` is the scale that no value can leave.

    >>> print(clustered_mean([1, 2, 3, 4], ["a", "b", "c", "d"]))
    2.500 [0.446, 4.554] n=4
    >>> print(clustered_mean([1, 2, 3, 4], ["a", "b", "c", "d"], within=(1, 5)))
    2.500 [1.331, 4.198] n=4
    """
    values = _vector(values)
    codes = _codes(clusters, len(values))
    totals, sizes = _vector(np.bincount(codes, values)), _vector(np.bincount(codes))
    return cluster_mean(totals, sizes, within=within, level=level)


def position_bias(
    forward: ArrayLike, swapped: ArrayLike, clusters: Sequence[Hashable], *, level: float = 0.95
) -> Estimate:
    """How far a judge leans toward the response shown first, from pairs heard in both orders.

    `forward` and `swapped` hold, for each pair, the lean of its two hearings: the mark of the response shown first less
    the mark of the one shown second, so 1, 0 or -1 for a choice. A judge that rules by content leans as often one way
    as the other, since what is first in one order is second in the other; one that rules by place alone in a share b of
    its hearings leans by b on average, whatever the pairs, its noise and its ties. 0 is no bias, 1 always the first, -1
    always the second.

    >>> position_bias([1, 1, 1, 0], [1, -1, 1, 0], range(4)).value
    0.5
    """
    return clustered_mean((_vector(forward) + _vector(swapped)) / 2, clusters, within=(-1.0, 1.0), level=level)


def swap_flips(
    forward: ArrayLike, swapped: ArrayLike, clusters: Sequence[Hashable], *, level: float = 0.95
) -> Estimate:
    """The share of pairs whose ruling changed when the two responses changed places (leans as in `position_bias`).

    >>> swap_flips([1, 1, -1, 0], [-1, 1, 1, 0], range(4)).value
    0.25
    """
    flipped = (_vector(forward) != -_vector(swapped)).astype(np.float64)
    return clustered_mean(flipped, clusters, within=(0.0, 1.0), level=level)


def latent_marks(
    marks: ArrayLike,
    regressors: Mapping[str, ArrayLike],
    clusters: Sequence[Hashable],
    *,
    low: float,
    high: float,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """What moves a judge's marks on a scale of whole numbers from `low` to `high`, by maximum likelihood.

    The judge is taken to feel a mark on an open scale, `sum of effect * regressor + noise * e` with e standard normal,
    and to write down the nearest whole number on the ballot; so a mark of `high` only says that it felt at least
    `high - 1/2`. Gives one effect for each regressor (pass a column of ones for the shift) and `noise`, all in marks.
    The likelihood is that of grouped data (M. B. Stewart, Review of Economic Studies 50, 1983), which is concave in
    effects / noise and 1 / noise (J. Burridge, Journal of the Royal Statistical Society B 43, 1981), so that the top
    is the only one. Intervals are clustered, with Student quantiles.

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(1, 6, 4000)
    >>> felt = truth + 0.8 + 0.5 * rng.standard_normal(4000)
    >>> marks = np.clip(np.rint(felt), 1, 5)
    >>> float((marks - truth).mean().round(1))
    0.6
    >>> found = latent_marks(marks, {"truth": truth, "shift": np.ones(4000)}, range(4000), low=1, high=5)
    >>> {name: round(estimate.value, 1) for name, estimate in found.items()}
    {'truth': 1.0, 'shift': 0.8, 'noise': 0.5}
    """
    marks = _vector(marks)
    design = np.column_stack([_vector(column) for column in regressors.values()])
    codes = _codes(clusters, len(marks))
    if codes.max(initial=-1) < 1:
        raise Undefined(
            Note("undefined.an-interval-needs-two-clusters", "effects cannot be told from fewer than two clusters")
        )
    lower = np.where(marks <= low, -np.inf, marks - 0.5)
    upper = np.where(marks >= high, np.inf, marks + 0.5)
    start = np.linalg.lstsq(design, marks, rcond=None)[0]
    spread = max(0.1, float(np.std(marks - design @ start)))
    optimum = _climb(np.append(start, 1.0) / spread, lower, upper, design)
    scores, bends = _slopes(optimum, lower, upper, design)[1:]
    covariance = _jackknife(scores, bends, codes)
    precision = optimum[-1]
    turn = np.column_stack([np.eye(design.shape[1]) / precision, -optimum[:-1] / precision**2])
    errors = np.sqrt(np.diag(turn @ covariance @ turn.T))
    reach = _student(codes.max(), level)
    estimates = {
        name: Estimate(
            float(value), float(value - reach * error), float(value + reach * error), len(marks), level, METHOD
        )
        for name, value, error in zip(regressors, optimum[:-1] / precision, errors, strict=True)
    }
    factor = float(np.exp(reach * np.sqrt(covariance[-1, -1]) / precision))
    noise = float(1 / precision)
    return estimates | {"noise": Estimate(noise, noise / factor, noise * factor, len(marks), level, METHOD)}


def _climb(start: Array, lower: Array, upper: Array, design: Array) -> Array:
    """Newton's way to the top of the likelihood of grouped data, in (effects / noise, 1 / noise)."""
    here: Array = start
    height, scores, bends = _slopes(here, lower, upper, design)
    for _ in range(100):
        step = _vector(np.linalg.lstsq(_total(bends), scores.sum(axis=0), rcond=None)[0])
        for _ in range(40):
            there = here + step
            if there[-1] > 0:
                new, scores, bends = _slopes(there, lower, upper, design)
                if new >= height:
                    break
            step = step / 2
        else:
            return here
        gain, here, height = new - height, there, new
        if height > -1e-6:
            break
        if gain < 1e-10 * max(1.0, abs(height)):
            return here
    raise Undefined(
        Note(
            "undefined.the-marks-follow-from-the",
            "the marks follow from the regressors without noise: there is no interval to give",
        )
    )


def _slopes(point: Array, lower: Array, upper: Array, design: Array) -> tuple[float, Array, Bends]:
    """The log likelihood at a point, its gradient row by row, and what makes up its second derivatives."""
    from scipy.special import ndtr

    centre, precision = design @ point[:-1], point[-1]
    low, high = precision * lower - centre, precision * upper - centre
    turned = low > 0
    mass = np.maximum(np.where(turned, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)), 1e-300)
    bends: Bends = []
    scores = np.zeros((len(centre), len(point)))
    for bound, sign in ((upper, 1.0), (lower, -1.0)):
        finite = np.isfinite(bound)
        z = np.where(finite, precision * bound - centre, 0.0)
        density = np.where(finite, np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi), 0.0) / mass
        column = np.column_stack([-design, np.where(finite, bound, 0.0)])
        scores += sign * density[:, None] * column
        bends.append((column, sign * z * density))
    return float(np.log(mass).sum()), scores, [*bends, (scores, np.ones(len(centre)))]


def _jackknife(scores: Array, bends: Bends, codes: NDArray[np.intp]) -> Array:
    """The covariance of estimates from how they move when one cluster after another is left out.

    Each is left out by one Newton step, which for least squares is exact. Called CR3 by A. C. Cameron and D. L. Miller
    (Journal of Human Resources 50, 2015): with few clusters it keeps its level better than the plain sandwich.
    """
    groups, width = int(codes.max()) + 1, scores.shape[1]
    sums = np.stack([np.bincount(codes, column, groups) for column in scores.T], axis=1)
    parts = np.zeros((groups, width, width))
    for i in range(width):
        for j in range(width):
            for column, weight in bends:
                parts[:, i, j] += np.bincount(codes, weight * column[:, i] * column[:, j], groups)
    try:
        moves = np.linalg.solve(parts.sum(axis=0) - parts, sums[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError as error:
        raise Undefined(
            Note(
                "undefined.the-effects-hang-on-a", "the effects hang on a single cluster: there is no interval to give"
            )
        ) from error
    return np.asarray((groups - 1) / groups * moves.T @ moves)


def _total(bends: Bends) -> Array:
    """Sums of weighted squares, which make up (minus) the second derivatives."""
    return _vector(sum(column.T @ (column * weight[:, None]) for column, weight in bends))


def _codes(clusters: Sequence[Hashable], rows: int) -> NDArray[np.intp]:
    numbers = {cluster: code for code, cluster in enumerate(dict.fromkeys(clusters))}
    codes = np.fromiter((numbers[cluster] for cluster in clusters), dtype=np.intp)
    if len(codes) != rows:
        raise ValueError(f"every row needs its cluster; found {len(codes)} for {rows} rows")
    return codes


def _vector(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)


def _student(freedom: float, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2))
