"""Does a judge say the same when it is asked again?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fullbench.errors import Undefined
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.stats.arrays import Floats, Ints, codes
from fullbench.stats.clusters import cluster_mean


@dataclass(frozen=True)
class Steadiness:
    """How steady a judge is over repeated hearings of the same items.

    `consistency` averages, over items, the share of the most frequent verdict; `majority` is the share of items for
    which more than half of the verdicts are the same (the criteria of MLLM-as-a-Judge, Chen et al. 2024,
    arXiv:2402.04788). `shares` has one share for each item, in the order of `items`, and `hearings` of how many
    verdicts it is the share.
    """

    consistency: Estimate
    majority: Estimate
    items: tuple[Any, ...]
    shares: tuple[float, ...]
    hearings: tuple[int, ...]

    def times(self) -> dict[int, int]:
        """How many items have their most frequent verdict how often, where all were heard equally often, else {}.

        >>> steadiness([1, 1, 1, 2, 2, 2], ["A", "A", "B", "C", "C", "C"]).times()
        {2: 1, 3: 1}
        """
        if len(set(self.hearings)) != 1:
            return {}
        often = Counter(round(share * heard) for share, heard in zip(self.shares, self.hearings, strict=True))
        return dict(sorted(often.items()))

    def histogram(self, bins: int = 5) -> list[tuple[float, float, int]]:
        """How many items have which share: (from, to, items); the last bin holds both its ends."""
        counts, edges = np.histogram(self.shares, bins=bins, range=(0.0, 1.0))
        return [(float(low), float(high), int(n)) for low, high, n in zip(edges, edges[1:], counts, strict=False)]


def steadiness(
    item: npt.ArrayLike,
    verdict: npt.ArrayLike,
    *,
    trials: int | None = None,
    cluster: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> Steadiness:
    """The steadiness of verdicts, a row each; verdicts are compared as labels.

    Shares are of the verdicts an item has; with `trials`, of that many hearings, so that a fault counts against
    steadiness. An item heard only once says nothing and is left out. What is heard again may itself share a `cluster`
    (a label for each row), such as the cases of one question: intervals are over clusters then.

    >>> found = steadiness([1, 1, 1, 2, 2, 2], ["A", "A", "B", "C", "C", "C"])
    >>> found.shares, found.majority.value
    ((0.6666666666666666, 1.0), 1.0)
    """
    items, row = codes(item)
    _, label = codes(verdict)
    if len(row) != len(label):
        raise ValueError(f"the columns must have one length; found {len(row)}, {len(label)}")
    heard = np.bincount(row, minlength=len(items))
    if trials is not None and heard.max(initial=0) > trials:
        raise ValueError(f"{trials} trials were announced, but an item has {heard.max()} verdicts")
    pair, times = np.unique(row * (label.max(initial=0) + 1) + label, return_counts=True)
    most = np.zeros(len(items), dtype=np.int64)
    np.maximum.at(most, pair // (label.max(initial=0) + 1), times)
    known = heard > 1 if trials is None else np.full(len(items), trials > 1)
    if not known.any():
        raise Undefined(Note("undefined.no-item-was-heard-twice", "no item was heard twice"))
    total = heard[known] if trials is None else np.full(int(known.sum()), trials)
    shares = most[known] / total
    owner = np.arange(len(items)) if cluster is None else np.zeros(len(items), dtype=np.int64)
    if cluster is not None:
        owner[row] = codes(cluster)[1]
    consistency = _mean(shares, owner[known], level)
    majority = _mean((2 * most[known] > total).astype(np.float64), owner[known], level)
    ids, heard_again = tuple(items[known].tolist()), tuple(map(int, total))
    return Steadiness(consistency, majority, ids, tuple(map(float, shares)), heard_again)


def _mean(shares: Floats, owner: Ints, level: float) -> Estimate:
    sizes = np.bincount(owner)
    there = sizes > 0
    totals = np.bincount(owner, shares)[there].astype(np.float64)
    return cluster_mean(totals, sizes[there].astype(np.float64), within=(0.0, 1.0), level=level)
