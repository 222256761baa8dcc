"""Does a judge say the same when it is asked again?"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Floats, Ints, Numbers, codes, column
from fullbench.stats.intervals import weighted_statistics
from fullbench.stats.intervals.bootstrap import bootstrap
from fullbench.stats.intervals.cluster_intervals import cluster_mean


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


# Does a contestant fare the same when the same question is put in other words?

OneVariant = Literal["left out", "zero"]


@dataclass(frozen=True)
class Alignment:
    """The alignment score, and what it was made from.

    `spread` is the mean over seeds of the standard deviation of the marks of their variants, with its interval over
    seeds. `left_out` counts the seeds with one variant that say nothing, `as_zero` those that were taken as perfectly
    steady because the caller said so, `steady` the seeds with several variants that all have the same mark.
    """

    spread: Estimate
    seeds: int
    left_out: int
    as_zero: int
    steady: int

    @property
    def value(self) -> float:
        """The score: seeds over the sum of their standard deviations. Infinite where all of these are zero."""
        return math.inf if self.spread.value == 0 else 1 / self.spread.value

    @property
    def estimate(self) -> Estimate:
        """The score with its interval: the ends of the interval of the mean spread, turned over.

        `Undefined` where the score or the upper end is infinite.
        """
        spread = self.spread
        if spread.value == 0:
            raise Undefined(
                Note(
                    "undefined.the-score-is-infinite-all",
                    "the score is infinite: all variants of each of {seeds} seeds have the same mark",
                    seeds=self.seeds,
                )
            )
        if spread.why:
            return replace(spread, value=self.value, low=self.value, high=self.value)
        if spread.low <= 0:
            raise Undefined(
                Note(
                    "undefined.the-score-is-and-has",
                    "the score is {value:.3g} and has no upper end: {seeds} seeds are too few",
                    value=self.value,
                    seeds=self.seeds,
                )
            )
        ends = (self.value, 1 / spread.high, 1 / spread.low)
        return Estimate(*ends, spread.n, spread.level, f"1 / mean spread, {spread.method}", units=spread.units)


def spreads(seed: npt.ArrayLike, marks: Numbers) -> tuple[npt.NDArray[Any], Floats, Ints]:
    """The seeds, the population standard deviation of the marks of each, and how many variants each has.

    >>> names, spread, variants = spreads(["a", "a", "b"], [4, 6, 7])
    >>> names.tolist(), spread.tolist(), variants.tolist()
    (['a', 'b'], [1.0, 0.0], [2, 1])
    """
    names, owner = codes(seed)
    values = column(marks, "marks")
    if len(owner) != len(values):
        raise ValueError(f"the columns must have one length; found {len(owner)}, {len(values)}")
    variants = np.bincount(owner, minlength=len(names))
    means = np.bincount(owner, weights=values, minlength=len(names)) / variants
    squares = np.bincount(owner, weights=(values - means[owner]) ** 2, minlength=len(names))
    spread: Floats = np.sqrt(squares / variants)
    return names, spread, variants.astype(np.int64)


def alignment(
    seed: npt.ArrayLike,
    marks: Numbers,
    *,
    one_variant: OneVariant = "left out",
    resamples: int = 1000,
    level: float = 0.95,
    bootstrap_seed: int = 0,
) -> Alignment:
    """The alignment score N / sum of sigma over N seed questions (AlignMMBench, Wu et al. 2024, arXiv:2406.09295).

    A row is one variant of a question: which seed it is a wording of, and its mark. A seed with one variant has a
    standard deviation of zero whatever its mark: it is `left out`, or counted as `zero`, which raises the score. The
    interval resamples seeds.

    >>> found = alignment(["a", "a", "b", "b", "c"], [4, 6, 7, 7, 2])
    >>> found.value, found.seeds, found.left_out, found.steady
    (2.0, 2, 1, 1)
    >>> alignment(["a", "a", "b", "b", "c"], [4, 6, 7, 7, 2], one_variant="zero").value
    3.0
    """
    if one_variant not in {"left out", "zero"}:
        raise ValueError(f"a seed with one variant is 'left out' or counted as 'zero'; found {one_variant!r}")
    _, spread, variants = spreads(seed, marks)
    several = variants > 1
    counted = several if one_variant == "left out" else np.ones(len(variants), dtype=bool)
    if not several.any():
        raise Undefined(
            Note(
                "undefined.no-seed-has-two-variants",
                "no seed has two variants with a mark; {n} have one",
                n=len(variants),
            )
        )
    mean_spread = bootstrap(
        weighted_statistics.mean, spread[counted], resamples=resamples, level=level, seed=bootstrap_seed
    )
    alone = int((~several).sum())
    as_zero = alone if one_variant == "zero" else 0
    return Alignment(mean_spread, int(counted.sum()), alone - as_zero, as_zero, int((spread[several] == 0).sum()))
