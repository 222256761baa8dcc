"""Scale and bias of a judge's ratings, compared with people's.

A judge that errs more than people shrinks all differences: strong contestants lose points and weak ones gain some,
although the judge favours nobody. So ratings are compared after the best common scale: `judge = scale * people +
residual`. A residual is a bias only if it cannot be explained by any scale. The test is simultaneous over contestants
and inverts a test of each scale (Anderson and Rubin 1949, doi:10.1214/aoms/1177730090), so errors in people's ratings
do not bias it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fullbench.stats.array_checks import Floats
from fullbench.stats.intervals.normal_and_t_quantiles import student_quantile

# Scales that are tried. Errors shrink differences to nothing at most, so a judge that reverses them is biased.
_SCALES = np.linspace(0.0, 4.0, 801)


@dataclass(frozen=True)
class ScaleComparison:
    """Best common scale, the range of scales that explain all differences, and the residuals.

    `scale_range` is None if no scale explains the differences; then `is_biased` marks the contestants whose residual is
    clear. `half_widths` are those of simultaneous intervals.
    """

    scale: float
    scale_range: tuple[float, float] | None
    residuals: Floats
    half_widths: Floats
    is_biased: tuple[bool, ...]


def compare_scales(
    judge: Floats, people: Floats, covariances: tuple[Floats, Floats, Floats], freedom: float, *, level: float = 0.95
) -> ScaleComparison:
    """Compare a judge's log strengths with people's, both with mean zero.

    Args:
        judge: The judge's log strengths.
        people: People's, alone or corrected.
        covariances: Of the judge's, between the judge's and people's, and of people's.
        freedom: Degrees of freedom of the covariances.
        level: Chance that a judge without bias is not accused of anything.

    >>> spread = np.eye(4) * 0.01
    >>> found = compare_scales(np.array([0.6, 0.2, -0.2, -0.6]), np.array([1.2, 0.4, -0.4, -1.2]),
    ...                        (spread, spread * 0, spread), 50)
    >>> round(found.scale, 1), any(found.is_biased)
    (0.5, False)
    """
    size = len(judge)
    judge_variance, between, people_variance = (np.diag(part) for part in covariances)
    scales = _SCALES[:, None]
    residuals = judge - scales * people
    variances = judge_variance - 2 * scales * between + scales**2 * people_variance
    errors = np.sqrt(np.maximum(variances, 1e-12))
    bound = student_quantile(freedom, 1 - (1 - level) / (2 * size))
    misfit = (np.abs(residuals) / errors).max(axis=1)
    explained = np.flatnonzero(misfit <= bound)
    best = _least_squares_scale(judge, people, float(between.sum()), float(people_variance.sum()))
    # Outside of the range, or at its end, least squares would be an estimate that its own range does not surround.
    if len(explained) and not explained[0] < best < explained[-1]:
        best = int(misfit.argmin())
    half_widths = bound * errors[best]
    scale_range = (float(_SCALES[explained[0]]), float(_SCALES[explained[-1]])) if len(explained) else None
    is_clear = np.abs(residuals[best]) > half_widths
    is_biased = tuple(bool(clear) and scale_range is None for clear in is_clear)
    return ScaleComparison(float(_SCALES[best]), scale_range, residuals[best], half_widths, is_biased)


def _least_squares_scale(judge: Floats, people: Floats, between: float, error: float) -> int:
    """Return the index of the least-squares scale, with the errors of people's ratings taken out."""
    spread = float(people @ people)
    # Taking out more than half of the spread would divide by mere noise.
    scale = (float(judge @ people) - between) / max(spread - error, spread / 2, 1e-12)
    return int(np.argmin(np.abs(_SCALES - scale)))
