"""How far down a judge's sureness may be trusted: thresholds with a bound on how often the promise fails.

From the surest rulings downwards, each threshold is tested: is the share of rulings above it that agree with people at
least the target, by a one-sided exact bound (Clopper and Pearson 1934, doi:10.1093/biomet/26.4.404)? The first that
fails ends the walk, so that no correction for the number of thresholds is needed (fixed-sequence testing, as in
Angelopoulos et al. 2021, "Learn then test", arXiv:2110.01052). Rulings on one item are kept together: the counts that
enter the bound are divided by their design effect.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fullbench.stats.array_checks import Floats, codes
from fullbench.stats.intervals.bootstrap import Labels

NEVER = math.inf
"""The threshold of a judge whose rulings cannot be trusted however sure it is."""


@dataclass(frozen=True)
class Trusted:
    """Rulings at least this sure may be trusted: their agreement, its lower bound, on how many rulings and items."""

    threshold: float
    agreement: float | None = None
    bound: float | None = None
    n: int = 0
    units: int = 0


def lower_bound(hits: float, n: float, risk: float) -> float:
    """The exact one-sided lower bound of a share; halves and divided counts are allowed.

    >>> round(lower_bound(95, 100, 0.05), 4), lower_bound(0, 10, 0.05)
    (0.8977, 0.0)
    """
    from scipy.stats import beta

    return 0.0 if hits <= 0 else float(beta.ppf(risk, hits, n - hits + 1))


def least_items(target: float, risk: float) -> int:
    """Rulings on so many items are needed at least, were all of them right.

    >>> least_items(0.85, 0.025)
    23
    """
    return math.ceil(math.log(risk) / math.log(target))


def trusted(sureness: Floats, hits: Floats, items: Labels, *, target: float, risk: float) -> Trusted:
    """The lowest threshold on sureness that passes together with all above it.

    >>> sure = np.repeat([1.0, 0.5], 100)
    >>> right = np.concatenate([np.ones(100), np.tile([1.0, 0.0], 50)])
    >>> trusted(sure, right, np.arange(200), target=0.85, risk=0.025).threshold
    1.0
    """
    passed = Trusted(NEVER)
    owners = np.asarray(items)
    for threshold in sorted({float(level) for level in sureness}, reverse=True):
        rows = sureness >= threshold
        right, n = float(hits[rows].sum()), int(rows.sum())
        units, effect = _effect(hits[rows], owners[rows])
        bound = lower_bound(right / effect, n / effect, risk)
        # A few rulings that are wrong make the rest look independent: no promise from fewer items than if none were.
        if bound < target or units < least_items(target, risk):
            break
        passed = Trusted(threshold, right / n, bound, n, units)
    return passed


def _effect(hits: Floats, items: Labels) -> tuple[int, float]:
    """The number of items, and by how much rulings on one item being alike widens a share's variance; 1 at least."""
    names, owner = codes(items)
    share, n = float(hits.mean()), len(hits)
    if share in {0.0, 1.0}:
        return len(names), n / len(names)  # nothing varies: as if an item's rulings were one
    residues = np.bincount(owner, hits - share, len(names))
    spread = float((residues**2).sum()) / n**2
    return len(names), max(1.0, spread / (share * (1 - share) / n))
