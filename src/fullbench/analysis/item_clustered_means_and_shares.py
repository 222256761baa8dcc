"""Means and shares with intervals clustered by item, and empty cells with a reason if a metric is undefined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fullbench.core.ballot import Likert, Real, Score, ballot
from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note, error_sentence, join_notes
from fullbench.errors import InputError, Undefined
from fullbench.stats.intervals.cluster_intervals import (
    FROM_ZERO,
    Scale,
    cluster_mean,
    estimate_around,
    mean_spread,
    mean_with_unseen_item,
    p_of_zero,
)

SHARE: Scale = (0.0, 1.0)


def difference_scale(scale: Scale | None) -> Scale | None:
    """Return the range of the difference of two marks on a scale.

    >>> difference_scale((1.0, 5.0))
    (-4.0, 4.0)
    """
    return None if scale is None else (scale[0] - scale[1], scale[1] - scale[0])


def scale_of(spec: str) -> Scale | None:
    """Return the scale of a ballot that marks single responses, or None for other or unknown ballots.

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


def two_words_of(spec: str) -> tuple[str, ...]:
    """Return the words of a ballot with two words, such as yes and no; empty for every other ballot.

    >>> two_words_of("likert:no|yes"), two_words_of("likert:bad|fair|good"), two_words_of("score:1-2")
    (('no', 'yes'), (), ())
    """
    words = spec.removeprefix("likert:").split("|")
    return tuple(words) if spec.startswith("likert:") and len(words) == 2 else ()


def mean_as_shown(spec: str, mean: Estimate) -> Estimate:
    """Return a mean mark as tables show it: the share of the second word if the ballot has two words.

    >>> print(mean_as_shown("likert:no|yes", Estimate(1.9, 1.8, 2.0, 10)))
    0.900 [0.800, 1.000] n=10
    """
    if not two_words_of(spec):
        return mean
    return replace(mean, value=mean.value - 1, low=mean.low - 1, high=mean.high - 1)


def scale_as_shown(spec: str) -> Scale | None:
    """Return the scale of `mean_as_shown`."""
    return SHARE if two_words_of(spec) else scale_of(spec)


def mean_estimate(values: npt.NDArray[np.float64], item: npt.NDArray[Any], within: Scale | None = None) -> Estimate:
    """Return the mean of some rows; `within` is their scale.

    >>> print(mean_estimate(np.array([1.0, 2, 4, 3, 5]), np.array([0, 0, 1, 2, 2])))
    3.000 [-1.313, 7.313] n=5
    >>> print(mean_estimate(np.array([5.0, 5]), np.array([0, 1])))
    5.000 [items do not differ] n=2
    >>> print(mean_estimate(np.array([5.0, 5]), np.array([0, 1]), (1, 5)))
    5.000 [1.894, 5.000] n=2
    """
    inside = within is None or (float(values.min()) >= within[0] and float(values.max()) <= within[1])
    return _cluster_estimate(values, np.ones(len(values)), item, within if inside else None)


def share_estimate(values: npt.NDArray[np.float64], item: npt.NDArray[Any]) -> Estimate:
    """Return the mean of values between 0 (loss) and 1 (win).

    >>> print(share_estimate(np.array([1.0, 1, 1]), np.array([0, 1, 2])))
    1.000 [0.368, 1.000] n=3
    """
    return share_of_groups(values, np.ones(len(values)), item)


def share_of_groups(hits: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64], item: npt.NDArray[Any]) -> Estimate:
    """Return a share from groups of rows, given each group's number of hits, its size and its item."""
    return _cluster_estimate(hits, sizes, item, SHARE)


def ratio_estimate(
    amounts: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64], item: npt.NDArray[Any]
) -> Estimate:
    """Return the sum of amounts, which are not negative, over the sum of sizes, clustered by item.

    >>> print(ratio_estimate(np.array([2.0, 6, 4]), np.array([1.0, 2, 1]), np.array([0, 1, 2])))
    3.000 [1.344, 4.656] n=4
    """
    return _cluster_estimate(amounts, sizes, item, FROM_ZERO)


def difference_estimate(
    values: npt.NDArray[np.float64], item: npt.NDArray[Any], within: Scale | None = None
) -> Estimate:
    """Return the mean of differences with the p-value of "no difference", clustered by item.

    >>> difference_estimate(np.array([1.0, 0, 1, 1]), np.array([0, 0, 1, 2]), (-1, 1)).p < 0.3
    True
    """
    sizes = np.bincount(item)
    there = sizes > 0
    totals = np.bincount(item, values)[there].astype(np.float64)
    if len(totals) == 1:  # one item gives no spread, hence no evidence
        return replace(_cluster_estimate(values, np.ones(len(values)), item, within), p=1.0)
    value, spread = mean_spread(totals, sizes[there].astype(np.float64))
    return replace(estimate_around(value, len(values), spread, within=within), p=p_of_zero(value, spread, within))


def mean_between_ends(values: npt.NDArray[np.float64], item: npt.NDArray[Any], ends: Scale, within: Scale) -> Estimate:
    """Return the mean of shares or their differences that lie between these ends on every item, also on unseen ones.

    >>> print(mean_between_ends(np.array([0.1, 0, 0.2, 0.1]), np.array([0, 1, 2, 3]), (-0.6, 0.2), (-1, 1)))
    0.100 [-0.267, 0.236] n=4
    """
    sizes = np.bincount(item)
    there = sizes > 0
    totals = np.bincount(item, values)[there].astype(np.float64)
    if len(totals) == 1:
        return _cluster_estimate(values, np.ones(len(values)), item, within)
    return mean_with_unseen_item(totals, sizes[there].astype(np.float64), ends, within=within)


def _cluster_estimate(
    values: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64], item: npt.NDArray[Any], within: Scale | None
) -> Estimate:
    counts = np.bincount(item, sizes)
    there = counts > 0
    totals, counts = np.bincount(item, values)[there], counts[there]
    return cluster_mean(totals.astype(np.float64), counts.astype(np.float64), within=within)


# Undefined metrics become empty cells with a note.

Metric = TypeVar("Metric")


EMPTY = "-"


_MAX_PLACES = 3


class Gaps:
    """Collector of the reasons for undefined metrics, for the notes of a table.

    >>> from fullbench.stats.agreement.two_raters import pearson_correlation
    >>> gaps = Gaps()
    >>> gaps.cell("judge A", lambda: pearson_correlation([1, 1, 1], [1, 2, 3])) is None
    True
    >>> str(*gaps.notes)
    '- for judge A: a correlation needs two columns that vary; one is constant over 3 rows'
    """

    def __init__(self) -> None:
        self._where: dict[str, list[str]] = {}

    def cell(self, where: str, metric: Callable[[], Metric]) -> Metric | None:
        """Return the metric, or None if it is undefined; then store the reason under `where`."""
        try:
            return metric()
        except Undefined as reason:
            self._where.setdefault(error_sentence(reason), []).append(where)
            return None

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence per reason, which names the first few places."""
        return tuple(
            Note("gaps.empty", places=_list_places(places), reason=reason) for reason, places in self._where.items()
        )


def _list_places(places: Sequence[str]) -> str:
    """
    >>> str(_list_places(["a", "b"])), str(_list_places(list("abcdef")))
    ('a; b', 'a; b; c and 3 more')
    """
    if len(places) <= _MAX_PLACES + 1:
        return join_notes(places)
    return Note("list.more", first=join_notes(places[:_MAX_PLACES]), n=len(places) - _MAX_PLACES)
