"""Alternative annotator test: may a judge replace a person? (Calderon, Reichart, Dror 2025, arXiv:2501.10970).

Each annotator is left out in turn. On every row, the judge and that annotator are compared with the others: whose mark
is closer to theirs? The judge may lose by `epsilon` and still be preferred, because it is cheaper and faster. It
passes if it would replace at least half of the annotators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.intervals.cluster_intervals import cluster_mean

EPSILONS: Mapping[str, float] = {"experts": 0.2, "trained": 0.15, "crowd": 0.1}
"""Allowed loss against each kind of annotator: larger for more expensive people."""
ANNOTATORS = 3
ROWS = 30
"""Fewest rows of an annotator, and fewest items, for a test."""


@dataclass(frozen=True)
class Advantage:
    """One annotator left out: how much more often the judge is at least as close to the others, and whether it wins."""

    annotator: str
    gap: Estimate
    p: float
    is_replaced: bool


@dataclass(frozen=True)
class Replacement:
    """Result over all annotators: the judge would replace a share `rate` of them, and passes from one half on.

    `advantage` is the mean share of rows on which the judge is at least as close to the others as the omitted
    annotator.
    """

    annotators: tuple[Advantage, ...]
    rate: float
    advantage: Estimate
    epsilon: float
    rows: int
    left_out: tuple[str, ...]

    @property
    def passes(self) -> bool:
        """True if the judge may replace people here."""
        return self.rate >= 0.5


def alternative_annotator(
    judge: Floats, people: Floats, cluster: Ints, names: list[str], *, epsilon: float = 0.15, level: float = 0.05
) -> Replacement:
    """Run the test. `judge` has a mark per row, `people` a row per annotator, NaN if there is no mark.

    Rows of one `cluster` (the item) stay together. Annotators with fewer than `ROWS` rows shared with others are left
    out and listed.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=90)
    >>> crowd = truth + rng.normal(0, 1, (4, 90))
    >>> alternative_annotator(truth, crowd, np.arange(90), list("abcd")).passes
    True
    """
    is_marked = ~np.isnan(people)
    mark_counts = is_marked.sum(axis=0)
    comparisons: list[tuple[str, Floats, Floats, Ints]] = []
    left_out: list[str] = []
    for place, name in enumerate(names):
        rows = is_marked[place] & (mark_counts > 1) & ~np.isnan(judge)
        if int(rows.sum()) < ROWS:
            left_out.append(name)
            continue
        other_marks = np.delete(people[:, rows], place, axis=0)
        count = (~np.isnan(other_marks)).sum(axis=0)
        # Closeness is minus the mean squared distance to the other annotators, which fits marks on any scale.
        ours = -np.nansum((other_marks - judge[rows]) ** 2, axis=0) / count
        theirs = -np.nansum((other_marks - people[place, rows]) ** 2, axis=0) / count
        near = 1e-12
        comparisons.append(
            (name, (ours >= theirs - near).astype(np.float64), (theirs >= ours - near).astype(np.float64),
             cluster[rows])
        )  # fmt: skip
    if len(comparisons) < ANNOTATORS:
        raise Undefined(Note("replacement.few", people=ANNOTATORS, rows=ROWS, found=len(comparisons)))
    gaps = [_mean_over_items(ours - theirs, items) for _, ours, theirs, items in comparisons]
    ps = [_p_value(gap, epsilon, len(np.unique(row[3]))) for gap, row in zip(gaps, comparisons, strict=True)]
    replacements = _benjamini_yekutieli(ps, level)
    advantage = _mean_over_items(
        np.concatenate([row[1] for row in comparisons]), np.concatenate([row[3] for row in comparisons])
    )
    rate = sum(replacements) / len(replacements)
    annotators = tuple(
        Advantage(row[0], gap, p, is_replaced)
        for row, gap, p, is_replaced in zip(comparisons, gaps, ps, replacements, strict=True)
    )
    return Replacement(annotators, rate, advantage, epsilon, sum(len(row[1]) for row in comparisons), tuple(left_out))


def _mean_over_items(values: Floats, cluster: Ints) -> Estimate:
    _, place = np.unique(cluster, return_inverse=True)
    sums, sizes = np.bincount(place, values), np.bincount(place)
    return cluster_mean(sums.astype(np.float64), sizes.astype(np.float64))


def _p_value(gap: Estimate, epsilon: float, items: int) -> float:
    """P-value of "the judge is worse than the annotator by epsilon", from Student's t over items."""
    from scipy.special import stdtr, stdtrit

    if gap.why:
        return 0.0 if items >= ROWS and gap.value > -epsilon else 1.0
    error = (gap.high - gap.low) / 2 / float(stdtrit(items - 1, (1 + gap.level) / 2))
    return float(stdtr(items - 1, -(gap.value + epsilon) / error))


def _benjamini_yekutieli(ps: list[float], level: float) -> list[bool]:
    """Benjamini and Yekutieli 2001 (doi:10.1214/aos/1013699998), valid for any dependence of the tests."""
    from scipy.stats import false_discovery_control

    adjusted_p_values = false_discovery_control(np.array(ps), method="by")
    return [bool(p <= level) for p in adjusted_p_values]
