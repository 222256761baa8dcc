"""Log-odds that a changed response wins, per strength of a change that should not matter.

Two responses of the same worth are shown, one of them changed, and the judge must choose. With d the strength, and s =
1 if the changed one is shown first or -1 if second, the chance that it wins is modelled as

    1 / (1 + exp(-(effect * d + place * s)))

`place` is fitted over all changes of one sort together, then each `effect` on its own rows with `place` as offset. The
effect is Firth's estimate (Biometrika 80, 1993, doi:10.1093/biomet/80.1.27), which is finite even if all choices go
one way. The interval inverts a score test, as Wilson's does for a share: it contains all effects under which the
observed choices are not unlikely. If an item has several verdicts, their sums are the independent units, and the wider
of the two intervals is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints, Numbers, finite_column, label_codes
from fullbench.stats.intervals.normal_and_t_quantiles import student_quantile, student_tails

MOST = 6.0
"""Larger effects (odds of 400 to 1) are not distinguished."""
_GRID = np.linspace(-MOST, MOST, 1201)
_STEPS = 60
# Ridge penalty of the effects in the joint fit; see `_ridge_fit`.
HOLD = 1.0
METHOD = "score test turned round"


@dataclass(frozen=True)
class ChangeEffects:
    """Effects by change, and effects of being shown first by sort of change, both in the order of their first rows."""

    effects: tuple[Estimate, ...]
    places: tuple[Estimate, ...]


def estimate_change_effects(
    wins: Numbers, strength: Numbers, first: Numbers, change: Sequence[str], item: Sequence[str], *, sort: Sequence[str]
) -> ChangeEffects:
    """Estimate the effects of all changes, each with the p-value of "there is no effect".

    `wins` is 1 if the changed response won, 0 if not, 0.5 for a tie. `first` is 1 if it was shown first, -1 if second.
    `sort` is the kind of object that was changed, such as an answer or a picture. Each sort has its own place effect.

    >>> wins, first = [1, 1, 1, 0, 1, 1, 0, 1] * 3, [1, 1, -1, -1] * 6
    >>> found = estimate_change_effects(wins, [1] * 24, first, ["length"] * 24, [str(n) for n in range(24)],
    ...     sort=["answer"] * 24)
    >>> print(found.effects[0], round(found.effects[0].p, 3))
    1.638 [0.580, 2.730] n=24 0.023
    """
    outcomes, strengths, places = finite_column(wins), finite_column(strength), finite_column(first)
    if len(outcomes) == 0:
        raise Undefined(Note("undefined.nothing-was-changed"))
    names, sorts = list(dict.fromkeys(change)), list(dict.fromkeys(sort))
    which = np.array([names.index(name) for name in change])
    of_sort = np.array([sorts.index(name) for name in sort])
    _, items = label_codes(np.asarray(item))
    design = np.zeros((len(outcomes), len(names) + len(sorts)))
    design[np.arange(len(outcomes)), which] = strengths
    design[np.arange(len(outcomes)), len(names) + of_sort] = places
    coefficients = _ridge_fit(design, outcomes, len(sorts))
    place_offset = coefficients[len(names) + of_sort] * places
    effects = tuple(
        _effect_estimate(outcomes[rows], strengths[rows], place_offset[rows], items[rows])
        for rows in (which == place for place in range(len(names)))
    )
    other_effects = design[:, : len(names)] @ coefficients[: len(names)]
    return ChangeEffects(
        effects,
        tuple(
            _effect_estimate(
                outcomes[rows], places[rows], other_effects[rows], items[rows], fitted_count=len(np.unique(which[rows]))
            )
            for rows in (of_sort == place for place in range(len(sorts)))
        ),
    )


def _ridge_fit(design: Floats, outcomes: Floats, sorts: int) -> Floats:
    """Fit a logistic regression with a ridge penalty, which is finite for any choices. Place is penalised less.

    With few rows per change, free effects would absorb chance, and place would look more certain than it is.
    """
    weights = np.zeros(design.shape[1])
    hold = np.diag([*[HOLD] * (design.shape[1] - sorts), *[0.05] * sorts])
    for _ in range(_STEPS):
        chance = _logistic_chance(design @ weights)
        slope = design.T @ (outcomes - chance) - hold @ weights
        curve = (design * (chance * (1 - chance))[:, None]).T @ design + hold
        step = np.linalg.solve(curve, slope)
        weights += np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-10:
            break
    return weights


def _effect_estimate(
    outcomes: Floats, strength: Floats, offset: Floats, items: Ints, fitted_count: int = 0
) -> Estimate:
    """The offset contains `fitted_count` other effects of the same rows, which reduce the degrees of freedom."""
    units = np.unique(items)
    freedom = max(1, len(outcomes) - 1 - fitted_count)
    value = _firth_effect(outcomes, strength, offset)
    chance = _logistic_chance(_GRID[:, None] * strength + offset)
    pull = strength * (outcomes - chance)
    variance = (strength**2 * chance * (1 - chance)).sum(axis=1)
    z = pull.sum(axis=1) / np.sqrt(np.maximum(variance, 1e-12))
    z *= (freedom / max(1, len(outcomes) - 1)) ** 0.5
    inside = np.abs(z) <= student_quantile(freedom, 0.975)
    # The middle of the grid is the effect 0.
    p = (
        _exact_p_value(outcomes, strength, offset)
        if len(units) == len(outcomes) and not fitted_count
        else _p_normal(float(z[len(z) // 2]))
    )
    # An offset fitted to the same rows absorbs some of their chance. If both places are shown equally often, the test
    # without the offset is valid for any offset. The larger p-value is reported.
    p = max(p, _exact_p_value(outcomes, strength, np.zeros_like(offset)))
    if 1 < len(units) < len(outcomes):
        place = np.searchsorted(units, items)
        sums = np.zeros((len(_GRID), len(units)))
        np.add.at(sums.T, place, pull.T)
        spread = (sums**2).sum(axis=1) * len(units) / (len(units) - 1)
        t = sums.sum(axis=1) / np.sqrt(np.maximum(spread, 1e-12))
        inside |= np.abs(t) <= student_quantile(len(units) - 1, 0.975)
        p = max(p, student_tails(len(units) - 1, float(t[len(t) // 2])))
    accepted_effects = _GRID[inside]
    low, high = (float(accepted_effects[0]), float(accepted_effects[-1])) if accepted_effects.size else (value, value)
    low, high = min(low, value), max(high, value)
    open_end = low <= -MOST or high >= MOST
    return Estimate(value, low, high, len(outcomes), method=METHOD, p=p, units=len(units), one_sided=open_end)


def _firth_effect(outcomes: Floats, strength: Floats, offset: Floats) -> float:
    from scipy.optimize import brentq

    def pull(effect: float) -> float:
        chance = _logistic_chance(effect * strength + offset)
        spread = chance * (1 - chance)
        information = float((strength**2 * spread).sum())
        score_correction = float((strength**3 * spread * (1 - 2 * chance)).sum()) / (2 * max(information, 1e-12))
        return float((strength * (outcomes - chance)).sum()) + score_correction

    if pull(-MOST) <= 0:
        return -MOST
    return MOST if pull(MOST) > 0 else float(brentq(pull, -MOST, MOST, xtol=1e-13))


def _exact_p_value(outcomes: Floats, strength: Floats, offset: Floats) -> float:
    """Chance, without any effect, of a sum of strengths at least as extreme; exact over all outcomes."""
    halves = np.rint(2 * np.abs(strength)).astype(int)
    # The exact sum needs strengths in halves. Else, and beyond 400 rows, use the normal approximation.
    if len(outcomes) > 400 or np.abs(halves - 2 * np.abs(strength)).max() > 1e-6:
        spread = _logistic_chance(offset) * (1 - _logistic_chance(offset))
        return _p_normal(
            float((strength * (outcomes - _logistic_chance(offset))).sum() / np.sqrt((strength**2 * spread).sum()))
        )
    chance = np.where(strength > 0, _logistic_chance(offset), 1 - _logistic_chance(offset))
    toward = np.where(strength > 0, outcomes, 1 - outcomes)
    ways = _sum_distribution(halves, chance)
    observed_sum = float((halves * toward).sum())
    sums = np.arange(len(ways))
    tails = (float(ways[sums >= observed_sum - 1e-9].sum()), float(ways[sums <= observed_sum + 1e-9].sum()))
    return min(1.0, 2 * min(tails))


def _sum_distribution(steps: Ints, chance: Floats) -> Floats:
    ways = np.ones(1)
    for step, share in zip(steps, chance, strict=True):
        longer = np.zeros(len(ways) + step)
        longer[: len(ways)] += (1 - share) * ways
        longer[step:] += share * ways
        ways = longer
    return ways


def least_detectable_effect(strength: Numbers, level: float, power: float = 0.8) -> float | None:
    """Return the smallest effect detectable with this power at these strengths, or None if there are too few verdicts.

    >>> round(least_detectable_effect([2] * 12, 0.01), 2), least_detectable_effect([2] * 5, 0.01)
    (1.3, None)
    """
    return _least_detectable_effect(tuple(sorted(map(float, np.abs(finite_column(strength))))), level, power)


@lru_cache(maxsize=256)
def _least_detectable_effect(strengths: tuple[float, ...], level: float, power: float) -> float | None:
    """Cached, because all judges of an audit share one design."""
    steps = np.array(strengths)
    # Strengths are multiples of one half, as in the test itself.
    halves = np.rint(2 * steps).astype(np.int64)
    even = _sum_distribution(halves, np.full(len(halves), 0.5))
    tail = 2 * np.minimum(np.cumsum(even), np.cumsum(even[::-1])[::-1])
    is_significant = tail <= level

    def power_at(effect: float) -> float:
        return float(_sum_distribution(halves, _logistic_chance(effect * steps))[is_significant].sum())

    low, high = 0.0, MOST
    if power_at(high) < power:
        return None
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if power_at(middle) < power else (low, middle)
    return high


def _logistic_chance(value: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(value, -40, 40)))


def _p_normal(z: float) -> float:
    from math import erfc, sqrt

    return erfc(abs(z) / sqrt(2))
