"""May a judge take the place of a person? The alternative annotator test (Calderon, Reichart, Dror 2025, 2501.10970).

Each annotator is set aside in turn. On every row the judge and the one set aside are compared with the others: whose
mark is nearer to theirs? The judge may lose by `epsilon` and still be preferred, since it is cheaper and faster. It
passes where it would replace at least half of the annotators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints
from fullbench.stats.intervals.cluster_intervals import cluster_mean

EPSILONS: Mapping[str, float] = {"experts": 0.2, "trained": 0.15, "crowd": 0.1}
"""How much a judge may lose against annotators of each kind: the dearer a person, the more."""
ANNOTATORS = 3
ROWS = 30
"""Fewer annotators, or fewer rows of one, are no test."""


@dataclass(frozen=True)
class Advantage:
    """One annotator set aside: how much oftener the judge is at least as near to the others, and whether it wins."""

    annotator: str
    gap: Estimate
    p: float
    replaced: bool


@dataclass(frozen=True)
class Replacement:
    """The test over all annotators: `rate` of them the judge would replace; it passes from one half on.

    `advantage` is the mean share of rows on which the judge is at least as near to the others as the one set aside.
    """

    annotators: tuple[Advantage, ...]
    rate: float
    advantage: Estimate
    epsilon: float
    rows: int
    left_out: tuple[str, ...]

    @property
    def passes(self) -> bool:
        """Whether the judge may replace people here."""
        return self.rate >= 0.5


def alternative_annotator(
    judge: Floats, people: Floats, cluster: Ints, names: list[str], *, epsilon: float = 0.15, level: float = 0.05
) -> Replacement:
    """The test. `judge` has a mark for each row, `people` a line for each annotator, NaN where nobody ruled.

    Rows of one `cluster` (the item) stay together. Annotators with fewer than `ROWS` rows shared with others are left
    out and named.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=90)
    >>> crowd = truth + rng.normal(0, 1, (4, 90))
    >>> alternative_annotator(truth, crowd, np.arange(90), list("abcd")).passes
    True
    """
    known = ~np.isnan(people)
    others = known.sum(axis=0)
    compared: list[tuple[str, Floats, Floats, Ints]] = []
    left_out: list[str] = []
    for place, name in enumerate(names):
        rows = known[place] & (others > 1) & ~np.isnan(judge)
        if int(rows.sum()) < ROWS:
            left_out.append(name)
            continue
        rest = np.delete(people[:, rows], place, axis=0)
        count = (~np.isnan(rest)).sum(axis=0)
        # The nearness to each of the others, minus the mean squared distance, as for marks on any scale.
        ours = -np.nansum((rest - judge[rows]) ** 2, axis=0) / count
        theirs = -np.nansum((rest - people[place, rows]) ** 2, axis=0) / count
        near = 1e-12
        compared.append(
            (name, (ours >= theirs - near).astype(np.float64), (theirs >= ours - near).astype(np.float64),
             cluster[rows])
        )  # fmt: skip
    if len(compared) < ANNOTATORS:
        raise Undefined(
            Note(
                "replacement.few", "the test needs {people} people with {rows} shared rulings each; found {found}",
                people=ANNOTATORS, rows=ROWS, found=len(compared),
            )
        )  # fmt: skip
    gaps = [_mean(ours - theirs, items) for _, ours, theirs, items in compared]
    ps = [_p(gap, epsilon, len(np.unique(row[3]))) for gap, row in zip(gaps, compared, strict=True)]
    passed = _yekutieli(ps, level)
    advantage = _mean(np.concatenate([row[1] for row in compared]), np.concatenate([row[3] for row in compared]))
    rate = sum(passed) / len(passed)
    annotators = tuple(
        Advantage(row[0], gap, p, won) for row, gap, p, won in zip(compared, gaps, ps, passed, strict=True)
    )
    return Replacement(annotators, rate, advantage, epsilon, sum(len(row[1]) for row in compared), tuple(left_out))


def _mean(values: Floats, cluster: Ints) -> Estimate:
    _, place = np.unique(cluster, return_inverse=True)
    sums, sizes = np.bincount(place, values), np.bincount(place)
    return cluster_mean(sums.astype(np.float64), sizes.astype(np.float64))


def _p(gap: Estimate, epsilon: float, items: int) -> float:
    """The chance of so good a judge if it were worse than the one set aside by epsilon; Student's t over the items."""
    from scipy.special import stdtr, stdtrit

    if gap.why:
        return 0.0 if items >= ROWS and gap.value > -epsilon else 1.0
    error = (gap.high - gap.low) / 2 / float(stdtrit(items - 1, (1 + gap.level) / 2))
    return float(stdtr(items - 1, -(gap.value + epsilon) / error))


def _yekutieli(ps: list[float], level: float) -> list[bool]:
    """Benjamini and Yekutieli 2001 (doi:10.1214/aos/1013699998): right whatever the tests have in common."""
    from scipy.stats import false_discovery_control

    adjusted = false_discovery_control(np.array(ps), method="by")
    return [bool(p <= level) for p in adjusted]
