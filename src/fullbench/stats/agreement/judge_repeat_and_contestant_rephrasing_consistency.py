"""Consistency of a judge over repeated verdicts, and of a contestant over rephrased questions."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints, Numbers, finite_column, label_codes
from fullbench.stats.intervals import statistics_for_bootstrap
from fullbench.stats.intervals.bootstrap_and_jackknife import bootstrap
from fullbench.stats.intervals.cluster_intervals import FROM_ZERO, cluster_mean


@dataclass(frozen=True)
class Steadiness:
    """Steadiness of a judge over repeated verdicts on the same items.

    `consistency` is the mean, over items, of the share of the most frequent verdict. `majority` is the share of items
    for which more than half of the verdicts are the same (both from MLLM-as-a-Judge, Chen et al. 2024,
    arXiv:2402.04788). `shares` has one share per item, in the order of `items`; `verdict_counts` has the number of
    verdicts behind each.
    """

    consistency: Estimate
    majority: Estimate
    items: tuple[Any, ...]
    shares: tuple[float, ...]
    verdict_counts: tuple[int, ...]

    def times(self) -> dict[int, int]:
        """Count items by how often their most frequent verdict occurs; {} if items have different numbers of verdicts.

        >>> measure_steadiness([1, 1, 1, 2, 2, 2], ["A", "A", "B", "C", "C", "C"]).times()
        {2: 1, 3: 1}
        """
        if len(set(self.verdict_counts)) != 1:
            return {}
        often = Counter(
            round(share * verdict_count) for share, verdict_count in zip(self.shares, self.verdict_counts, strict=True)
        )
        return dict(sorted(often.items()))

    def histogram(self, bins: int = 5) -> list[tuple[float, float, int]]:
        """Count items by share, as (from, to, items); the last bin includes both ends."""
        counts, edges = np.histogram(self.shares, bins=bins, range=(0.0, 1.0))
        return [(float(low), float(high), int(n)) for low, high, n in zip(edges, edges[1:], counts, strict=False)]


def measure_steadiness(
    item: npt.ArrayLike,
    verdict: npt.ArrayLike,
    *,
    trials: int | None = None,
    cluster: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> Steadiness:
    """Measure the steadiness of verdicts, one per row, compared as labels.

    Shares are of the verdicts that an item has. With `trials` they are of that many verdicts, so that an unusable one
    counts against steadiness. Items with a single verdict are left out. Items may share a `cluster` (a label per row),
    such as the cases of one question; intervals are then over clusters.

    >>> found = measure_steadiness([1, 1, 1, 2, 2, 2], ["A", "A", "B", "C", "C", "C"])
    >>> found.shares, found.majority.value
    ((0.6666666666666666, 1.0), 1.0)
    """
    items, row = label_codes(item)
    _, label = label_codes(verdict)
    if len(row) != len(label):
        raise ValueError(f"the columns must have one length; found {len(row)}, {len(label)}")
    verdict_counts = np.bincount(row, minlength=len(items))
    if trials is not None and verdict_counts.max(initial=0) > trials:
        raise ValueError(f"{trials} trials were announced, but an item has {verdict_counts.max()} verdicts")
    pair, times = np.unique(row * (label.max(initial=0) + 1) + label, return_counts=True)
    most = np.zeros(len(items), dtype=np.int64)
    np.maximum.at(most, pair // (label.max(initial=0) + 1), times)
    is_repeated = verdict_counts > 1 if trials is None else np.full(len(items), trials > 1)
    if not is_repeated.any():
        raise Undefined(Note("undefined.no-item-was-heard-twice"))
    total = verdict_counts[is_repeated] if trials is None else np.full(int(is_repeated.sum()), trials)
    shares = most[is_repeated] / total
    owner = np.arange(len(items)) if cluster is None else np.zeros(len(items), dtype=np.int64)
    if cluster is not None:
        owner[row] = label_codes(cluster)[1]
    consistency = _mean_over_clusters(shares, owner[is_repeated], level)
    majority = _mean_over_clusters((2 * most[is_repeated] > total).astype(np.float64), owner[is_repeated], level)
    ids, repeated_counts = tuple(items[is_repeated].tolist()), tuple(map(int, total))
    return Steadiness(consistency, majority, ids, tuple(map(float, shares)), repeated_counts)


def _mean_over_clusters(shares: Floats, owner: Ints, level: float) -> Estimate:
    sizes = np.bincount(owner)
    there = sizes > 0
    totals = np.bincount(owner, shares)[there].astype(np.float64)
    return cluster_mean(totals, sizes[there].astype(np.float64), within=(0.0, 1.0), level=level)


# Alignment score: does a contestant get the same marks if the same question is rephrased?

OneVariant = Literal["left out", "zero"]


@dataclass(frozen=True)
class Alignment:
    """Alignment score and the numbers behind it.

    `spread` is the mean over seeds of the standard deviation of their variants' marks, with its interval over seeds.
    `left_out` counts seeds with one variant, which are ignored. `as_zero` counts those that the caller asked to treat
    as perfectly steady. `steady` counts seeds with several variants that all have the same mark.
    """

    spread: Estimate
    seeds: int
    left_out: int
    as_zero: int
    steady: int

    @property
    def value(self) -> float:
        """Return the score: seeds over the sum of their standard deviations; infinite if all of these are zero."""
        return math.inf if self.spread.value == 0 else 1 / self.spread.value

    @property
    def estimate(self) -> Estimate:
        """Return the score with the inverted interval of the mean spread; raise `Undefined` if an end is infinite."""
        spread = self.spread
        if spread.value == 0:
            raise Undefined(Note("undefined.the-score-is-infinite-all", seeds=self.seeds))
        if spread.why:
            return replace(spread, value=self.value, low=self.value, high=self.value)
        if spread.low <= 0:
            raise Undefined(Note("undefined.the-score-is-and-has", value=self.value, seeds=self.seeds))
        ends = (self.value, 1 / spread.high, 1 / spread.low)
        return Estimate(*ends, spread.n, spread.level, f"1 / mean spread, {spread.method}", units=spread.units)


def spreads_by_seed(seed: npt.ArrayLike, marks: Numbers) -> tuple[npt.NDArray[Any], Floats, Ints]:
    """Return the seeds, the population standard deviation of each seed's marks, and its number of variants.

    >>> names, spread, variants = spreads_by_seed(["a", "a", "b"], [4, 6, 7])
    >>> names.tolist(), spread.tolist(), variants.tolist()
    (['a', 'b'], [1.0, 0.0], [2, 1])
    """
    names, owner = label_codes(seed)
    values = finite_column(marks, "marks")
    if len(owner) != len(values):
        raise ValueError(f"the columns must have one length; found {len(owner)}, {len(values)}")
    variants = np.bincount(owner, minlength=len(names))
    means = np.bincount(owner, weights=values, minlength=len(names)) / variants
    squares = np.bincount(owner, weights=(values - means[owner]) ** 2, minlength=len(names))
    spread: Floats = np.sqrt(squares / variants)
    return names, spread, variants.astype(np.int64)


def alignment_score(
    seed: npt.ArrayLike,
    marks: Numbers,
    *,
    one_variant: OneVariant = "left out",
    resamples: int = 1000,
    level: float = 0.95,
    bootstrap_seed: int = 0,
) -> Alignment:
    """Return the alignment score N / sum of sigma over N seeds (AlignMMBench, Wu et al. 2024, arXiv:2406.09295).

    A row is one variant of a question: its seed and its mark. A seed with one variant has a standard deviation of zero
    whatever its mark. It is `left out`, or counted as `zero`, which raises the score. The interval resamples seeds.

    >>> found = alignment_score(["a", "a", "b", "b", "c"], [4, 6, 7, 7, 2])
    >>> found.value, found.seeds, found.left_out, found.steady
    (2.0, 2, 1, 1)
    >>> alignment_score(["a", "a", "b", "b", "c"], [4, 6, 7, 7, 2], one_variant="zero").value
    3.0
    """
    if one_variant not in {"left out", "zero"}:
        raise ValueError(f"a seed with one variant is 'left out' or counted as 'zero'; found {one_variant!r}")
    _, spread, variants = spreads_by_seed(seed, marks)
    several = variants > 1
    is_counted = several if one_variant == "left out" else np.ones(len(variants), dtype=bool)
    if not several.any():
        raise Undefined(Note("undefined.no-seed-has-two-variants", n=len(variants)))
    mean_spread = bootstrap(
        statistics_for_bootstrap.weighted_mean,
        spread[is_counted],
        resamples=resamples,
        level=level,
        seed=bootstrap_seed,
        within=FROM_ZERO,
    )
    alone = int((~several).sum())
    as_zero = alone if one_variant == "zero" else 0
    return Alignment(mean_spread, int(is_counted.sum()), alone - as_zero, as_zero, int((spread[several] == 0).sum()))
