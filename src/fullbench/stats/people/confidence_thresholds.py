"""Confidence thresholds above which a judge's verdicts may be trusted, with a bound on the risk of failure.

Thresholds are tested from the most confident verdicts downwards: is the share of verdicts above it that agree with
people at least the target, by a one-sided exact bound (Clopper and Pearson 1934, doi:10.1093/biomet/26.4.404)? The
search ends at the first failure, so no correction for the number of thresholds is needed (fixed-sequence testing, as
in Angelopoulos et al. 2021, "Learn then test", arXiv:2110.01052). For verdicts on the same item, the counts in the
bound are divided by their design effect.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fullbench.stats.array_checks import Floats, label_codes
from fullbench.stats.intervals.bootstrap_and_jackknife import Labels

NEVER = math.inf
"""Threshold of a judge that cannot be trusted at any confidence."""


@dataclass(frozen=True)
class TrustedThreshold:
    """Threshold from which verdicts may be trusted: agreement, its lower bound, numbers of verdicts and items."""

    threshold: float
    agreement: float | None = None
    agreement_bound: float | None = None
    n: int = 0
    units: int = 0


def lower_bound(hits: float, n: float, risk: float) -> float:
    """Return the exact one-sided lower bound of a share; halves and divided counts are allowed.

    >>> round(lower_bound(95, 100, 0.05), 4), lower_bound(0, 10, 0.05)
    (0.8977, 0.0)
    """
    from scipy.stats import beta

    return 0.0 if hits <= 0 else float(beta.ppf(risk, hits, n - hits + 1))


def least_items(target: float, risk: float) -> int:
    """Return the least number of items needed if all verdicts were right.

    >>> least_items(0.85, 0.025)
    23
    """
    return math.ceil(math.log(risk) / math.log(target))


def find_trusted_threshold(
    sureness: Floats, hits: Floats, items: Labels, *, target: float, risk: float
) -> TrustedThreshold:
    """Return the lowest confidence threshold that passes together with all above it.

    >>> sure = np.repeat([1.0, 0.5], 100)
    >>> right = np.concatenate([np.ones(100), np.tile([1.0, 0.0], 50)])
    >>> find_trusted_threshold(sure, right, np.arange(200), target=0.85, risk=0.025).threshold
    1.0
    """
    lowest_passing = TrustedThreshold(NEVER)
    owners = np.asarray(items)
    for threshold in sorted({float(level) for level in sureness}, reverse=True):
        rows = sureness >= threshold
        right, n = float(hits[rows].sum()), int(rows.sum())
        units, effect = _design_effect(hits[rows], owners[rows])
        agreement_bound = lower_bound(right / effect, n / effect, risk)
        # A few wrong verdicts make the rest look independent, so always require the number of items for no errors.
        if agreement_bound < target or units < least_items(target, risk):
            break
        lowest_passing = TrustedThreshold(threshold, right / n, agreement_bound, n, units)
    return lowest_passing


def _design_effect(hits: Floats, items: Labels) -> tuple[int, float]:
    """Number of items, and the variance inflation within items (at least 1)."""
    names, owner = label_codes(items)
    share, n = float(hits.mean()), len(hits)
    if share in {0.0, 1.0}:
        return len(names), n / len(names)  # nothing varies: count the verdicts of an item as one
    residues = np.bincount(owner, hits - share, len(names))
    spread = float((residues**2).sum()) / n**2
    return len(names), max(1.0, spread / (share * (1 - share) / n))
