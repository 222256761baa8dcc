"""Agreement of several raters, possibly with missing ratings: Fleiss' kappa and Krippendorff's alpha."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Unpack

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.agreement.two_raters import SIGNED_SCALE, Options
from fullbench.stats.array_checks import Floats, finite_column, label_codes
from fullbench.stats.intervals.bootstrap_and_jackknife import Labels, bootstrap

Distance = Literal["nominal", "ordinal", "interval"]


def mark_counts(item: npt.ArrayLike, mark: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return a matrix of how often each item (row) got each mark (column), and the sorted marks.

    >>> mark_counts(["a", "a", "b", "b"], [1, 2, 2, 2])[0].tolist()
    [[1.0, 1.0], [0.0, 2.0]]
    """
    items, row = label_codes(item)
    marks, place = np.unique(finite_column(mark, "marks"), return_inverse=True)
    if len(row) != len(place):
        raise ValueError(f"the columns must have one length; found {len(row)}, {len(place)}")
    flat = np.bincount(row * len(marks) + place, minlength=len(items) * len(marks))
    return flat.reshape(len(items), len(marks)).astype(np.float64), marks


def fleiss_kappa(item: npt.ArrayLike, mark: npt.ArrayLike, **options: Unpack[Options]) -> Estimate:
    """Return Fleiss' kappa; every item needs the same number of ratings (Fleiss 1971, doi:10.1037/h0031619).

    Raters may differ between items. Items are resampled, or clusters of items if `cluster` has a label for each item,
    in sorted order.

    >>> round(fleiss_kappa([1, 1, 2, 2, 3, 3], [0, 0, 1, 1, 0, 1]).value, 3)
    0.333
    """
    table, _ = mark_counts(item, mark)
    if len(table) == 0:
        raise Undefined(Note("undefined.nothing-was-observed"))
    raters = table.sum(axis=1)
    if np.ptp(raters) != 0 or raters[0] < 2:
        raise Undefined(
            Note("undefined.fleiss-kappa-needs-the-same", low=float(raters.min()), high=float(raters.max()))
        )
    each = raters[0]

    def statistic(weights: Floats, counts: Floats) -> Floats:
        agreement = weights @ ((counts * (counts - 1)).sum(axis=1) / (each * (each - 1))) / weights.sum(axis=1)
        shares = weights @ counts / (weights.sum(axis=1, keepdims=True) * each)
        return _agreement_beyond_chance(agreement, (shares**2).sum(axis=1))

    return bootstrap(statistic, table, within=SIGNED_SCALE, **options)


def _agreement_beyond_chance(agreement: Floats, chance: Floats) -> Floats:
    room = 1 - chance
    is_defined = room > 1e-12
    value = np.full(agreement.shape, np.nan)
    value[is_defined] = (agreement[is_defined] - chance[is_defined]) / room[is_defined]
    return value


def krippendorff_alpha(
    item: npt.ArrayLike, mark: npt.ArrayLike, *, distance: Distance = "nominal", **options: Unpack[Options]
) -> Estimate:
    """Return Krippendorff's alpha (Krippendorff 2011, "Computing Krippendorff's alpha-reliability").

    A missing rating is simply no row. Items with a single rating form no pair and do not count. Items are resampled; n
    is the number of items with at least two ratings.

    >>> round(krippendorff_alpha([1, 1, 2, 2, 3, 3, 4], [0, 0, 1, 1, 0, 1, 0]).value, 3)
    0.444
    """
    table, marks = mark_counts(item, mark)
    is_paired = table.sum(axis=1) > 1
    table = table[is_paired]
    if len(table) == 0:
        raise Undefined(Note("undefined.no-item-has-two-ratings"))
    if "cluster" in options and options["cluster"] is not None:
        options["cluster"] = _select_labels(options["cluster"], is_paired)
    pairs = table[:, :, None] * table[:, None, :]
    diagonal = np.arange(len(marks))
    pairs[:, diagonal, diagonal] -= table
    pairs /= (table.sum(axis=1) - 1)[:, None, None]

    def statistic(weights: Floats, flat: Floats) -> Floats:
        coincidences = (weights @ flat).reshape(len(weights), len(marks), len(marks))
        size = coincidences.sum(axis=2)
        total = size.sum(axis=1)
        distances = _squared_distances(size, marks, distance)
        expected_disagreement = ((size[:, :, None] * size[:, None, :]) * distances).sum(axis=(1, 2)) / np.maximum(
            total - 1, 1
        )
        observed_disagreement = (coincidences * distances).sum(axis=(1, 2))
        is_defined = expected_disagreement > 1e-12
        value = np.full(len(weights), np.nan)
        value[is_defined] = 1 - observed_disagreement[is_defined] / expected_disagreement[is_defined]
        return value

    return bootstrap(statistic, pairs.reshape(len(table), -1), within=SIGNED_SCALE, **options)


def alpha_of_choices(
    votes: Sequence[Sequence[tuple[float, ...]]], cluster: Sequence[object], *, resamples: int = 1000, seed: int = 0
) -> Estimate:
    """Return Krippendorff's nominal alpha of choices between responses.

    Each set of responses counts in every rotation, so that all of its responses are equally likely to win by chance.
    Otherwise alpha would depend on the order of the responses, such as that of their contestants' names.

    Args:
        votes: For each set of responses, the marks that each person gave.
        cluster: Label of each set; sets of one label, such as those of one item, are resampled together.

    >>> wins, loses = (1.0, 0.0), (0.0, 1.0)
    >>> round(alpha_of_choices([[wins, wins], [wins, loses], [wins, wins]], ["i", "j", "k"]).value, 3)
    0.389
    """
    codes: dict[tuple[float, ...], float] = {}
    units: list[int] = []
    marks: list[float] = []
    labels: list[str] = []
    for vote_list, label in zip(votes, cluster, strict=True):
        for turn in range(len(vote_list[0])):
            for vote in vote_list:
                units.append(len(labels))
                marks.append(codes.setdefault((*vote[turn:], *vote[:turn]), float(len(codes))))
            labels.append(str(label))
    alpha = krippendorff_alpha(units, marks, cluster=labels, resamples=resamples, seed=seed)
    return replace(alpha, n=sum(len(vote_list) > 1 for vote_list in votes))


def _select_labels(labels: Labels, keep: npt.NDArray[np.bool_]) -> Labels:
    return np.asarray(labels)[keep]


def _squared_distances(size: Floats, marks: Floats, distance: Distance) -> Floats:
    """Squared distances of marks per resample; only ordinal ones depend on how often marks occur."""
    if distance == "nominal":
        return np.asarray(marks[:, None] != marks[None, :], dtype=np.float64)[None]
    if distance == "interval":
        return np.asarray((marks[:, None] - marks[None, :]) ** 2)[None]
    middle = np.cumsum(size, axis=1) - size / 2
    return np.asarray((middle[:, :, None] - middle[:, None, :]) ** 2)
