"""How far several raters agree, some of whom may not have rated everything."""

from __future__ import annotations

from typing import Literal, Unpack

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.agreement.two_raters import SIGNED, Options
from fullbench.stats.array_checks import Floats, codes, column
from fullbench.stats.intervals.bootstrap import Labels, bootstrap

Distance = Literal["nominal", "ordinal", "interval"]


def counts_of(item: npt.ArrayLike, mark: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Ratings in long form as a matrix: how often each item (row) got each mark (column), and what the marks are.

    >>> counts_of(["a", "a", "b", "b"], [1, 2, 2, 2])[0].tolist()
    [[1.0, 1.0], [0.0, 2.0]]
    """
    items, row = codes(item)
    marks, place = np.unique(column(mark, "marks"), return_inverse=True)
    if len(row) != len(place):
        raise ValueError(f"the columns must have one length; found {len(row)}, {len(place)}")
    flat = np.bincount(row * len(marks) + place, minlength=len(items) * len(marks))
    return flat.reshape(len(items), len(marks)).astype(np.float64), marks


def fleiss_kappa(item: npt.ArrayLike, mark: npt.ArrayLike, **options: Unpack[Options]) -> Estimate:
    """Fleiss' kappa: raters may differ from item to item, their number may not (Fleiss 1971, doi:10.1037/h0031619).

    Items are resampled, or the clusters of items that `cluster` names (a label for each item, in sorted order).

    >>> round(fleiss_kappa([1, 1, 2, 2, 3, 3], [0, 0, 1, 1, 0, 1]).value, 3)
    0.333
    """
    table, _ = counts_of(item, mark)
    if len(table) == 0:
        raise Undefined(Note("undefined.nothing-was-observed", "nothing was observed"))
    raters = table.sum(axis=1)
    if np.ptp(raters) != 0 or raters[0] < 2:
        raise Undefined(
            Note(
                "undefined.fleiss-kappa-needs-the-same",
                "Fleiss' kappa needs the same number of ratings, two or more, for every item; found {low:g} to "
                "{high:g}",
                low=float(raters.min()),
                high=float(raters.max()),
            )
        )
    each = raters[0]

    def statistic(weights: Floats, counts: Floats) -> Floats:
        agreed = weights @ ((counts * (counts - 1)).sum(axis=1) / (each * (each - 1))) / weights.sum(axis=1)
        shares = weights @ counts / (weights.sum(axis=1, keepdims=True) * each)
        return _beyond(agreed, (shares**2).sum(axis=1))

    return bootstrap(statistic, table, within=SIGNED, **options)


def _beyond(agreed: Floats, chance: Floats) -> Floats:
    room = 1 - chance
    known = room > 1e-12
    figure = np.full(agreed.shape, np.nan)
    figure[known] = (agreed[known] - chance[known]) / room[known]
    return figure


def krippendorff_alpha(
    item: npt.ArrayLike, mark: npt.ArrayLike, *, distance: Distance = "nominal", **options: Unpack[Options]
) -> Estimate:
    """Krippendorff's alpha (Krippendorff 2011, "Computing Krippendorff's alpha-reliability").

    A rating that is missing is a row that is not there; items with a single rating pair with nothing and do not count.
    Items are resampled; n is the number of items with at least two ratings.

    >>> round(krippendorff_alpha([1, 1, 2, 2, 3, 3, 4], [0, 0, 1, 1, 0, 1, 0]).value, 3)
    0.444
    """
    table, marks = counts_of(item, mark)
    paired = table.sum(axis=1) > 1
    table = table[paired]
    if len(table) == 0:
        raise Undefined(Note("undefined.no-item-has-two-ratings", "no item has two ratings"))
    if "cluster" in options and options["cluster"] is not None:
        options["cluster"] = _kept(options["cluster"], paired)
    pairs = table[:, :, None] * table[:, None, :]
    diagonal = np.arange(len(marks))
    pairs[:, diagonal, diagonal] -= table
    pairs /= (table.sum(axis=1) - 1)[:, None, None]

    def statistic(weights: Floats, flat: Floats) -> Floats:
        coincidences = (weights @ flat).reshape(len(weights), len(marks), len(marks))
        size = coincidences.sum(axis=2)
        total = size.sum(axis=1)
        apart = _apart(size, marks, distance)
        expected = ((size[:, :, None] * size[:, None, :]) * apart).sum(axis=(1, 2)) / np.maximum(total - 1, 1)
        observed = (coincidences * apart).sum(axis=(1, 2))
        known = expected > 1e-12
        figure = np.full(len(weights), np.nan)
        figure[known] = 1 - observed[known] / expected[known]
        return figure

    return bootstrap(statistic, pairs.reshape(len(table), -1), within=SIGNED, **options)


def _kept(labels: Labels, keep: npt.NDArray[np.bool_]) -> Labels:
    return np.asarray(labels)[keep]


def _apart(size: Floats, marks: Floats, distance: Distance) -> Floats:
    """Squared distances between marks, for each resample: only ordinal ones depend on how often marks occur."""
    if distance == "nominal":
        return np.asarray(marks[:, None] != marks[None, :], dtype=np.float64)[None]
    if distance == "interval":
        return np.asarray((marks[:, None] - marks[None, :]) ** 2)[None]
    middle = np.cumsum(size, axis=1) - size / 2
    return np.asarray((middle[:, :, None] - middle[:, None, :]) ** 2)
