"""Means and shares whose rows belong to items: the interval is over items, and where there can be none, it says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fullbench.core.ballot import Likert, Real, Score, ballot
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note, listed, sentence
from fullbench.errors import InputError, Undefined
from fullbench.stats.intervals.cluster_intervals import Scale, around, cluster_mean, mean_spread, p_of_zero

SHARE: Scale = (0.0, 1.0)


def scale_of(spec: str) -> Scale | None:
    """The scale of a ballot that marks responses one by one; None for others, and for one that is not installed.

    >>> scale_of("score:1-5"), scale_of("likert:bad|fair|good"), scale_of("ranking")
    ((1.0, 5.0), (1.0, 3.0), None)
    """
    try:
        form = ballot(spec)
    except InputError:
        return None
    if isinstance(form, Likert):
        return 1.0, float(len(form.words))
    return (float(form.low), float(form.high)) if isinstance(form, Score | Real) else None


def mean(values: npt.NDArray[np.float64], item: npt.NDArray[Any], within: Scale | None = None) -> Estimate:
    """The mean of some rows; `within` is the scale on which they lie.

    >>> print(mean(np.array([1.0, 2, 4, 3, 5]), np.array([0, 0, 1, 2, 2])))
    3.000 [-1.313, 7.313] n=5
    >>> print(mean(np.array([5.0, 5]), np.array([0, 1])))
    5.000 [items do not differ] n=2
    >>> print(mean(np.array([5.0, 5]), np.array([0, 1]), (1, 5)))
    5.000 [1.894, 5.000] n=2
    """
    inside = within is None or (float(values.min()) >= within[0] and float(values.max()) <= within[1])
    return _estimate(values, np.ones(len(values)), item, within if inside else None)


def share(values: npt.NDArray[np.float64], item: npt.NDArray[Any]) -> Estimate:
    """The mean of wins (1), losses (0) and what lies between.

    >>> print(share(np.array([1.0, 1, 1]), np.array([0, 1, 2])))
    1.000 [0.368, 1.000] n=3
    """
    return share_of(values, np.ones(len(values)), item)


def share_of(hits: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64], item: npt.NDArray[Any]) -> Estimate:
    """A share from groups of rows: how many rows of each group hit, of how many, and the item it belongs to."""
    return _estimate(hits, sizes, item, SHARE)


def ratio(amounts: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64], item: npt.NDArray[Any]) -> Estimate:
    """What one unit takes: amounts over sizes, each row with both of its own, and the item that it belongs to.

    >>> print(ratio(np.array([2.0, 6, 4]), np.array([1.0, 2, 1]), np.array([0, 1, 2])))
    3.000 [1.344, 4.656] n=4
    """
    return _estimate(amounts, sizes, item, None)


def difference(values: npt.NDArray[np.float64], item: npt.NDArray[Any], within: Scale | None = None) -> Estimate:
    """The mean of differences, with the p-value of "there is none" over items.

    >>> difference(np.array([1.0, 0, 1, 1]), np.array([0, 0, 1, 2]), (-1, 1)).p < 0.3
    True
    """
    sizes = np.bincount(item)
    there = sizes > 0
    totals = np.bincount(item, values)[there].astype(np.float64)
    if len(totals) == 1:
        return replace(_estimate(values, np.ones(len(values)), item, within), p=1.0)
    value, spread = mean_spread(totals, sizes[there].astype(np.float64))
    return replace(around(value, len(values), spread, within=within), p=p_of_zero(value, spread, within))


def _estimate(
    values: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64], item: npt.NDArray[Any], within: Scale | None
) -> Estimate:
    counts = np.bincount(item, sizes)
    there = counts > 0
    totals, counts = np.bincount(item, values)[there], counts[there]
    return cluster_mean(totals.astype(np.float64), counts.astype(np.float64), within=within)


# How a figure that cannot be had becomes a cell that says so.

Figure = TypeVar("Figure")


EMPTY = "-"


_NAMED = 3


class Gaps:
    """Keeps the reasons of figures that could not be had, for the notes of the table.

    >>> from fullbench.stats.agreement.two_raters import pearson
    >>> gaps = Gaps()
    >>> gaps.cell("judge A", lambda: pearson([1, 1, 1], [1, 2, 3])) is None
    True
    >>> str(*gaps.notes)
    '- for judge A: a correlation needs two columns that vary; one is constant over 3 rows'
    """

    def __init__(self) -> None:
        self._where: dict[str, list[str]] = {}

    def cell(self, where: str, figure: Callable[[], Figure]) -> Figure | None:
        """The figure, or None when it is undefined; the reason is kept under the name `where`."""
        try:
            return figure()
        except Undefined as reason:
            self._where.setdefault(sentence(reason), []).append(where)
            return None

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each reason; of many places the first few are named."""
        return tuple(
            Note("gaps.empty", "- for {places}: {reason}", places=_listed(places), reason=reason)
            for reason, places in self._where.items()
        )


def _listed(places: Sequence[str]) -> str:
    """
    >>> str(_listed(["a", "b"])), str(_listed(list("abcdef")))
    ('a; b', 'a; b; c and 3 more')
    """
    if len(places) <= _NAMED + 1:
        return listed(places)
    return Note("list.more", "{first} and {n} more", first=listed(places[:_NAMED]), n=len(places) - _NAMED)
