"""Intervals over clusters (items), be they five or five thousand: one rule for means, shares and all figures.

Rows that share an item are not independent, so the spread of a figure is told by how it moves when one item after
another is left out (the jackknife; for means it is CR3 of A. C. Cameron and D. L. Miller, Journal of Human Resources
50, 2015). What that spread becomes depends on the scale:

- A figure that can only lie between two ends gets a score interval, as Wilson's is for a share: the variance of what
  lies on a scale shrinks toward its ends, as (value - least) (most - value) does. Student's quantile has one degree of
  freedom less than there are items, or fewer where a few items make up most of the spread.
- A figure without ends gets Student's interval.
- Where no item differs from another there is no spread to go by. On a scale something can still be said: had more than
  a share q of all items been different, some of the items seen would be, but for a chance of 5 % (q = 1 - 0.05^(1/n),
  the bound of Clopper and Pearson). The interval is what such a share could do to the figure at most, and one-sided at
  an end of the scale. Without a scale there is no interval, and the estimate says why.

docs/statistics.md has the coverage of all this, measured at 5 to 1,000 items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats
from fullbench.stats.intervals.normal_and_t_quantiles import student_quantile

ONE_ITEM = Note("no-interval.one-item", "one item")
NO_SPREAD = Note("no-interval.no-spread", "items do not differ")
METHOD = "jackknife over items"

Scale = tuple[float, float]
"""The least and the greatest value that a figure can have."""
# a spread below this part of the figure is what rounding leaves of none
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of a figure, from how it moves when one unit is left out, and its degrees of freedom.

    `student` are those of Student's interval, n - 1 for n units; `freedom` those on a scale, where few may count.
    """

    variance: float
    freedom: float
    units: int
    student: float

    @classmethod
    def of(cls, moves: Floats, times: Floats | None = None) -> Spread:
        """From the moves of the figure, each as often as `times` says.

        On a scale the degrees of freedom are those of n - 1 normal moves, or fewer where the fourth moment of the
        moves is larger than theirs (Satterthwaite's way): one odd item among twenty tells as little of the spread as
        three items would.

        >>> Spread.of(np.array([1.0, -1.0, 1.0, -1.0])).freedom
        3.0
        >>> round(Spread.of(np.array([1.0, 0.0, 0.0, 0.0, 0.0])).freedom, 1)
        2.0
        """
        counts = np.ones(len(moves)) if times is None else times
        units = round(float(counts.sum()))
        second, fourth = float((counts * moves**2).sum()), float((counts * moves**4).sum())
        freedom = float(units - 1) if fourth <= 0 else min(units - 1.0, max(1.0, 3 * second**2 / fourth - 1))
        return cls((units - 1) / units * second, freedom, units, units - 1.0)

    @classmethod
    def none(cls, units: int) -> Spread:
        """That of units that do not differ."""
        return cls(0.0, units - 1.0, units, units - 1.0)

    @classmethod
    def of_mean(cls, parts: Sequence[Spread]) -> Spread:
        """That of the mean of independent figures (Satterthwaite 1946, doi:10.2307/3002019).

        >>> Spread.of_mean([Spread(0.4, 9.0, 10, 9.0), Spread(0.4, 9.0, 10, 9.0)])
        Spread(variance=0.2, freedom=18.0, units=20, student=18.0)
        """
        units = sum(part.units for part in parts)
        total = sum(part.variance for part in parts)
        if total == 0:
            return cls.none(units)
        freedom, student = (
            total**2 / sum(part.variance**2 / degrees for part, degrees in zip(parts, column, strict=True))
            for column in ([part.freedom for part in parts], [part.student for part in parts])
        )
        return cls(total / len(parts) ** 2, freedom, units, student)


def unseen(units: int, level: float = 0.95) -> float:
    """The greatest share of different units that could have stayed unseen among so many.

    >>> round(unseen(20), 3)
    0.139
    """
    return 1.0 - float((1 - level) ** (1 / units))


def around(
    value: float,
    n: int,
    spread: Spread,
    *,
    within: Scale | None = None,
    level: float = 0.95,
    method: str = METHOD,
) -> Estimate:
    """The estimate of a figure with this spread; `within` is its scale, where it has one.

    >>> print(around(0.9, 40, Spread(0.001, 19.0, 20, 19.0), within=(0, 1)))
    0.900 [0.814, 0.949] n=40
    >>> print(around(1.0, 40, Spread.none(20), within=(0, 1)))
    1.000 [0.861, 1.000] n=40
    """
    error = spread.variance**0.5
    if error <= _ROUNDING * max(1.0, abs(value)):
        return _alike(value, n, spread.units, within, level)
    if within is None or not within[0] < value < within[1]:
        half = error * student_quantile(spread.student, (1 + level) / 2)
        low, high = value - half, value + half
    else:
        low, high = _scored(value, spread.variance, student_quantile(spread.freedom, (1 + level) / 2), within)
    return Estimate(value, low, high, n, level, method, units=spread.units)


