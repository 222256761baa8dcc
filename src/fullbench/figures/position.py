"""Pairs that were heard in both orders: does the ruling stay, and does the first place win?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fullbench.figures import clustered
from fullbench.figures.matches import Matches
from fullbench.nouns.estimate import Estimate


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
    heard, total = np.zeros((2, size)), np.zeros((2, size))
    for order in (0, 1):
        in_order = plays.ahead == order
        heard[order] = np.bincount(pair[in_order], minlength=size)
        total[order] = np.bincount(pair[in_order], plays.outcome[in_order], size)
    both = (heard[0] > 0) & (heard[1] > 0)
    if not both.any():
        return None
    item = np.zeros(size, dtype=np.int64)
    item[pair] = plays.item
    means = np.divide(total, heard, out=np.zeros_like(total), where=heard > 0)
    same = clustered.share(np.isclose(means[0, both], means[1, both]).astype(np.float64), item[both])
    decided = both[pair] & (plays.outcome != 0.5) & (plays.ahead >= 0)
    to_first = 1.0 - np.abs(plays.outcome - plays.ahead)
    first = clustered.share(to_first[decided], plays.item[decided]) if decided.any() else None
    return Position(same, first, int(both.sum()))
