"""How far something that should not matter sways a judge: the log-odds of winning for each dose of it.

Two responses of the same worth are shown, one of them changed; the judge must choose. With d the dose and s = 1 where
the changed one is shown first, -1 where it is second, the chance that it wins is taken to be

    1 / (1 + exp(-(effect * d + place * s)))

`place` is fitted over all changes of one sort together, each `effect` on its own rows beside it. The effect is that of
Firth (Biometrika 80, 1993, doi:10.1093/biomet/80.1.27), which is finite where all choices go one way; the interval
turns a score test round, as Wilson's does for a share: it holds all effects under which the choices seen are not
unlikely.
Where an item has several rulings, their sums are what varies, and the wider of both intervals is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints, Numbers, codes, column
from fullbench.stats.intervals.normal_and_t_quantiles import student_quantile

MOST = 6.0
"""Effects beyond this (odds of 400 to 1) are not told apart."""
_GRID = np.linspace(-MOST, MOST, 1201)
_STEPS = 60
HOLD = 1.0
METHOD = "score test turned round"


@dataclass(frozen=True)
class Swayed:
    """Effects by change, and those of being shown first by sort of change, both in the order of their first rows."""

    effects: tuple[Estimate, ...]
    places: tuple[Estimate, ...]


def swayed(
    wins: Numbers, dose: Numbers, first: Numbers, change: Sequence[str], item: Sequence[str], *, sort: Sequence[str]
) -> Swayed:
    """The effects of all changes. `wins`: the changed response won (1) or not (0), ties one half; `first`: it was shown
    first (1) or second (-1); `sort`: what was changed, such as an answer or a picture, each with a place effect of its
    own. Estimates carry the p-value of "there is no effect".

    >>> wins, first = [1, 1, 1, 0, 1, 1, 0, 1] * 3, [1, 1, -1, -1] * 6
    >>> found = swayed(wins, [1] * 24, first, ["length"] * 24, [str(n) for n in range(24)], sort=["answer"] * 24)
    >>> print(found.effects[0], round(found.effects[0].p, 3))
    1.638 [0.580, 2.730] n=24 0.023
    """
    won, doses, places = column(wins), column(dose), column(first)
    if len(won) == 0:
        raise Undefined(Note("undefined.nothing-was-changed", "no ruling on a changed response is there"))
    names, sorts = list(dict.fromkeys(change)), list(dict.fromkeys(sort))
    which = np.array([names.index(name) for name in change])
    of_sort = np.array([sorts.index(name) for name in sort])
    _, items = codes(np.asarray(item))
    design = np.zeros((len(won), len(names) + len(sorts)))
    design[np.arange(len(won)), which] = doses
    design[np.arange(len(won)), len(names) + of_sort] = places
    fitted = _ridge_fit(design, won, len(sorts))
    lean = fitted[len(names) + of_sort] * places
    effects = tuple(
        _effect(won[rows], doses[rows], lean[rows], items[rows])
        for rows in (which == place for place in range(len(names)))
    )
    others = design[:, : len(names)] @ fitted[: len(names)]
    return Swayed(
        effects,
        tuple(
            _effect(won[rows], places[rows], others[rows], items[rows], fitted=len(np.unique(which[rows])))
            for rows in (of_sort == place for place in range(len(sorts)))
        ),
    )


def _ridge_fit(design: Floats, won: Floats, sorts: int) -> Floats:
    """Logistic regression, held back so that it is finite whatever was chosen: effects of few rows more than place.

    With few rows for each change, free effects would take up what is chance, and place would look surer than it is.
    """
    weights = np.zeros(design.shape[1])
    hold = np.diag([*[HOLD] * (design.shape[1] - sorts), *[0.05] * sorts])
    for _ in range(_STEPS):
        chance = _logistic(design @ weights)
        slope = design.T @ (won - chance) - hold @ weights
        curve = (design * (chance * (1 - chance))[:, None]).T @ design + hold
        step = np.linalg.solve(curve, slope)
        weights += np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-10:
            break
    return weights


def _effect(won: Floats, dose: Floats, offset: Floats, items: Ints, fitted: int = 0) -> Estimate:
    """One effect beside an offset, in which `fitted` other effects stand that were taken from the same rows.

    They took as many degrees of freedom; and with few rows the interval is that of Student's quantile, not a normal's.
    """
    units = np.unique(items)
    freedom = max(1, len(won) - 1 - fitted)
    value = _firth(won, dose, offset)
    chance = _logistic(_GRID[:, None] * dose + offset)
    pull = dose * (won - chance)
    variance = (dose**2 * chance * (1 - chance)).sum(axis=1)
    z = pull.sum(axis=1) / np.sqrt(np.maximum(variance, 1e-12))
    z *= (freedom / max(1, len(won) - 1)) ** 0.5
    inside = np.abs(z) <= student_quantile(freedom, 0.975)
    p = _exact(won, dose, offset) if len(units) == len(won) and not fitted else _p_normal(float(z[len(z) // 2]))
    # an offset fitted to the same rows takes up some of their chance; where either place is shown equally often, the
    # test without it holds whatever the offset is
    p = max(p, _exact(won, dose, np.zeros_like(offset)))
    if 1 < len(units) < len(won):
        place = np.searchsorted(units, items)
        sums = np.zeros((len(_GRID), len(units)))
        np.add.at(sums.T, place, pull.T)
        spread = (sums**2).sum(axis=1) * len(units) / (len(units) - 1)
        t = sums.sum(axis=1) / np.sqrt(np.maximum(spread, 1e-12))
        inside |= np.abs(t) <= student_quantile(len(units) - 1, 0.975)
        p = max(p, _p_student(float(t[len(t) // 2]), len(units) - 1))
    held = _GRID[inside]
    low, high = (float(held[0]), float(held[-1])) if held.size else (value, value)
    low, high = min(low, value), max(high, value)
    open_end = low <= -MOST or high >= MOST
    return Estimate(value, low, high, len(won), method=METHOD, p=p, units=len(units), one_sided=open_end)


def _firth(won: Floats, dose: Floats, offset: Floats) -> float:
    from scipy.optimize import brentq

    def pull(effect: float) -> float:
        chance = _logistic(effect * dose + offset)
        spread = chance * (1 - chance)
        information = float((dose**2 * spread).sum())
        lean = float((dose**3 * spread * (1 - 2 * chance)).sum()) / (2 * max(information, 1e-12))
        return float((dose * (won - chance)).sum()) + lean

    if pull(-MOST) <= 0:
        return -MOST
    return MOST if pull(MOST) > 0 else float(brentq(pull, -MOST, MOST, xtol=1e-13))


def _exact(won: Floats, dose: Floats, offset: Floats) -> float:
    """The chance of a sum of doses as far out as the one seen, were there no effect; by adding up all outcomes."""
    halves = np.rint(2 * np.abs(dose)).astype(int)
    if len(won) > 400 or np.abs(halves - 2 * np.abs(dose)).max() > 1e-6:
        spread = _logistic(offset) * (1 - _logistic(offset))
        return _p_normal(float((dose * (won - _logistic(offset))).sum() / np.sqrt((dose**2 * spread).sum())))
    chance = np.where(dose > 0, _logistic(offset), 1 - _logistic(offset))
    toward = np.where(dose > 0, won, 1 - won)
    ways = _ways(halves, chance)
    seen = float((halves * toward).sum())
    sums = np.arange(len(ways))
    tails = (float(ways[sums >= seen - 1e-9].sum()), float(ways[sums <= seen + 1e-9].sum()))
    return min(1.0, 2 * min(tails))


def _ways(steps: Ints, chance: Floats) -> Floats:
    """The chance of every sum of steps, each of which is taken with its own chance."""
    ways = np.ones(1)
    for step, share in zip(steps, chance, strict=True):
        longer = np.zeros(len(ways) + step)
        longer[: len(ways)] += (1 - share) * ways
        longer[step:] += share * ways
        ways = longer
    return ways


def least_noticed(dose: Numbers, level: float, power: float = 0.8) -> float | None:
    """The smallest effect that is told from none at a level with that power, by rulings at these doses; None where
    no effect is, for there are too few of them.

    >>> round(least_noticed([2] * 12, 0.01), 2), least_noticed([2] * 5, 0.01)
    (1.3, None)
    """
    return _least_noticed(tuple(sorted(map(float, np.abs(column(dose))))), level, power)


@lru_cache(maxsize=256)
def _least_noticed(doses: tuple[float, ...], level: float, power: float) -> float | None:
    """It depends on the design alone, and all judges of an audit share theirs."""
    steps = np.array(doses)
    # halves of doses are whole numbers, as in the test itself
    halves = np.rint(2 * steps).astype(np.int64)
    even = _ways(halves, np.full(len(halves), 0.5))
    tail = 2 * np.minimum(np.cumsum(even), np.cumsum(even[::-1])[::-1])
    told = tail <= level

    def reached(effect: float) -> float:
        return float(_ways(halves, _logistic(effect * steps))[told].sum())

    low, high = 0.0, MOST
    if reached(high) < power:
        return None
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) < power else (low, middle)
    return high


def _logistic(value: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(value, -40, 40)))


def _p_normal(z: float) -> float:
    from math import erfc, sqrt

    return erfc(abs(z) / sqrt(2))


def _p_student(t: float, freedom: int) -> float:
    from scipy.special import stdtr

    return float(2 * stdtr(freedom, -abs(t)))