def p_of_zero(value: float, spread: Spread, within: Scale | None = None) -> float:
    """The two-sided p-value of "the true figure is 0", which agrees with the interval of `around`.

    >>> round(p_of_zero(0.5, Spread(0.04, 9.0, 10, 9.0)), 3)
    0.034
    """
    from scipy.special import stdtr

    if value == 0:
        return 1.0
    if spread.variance <= (_ROUNDING * max(1.0, abs(value))) ** 2:
        # all units are alike: what is left is a sign test on them
        return min(1.0, 2.0 ** (1 - spread.units))
    variance, freedom = spread.variance, spread.student
    if within is not None and within[0] < value < within[1]:
        least, most = within
        variance, freedom = variance * -least * most / ((value - least) * (most - value)), spread.freedom
    return float(2 * stdtr(freedom, -abs(value) / variance**0.5))


def _scored(value: float, variance: float, reach: float, within: Scale) -> tuple[float, float]:
    """Wilson's interval on a scale, with the number of draws that would have this variance."""
    least, most = within
    width = most - least
    share = (value - least) / width
    draws = share * (1 - share) * width**2 / variance
    square = reach * reach / draws
    centre = (share + square / 2) / (1 + square)
    half = (square * share * (1 - share) + square * square / 4) ** 0.5 / (1 + square)
    return max(least, least + width * (centre - half)), min(most, least + width * (centre + half))


def _alike(value: float, n: int, units: int, within: Scale | None, level: float) -> Estimate:
    if within is None:
        return Estimate(value, value, value, n, level, why=NO_SPREAD, units=units)
    least, most = within
    share = unseen(units, level)
    low, high = value - share * (value - least), value + share * (most - value)
    at_end = min(value - least, most - value) <= _ROUNDING * (most - least)
    method = "what unseen items could do, after Clopper and Pearson"
    return Estimate(value, max(least, low), min(most, high), n, level, method, units=units, one_sided=at_end)


def of_one_item(value: float, n: int, *, level: float = 0.95) -> Estimate:
    """A figure whose rows all belong to one item: there is nothing to tell its spread by.

    >>> print(of_one_item(0.5, 4))
    0.500 [one item] n=4
    """
    return Estimate(value, value, value, n, level, why=ONE_ITEM, units=1)


def mean_spread(totals: Floats, sizes: Floats) -> tuple[float, Spread]:
    """The mean over all rows, from the sum and the number of rows of each of several clusters, and its spread.

    >>> mean_spread(np.array([3.0, 4.0, 8.0]), np.array([2.0, 1.0, 2.0]))[0]
    3.0
    """
    n = float(sizes.sum())
    if n <= 0:
        raise Undefined(Note("undefined.a-mean-of-nothing-no", "a mean of nothing: no row was counted"))
    if len(totals) < 2:
        raise Undefined(
            Note(
                "undefined.an-interval-over-clusters-needs",
                "an interval over clusters needs at least two of them; found one",
            )
        )
    value = float(totals.sum()) / n
    return value, Spread.of((totals - value * sizes) / (n - sizes))


def cluster_mean(totals: Floats, sizes: Floats, *, within: Scale | None = None, level: float = 0.95) -> Estimate:
    """The same as an estimate. A single cluster gives the value alone, and the estimate says why.

    >>> print(cluster_mean(np.array([3.0]), np.array([2.0])))
    1.500 [one item] n=2
    >>> print(cluster_mean(np.array([3.0, 4.0, 8.0]), np.array([2.0, 1.0, 2.0])))
    3.000 [-1.313, 7.313] n=5
    >>> print(cluster_mean(np.array([3.0, 4.0, 8.0]), np.array([2.0, 1.0, 2.0]), within=(1, 5)))
    3.000 [1.186, 4.814] n=5
    """
    if len(totals) == 1 and sizes[0] > 0:
        return of_one_item(float(totals[0] / sizes[0]), round(float(sizes[0])), level=level)
    value, spread = mean_spread(totals, sizes)
    return around(value, round(float(sizes.sum())), spread, within=within, level=level)
