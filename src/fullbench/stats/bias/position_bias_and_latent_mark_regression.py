"""Position bias, swap flips, clustered means and latent-mark regression of a judge, with intervals.

Rows of the same item are not independent, so every interval is clustered: `clusters` has a label for each row.
Intervals are at 95% unless `level` is given. A value that cannot be estimated raises `Undefined`. For the rate of
unusable verdicts use `wilson_interval`.

On a short scale, marks pile up at the ends, so differences of means shrink towards zero. `latent_marks` models the
ends and the rounding, and estimates all effects at once on the unbounded scale behind the ballot. It assumes a truth
without error. If people's votes are the truth, `stats.bias.trait_effects_with_noisy_votes` corrects for their errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.intervals.cluster_intervals import Scale, cluster_mean

if TYPE_CHECKING:
    from collections.abc import Hashable

Array = NDArray[np.float64]
METHOD = "clustered jackknife"
Bends = list[tuple[Array, Array]]
"""Columns and weights whose summed weighted squares are a matrix of (minus) second derivatives."""


def clustered_mean(
    values: ArrayLike,
    clusters: Sequence[Hashable],
    *,
    within: Scale | None = None,
    level: float = 0.95,
) -> Estimate:
    """Return the mean of all values, with an interval over clusters.

    `within` is the range of possible values.

    >>> print(clustered_mean([1, 2, 3, 4], ["a", "b", "c", "d"]))
    2.500 [0.446, 4.554] n=4
    >>> print(clustered_mean([1, 2, 3, 4], ["a", "b", "c", "d"], within=(1, 5)))
    2.500 [1.331, 4.198] n=4
    """
    values = _as_vector(values)
    codes = _cluster_codes(clusters, len(values))
    totals, sizes = _as_vector(np.bincount(codes, values)), _as_vector(np.bincount(codes))
    return cluster_mean(totals, sizes, within=within, level=level)


def position_bias(forward_gaps: ArrayLike, swapped_gaps: ArrayLike, clusters: Sequence[Hashable]) -> Estimate:
    """Return the bias towards the response shown first, from pairs judged in both orders.

    `forward_gaps` and `swapped_gaps` have, for each pair, the mark of the response shown first minus that of the
    second: 1, 0 or -1 for a choice. If a judge decides by content, the two gaps cancel, because the order is reversed.
    If it decides by position alone in a share b of its verdicts, the mean gap is b, whatever the pairs, noise and
    ties. 0 is no bias, 1 is always the first, -1 is always the second.

    >>> position_bias([1, 1, 1, 0], [1, -1, 1, 0], range(4)).value
    0.5
    """
    return clustered_mean((_as_vector(forward_gaps) + _as_vector(swapped_gaps)) / 2, clusters, within=(-1.0, 1.0))


def swap_flips(forward_gaps: ArrayLike, swapped_gaps: ArrayLike, clusters: Sequence[Hashable]) -> Estimate:
    """Return the share of pairs whose verdict changed when the two responses were swapped (gaps as in `position_bias`).

    >>> swap_flips([1, 1, -1, 0], [-1, 1, 1, 0], range(4)).value
    0.25
    """
    flips = (_as_vector(forward_gaps) != -_as_vector(swapped_gaps)).astype(np.float64)
    return clustered_mean(flips, clusters, within=(0.0, 1.0))


def latent_marks(
    marks: ArrayLike,
    regressors: Mapping[str, ArrayLike],
    clusters: Sequence[Hashable],
    *,
    low: float,
    high: float,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """Estimate effects on a judge's whole-number marks from `low` to `high` by maximum likelihood.

    Model: the judge has a latent mark on an unbounded scale, `sum of effect * regressor + noise * e` with e standard
    normal. It writes the nearest whole number on the ballot, so a mark of `high` only means at least `high - 1/2`.
    Returns one effect for each regressor (pass a column of ones for the shift) and `noise`, all in marks. The
    likelihood is that of grouped data (M. B. Stewart, Review of Economic Studies 50, 1983). It is concave in effects /
    noise and 1 / noise (J. Burridge, Journal of the Royal Statistical Society B 43, 1981), so it has a single maximum.
    Intervals are clustered, with Student quantiles.

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
    marks = _as_vector(marks)
    design = np.column_stack([_as_vector(column) for column in regressors.values()])
    codes = _cluster_codes(clusters, len(marks))
    if codes.max(initial=-1) < 1:
        raise Undefined(Note("undefined.an-interval-needs-two-clusters"))
    lower = np.where(marks <= low, -np.inf, marks - 0.5)
    upper = np.where(marks >= high, np.inf, marks + 0.5)
    start = np.linalg.lstsq(design, marks, rcond=None)[0]
    spread = max(0.1, float(np.std(marks - design @ start)))
    optimum = _maximise_likelihood(np.append(start, 1.0) / spread, lower, upper, design)
    scores, bends = _likelihood_slopes(optimum, lower, upper, design)[1:]
    covariance = _jackknife_covariance(scores, bends, codes)
    precision = optimum[-1]
    turn = np.column_stack([np.eye(design.shape[1]) / precision, -optimum[:-1] / precision**2])
    errors = np.sqrt(np.diag(turn @ covariance @ turn.T))
    reach = _student_quantile(codes.max(), level)
    estimates = {
        name: Estimate(
            float(value), float(value - reach * error), float(value + reach * error), len(marks), level, METHOD
        )
        for name, value, error in zip(regressors, optimum[:-1] / precision, errors, strict=True)
    }
    factor = float(np.exp(reach * np.sqrt(covariance[-1, -1]) / precision))
    noise = float(1 / precision)
    return estimates | {"noise": Estimate(noise, noise / factor, noise * factor, len(marks), level, METHOD)}


