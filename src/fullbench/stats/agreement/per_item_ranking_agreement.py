"""Agreement of two rankings of the same objects, per item and averaged over items."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Unpack

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.agreement.two_raters import SHARE_SCALE, SIGNED_SCALE, Options, accuracy
from fullbench.stats.intervals import statistics_for_bootstrap
from fullbench.stats.intervals.bootstrap_and_jackknife import bootstrap
from fullbench.stats.intervals.cluster_intervals import Scale

Order = Sequence[Hashable]


def edit_distance(first: Order, second: Order) -> float:
    """Return the Levenshtein distance of two orders, best first, over the longer length; 0 means the same order.

    >>> edit_distance("ABCD", "ACBD")
    0.5
    """
    from rapidfuzz.distance import Levenshtein

    return float(Levenshtein.normalized_distance(first, second))


def rank_correlation(first: Order, second: Order) -> float:
    """Return Kendall's tau between two orders of the same objects.

    >>> rank_correlation("ABC", "ACB")
    0.3333333333333333
    """
    if sorted(map(repr, first)) != sorted(map(repr, second)) or len(set(first)) != len(first):
        raise ValueError(f"two orders must hold the same things, each once; found {list(first)} and {list(second)}")
    if len(first) < 2:
        raise Undefined(Note("undefined.an-order-of-one-thing"))
    place = {thing: index for index, thing in enumerate(second)}
    second_places = np.array([place[thing] for thing in first])
    above = np.sign(second_places[None, :] - second_places[:, None])[np.triu_indices(len(second_places), 1)]
    return float(above.mean())


def _over_items(
    value: Callable[[Order, Order], float], ours: Sequence[Order], theirs: Sequence[Order], within: Scale,
    options: Options,
) -> Estimate:  # fmt: skip
    values = [value(our, their) for our, their in zip(ours, theirs, strict=True)]
    return bootstrap(statistics_for_bootstrap.weighted_mean, values, within=within, **options)


def mean_edit_distance(ours: Sequence[Order], theirs: Sequence[Order], **options: Unpack[Options]) -> Estimate:
    """Return the mean normalised edit distance over items.

    >>> mean_edit_distance(["ABCD", "ABCD"], ["ABCD", "ACBD"]).value
    0.25
    """
    return _over_items(edit_distance, ours, theirs, SHARE_SCALE, options)


def mean_rank_correlation(ours: Sequence[Order], theirs: Sequence[Order], **options: Unpack[Options]) -> Estimate:
    """Return the mean of Kendall's tau over items.

    >>> mean_rank_correlation(["ABC", "ABC"], ["ABC", "CBA"]).value
    0.0
    """
    return _over_items(rank_correlation, ours, theirs, SIGNED_SCALE, options)


def exact_match(ours: Sequence[Order], theirs: Sequence[Order], **options: Unpack[Options]) -> Estimate:
    """Return the share of items with identical rankings.

    >>> exact_match(["ABC", "ABC"], ["ABC", "ACB"]).value
    0.5
    """
    hits = [list(our) == list(their) for our, their in zip(ours, theirs, strict=True)]
    return accuracy(hits, [True] * len(hits), **options)


def top_match(ours: Sequence[Order], theirs: Sequence[Order], **options: Unpack[Options]) -> Estimate:
    """Return the share of items for which both rankings have the same first object.

    >>> top_match(["ABC", "ABC"], ["ACB", "CBA"]).value
    0.5
    """
    hits = [our[0] == their[0] for our, their in zip(ours, theirs, strict=True)]
    return accuracy(hits, [True] * len(hits), **options)
