"""Pairs that were heard in both orders: does the ruling stay, and does the first place win?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fullbench.figures import clustered
from fullbench.figures.matches import Matches, means_by_order
from fullbench.core.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Position:
    """The share of pairs with the same ruling in both orders, and of decided rulings for the first shown."""

    same: Estimate
    first: Estimate | None
    pairs: int


def position(settled: Matches) -> Position | None:
    """What the order does to a judge of pairs; None where no pair was heard in both orders."""
    plays, pair = settled.plays, settled.pair
    if not len(plays):
        return None
    size = int(pair.max()) + 1
    means = means_by_order(plays, pair)
    both = ~(np.isnan(means[0]) | np.isnan(means[1]))
    if not both.any():
        return None
    item = np.zeros(size, dtype=plays.item.dtype)
    item[pair] = plays.item
    same = clustered.share(np.isclose(means[0, both], means[1, both]).astype(np.float64), item[both])
    del means, item
    decided = np.flatnonzero(both[pair] & (plays.outcome != 0.5) & (plays.ahead >= 0))
    # One array, changed in place: there are as many as verdicts.
    to_first = plays.outcome[decided]
    to_first -= plays.ahead[decided]
    np.subtract(1.0, np.abs(to_first, out=to_first), out=to_first)
    first = clustered.share(to_first, plays.item[decided]) if len(decided) else None
    return Position(same, first, int(both.sum()))