def _maximise_likelihood(start: Array, lower: Array, upper: Array, design: Array) -> Array:
    """Newton's method in (effects / noise, 1 / noise)."""
    here: Array = start
    height, scores, bends = _likelihood_slopes(here, lower, upper, design)
    for _ in range(100):
        step = _as_vector(np.linalg.lstsq(_curvature_matrix(bends), scores.sum(axis=0), rcond=None)[0])
        for _ in range(40):
            there = here + step
            if there[-1] > 0:
                new, scores, bends = _likelihood_slopes(there, lower, upper, design)
                if new >= height:
                    break
            step = step / 2
        else:
            return here
        gain, here, height = new - height, there, new
        # A likelihood of 1 means that the regressors explain the marks without noise.
        if height > -1e-6:
            break
        if gain < 1e-10 * max(1.0, abs(height)):
            return here
    raise Undefined(Note("undefined.the-marks-follow-from-the"))


def _likelihood_slopes(point: Array, lower: Array, upper: Array, design: Array) -> tuple[float, Array, Bends]:
    from scipy.special import ndtr

    centre, precision = design @ point[:-1], point[-1]
    low, high = precision * lower - centre, precision * upper - centre
    # In the upper tail, differences of complements avoid cancellation. 1e-300 keeps the logarithm finite.
    is_upper_tail = low > 0
    mass = np.maximum(np.where(is_upper_tail, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)), 1e-300)
    bends: Bends = []
    scores = np.zeros((len(centre), len(point)))
    for mark_bound, sign in ((upper, 1.0), (lower, -1.0)):
        finite = np.isfinite(mark_bound)
        z = np.where(finite, precision * mark_bound - centre, 0.0)
        density = np.where(finite, np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi), 0.0) / mass
        column = np.column_stack([-design, np.where(finite, mark_bound, 0.0)])
        scores += sign * density[:, None] * column
        bends.append((column, sign * z * density))
    return float(np.log(mass).sum()), scores, [*bends, (scores, np.ones(len(centre)))]


def _jackknife_covariance(scores: Array, bends: Bends, codes: NDArray[np.intp]) -> Array:
    """CR3 (Cameron and Miller, Journal of Human Resources 50, 2015): leave out each cluster by one Newton step.

    This is exact for least squares, and with few clusters keeps its level better than the plain sandwich.
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
        raise Undefined(Note("undefined.the-effects-hang-on-a")) from error
    return np.asarray((groups - 1) / groups * moves.T @ moves)


def _curvature_matrix(bends: Bends) -> Array:
    return _as_vector(sum(column.T @ (column * weight[:, None]) for column, weight in bends))


def _cluster_codes(clusters: Sequence[Hashable], rows: int) -> NDArray[np.intp]:
    numbers = {cluster: code for code, cluster in enumerate(dict.fromkeys(clusters))}
    codes = np.fromiter((numbers[cluster] for cluster in clusters), dtype=np.intp)
    if len(codes) != rows:
        raise ValueError(f"every row needs its cluster; found {len(codes)} for {rows} rows")
    return codes


def _as_vector(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)


def _student_quantile(freedom: float, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + level / 2))
