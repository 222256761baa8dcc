"""Does a contestant fare the same when the same question is put in other words?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fullbench.errors import Undefined
from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.stats import weighted
from fullbench.stats.arrays import Floats, Ints, Numbers, codes, column
from fullbench.stats.bootstrap import bootstrap

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
    mean_spread = bootstrap(weighted.mean, spread[counted], resamples=resamples, level=level, seed=bootstrap_seed)
    alone = int((~several).sum())
    as_zero = alone if one_variant == "zero" else 0
    return Alignment(mean_spread, int(counted.sum()), alone - as_zero, as_zero, int((spread[several] == 0).sum()))
