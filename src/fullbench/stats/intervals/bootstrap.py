"""Resampled intervals from counts, not from rows: the bootstrap, and the jackknife where items are few.

A statistic here is a function of *weights*: `statistic(weights, *columns)` gets one row of weights for each resample
and one column entry for each distinct row of the data (a cell), and gives one figure for each resample, NaN where that
resample does not define it. Resampling is then a matter of drawing how often each cell occurs: for a million verdicts
on a five-point scale, 25 numbers for each resample. Rows that share a cluster (an item) are drawn together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Ints, Numbers, codes, columns
from fullbench.stats.intervals.cluster_intervals import Scale, Spread, around, of_one_item, p_of_zero

Statistic = Callable[..., Floats]
Method = Literal["auto", "percentile", "bca", "jackknife"]
Labels = npt.ArrayLike

# weights that are held at once, so that memory does not grow with the number of resamples
_BLOCK = 1 << 22
# from so many rows on, independent Poisson counts stand in for the multinomial draw
_MANY = 100_000
FEW = 100
"""With fewer independent units than this, percentiles of a bootstrap are too narrow (docs/statistics.md): the jackknife
takes their place."""
# an interval over fewer of the resamples would be that of the lucky ones
_MOST_UNDEFINED = 0.1


@dataclass(frozen=True)
class Sample:
    """Rows as distinct cells, how often each occurs, and which clusters hold them.

    `profile` has a row for each cluster and a column for each cell (a sparse matrix of counts); None where every row
    is a cluster of its own.
    """

    cells: tuple[Any, ...]
    counts: Floats
    profile: Any
    n: int
    clusters: int

    @classmethod
    def of(cls, *values: Numbers, cluster: Labels | None = None) -> Sample:
        """The sample that these columns are. A column may have two dimensions; its first is the row.

        >>> sample = Sample.of([1, 1, 2], [0, 0, 1])
        >>> [cell.tolist() for cell in sample.cells], sample.counts.tolist()
        ([[1.0, 2.0], [0.0, 1.0]], [2.0, 1.0])
        """
        arrays = columns(*values)
        n = len(arrays[0])
        if n == 0:
            raise Undefined(Note("undefined.nothing-was-observed", "nothing was observed"))
        first, inverse, counts = _cells(arrays)
        return cls.counted(tuple(array[first] for array in arrays), counts, inverse, cluster)

    @classmethod
    def counted(
        cls, cells: tuple[Any, ...], counts: Floats, inverse: npt.NDArray[Any], cluster: Labels | None
    ) -> Sample:
        """A sample whose cells are known already; `inverse` gives each row's cell."""
        n = len(inverse)
        if cluster is None:
            return cls(cells, counts, None, n, n)
        names, owner = codes(cluster)
        if len(owner) != n:
            raise ValueError(f"the clusters must have one label a row; found {len(owner)} for {n} rows")
        if len(names) == n:
            return cls(cells, counts, None, n, n)
        # In scipy's own indices, which it would make of wider ones beside them.
        narrow = np.int32 if n < 1 << 31 else np.int64
        owners = owner.astype(narrow)
        del owner
        profile = _profile(owners, inverse.astype(narrow, copy=False), len(names), len(counts))
        return cls(cells, counts, profile, n, len(names))

    def restricted(self, keep: Bools, cells: tuple[Any, ...]) -> Sample:
        """Only the cells kept, under new columns; clusters left empty go too."""
        counts = self.counts[keep]
        n = int(counts.sum())
        if self.profile is None:
            return Sample(cells, counts, None, n, n)
        profile = self.profile[:, np.flatnonzero(keep)]
        profile = profile[np.flatnonzero(profile.sum(axis=1))]
        return Sample(cells, counts, profile, n, profile.shape[0])

    def draw(self, rng: np.random.Generator, resamples: int) -> Floats:
        """Weights of the cells in `resamples` bootstrap resamples, a row each.

        Many rows are drawn as independent Poisson counts (Hanley and MacGibbon 2006, doi:10.1016/j.cmpb.2006.04.006):
        cheaper than multinomial ones, from which they differ by the size of the resample, about 1 part in sqrt(n).
        """
        if self.profile is not None:
            return np.ascontiguousarray((self.profile.T @ _times(rng, self.clusters, resamples).T).T)
        size = len(self.counts)
        if self.n > _MANY:
            return rng.poisson(self.counts, size=(resamples, size)).astype(np.float64)
        if 4 * size < self.n:
            return rng.multinomial(self.n, self.counts / self.n, size=resamples).astype(np.float64)
        cell = np.repeat(np.arange(size), self.counts.astype(np.int64))
        return _histogram(cell[rng.integers(0, self.n, size=(resamples, self.n))], size)

    def without_each(self) -> Iterator[tuple[Floats, Floats]]:
        """Blocks of weights with one cluster left out, and how many clusters each row of weights stands for."""
        total = self.clusters if self.profile is not None else len(self.counts)
        step = max(1, _BLOCK // len(self.counts))
        for start in range(0, total, step):
            stop = min(start + step, total)
            if self.profile is not None:
                yield self.counts - self.profile[start:stop].toarray(), np.ones(stop - start)
            else:
                left_out = np.zeros((stop - start, len(self.counts)))
                left_out[np.arange(stop - start), np.arange(start, stop)] = 1.0
                yield self.counts - left_out, self.counts[start:stop]


def _cells(arrays: tuple[Floats, ...]) -> tuple[Ints, Ints, Floats]:
    if any(array.ndim > 1 for array in arrays):
        rows = np.arange(len(arrays[0]))
        return rows, rows, np.ones(len(rows))
    code = np.zeros(len(arrays[0]), dtype=np.int64)
    for array in arrays:
        values, inverse = np.unique(array, return_inverse=True)
        # compact after each column, so that the product of the sizes cannot overflow
        _, code = np.unique(code * len(values) + inverse, return_inverse=True)
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    return first, code, counts.astype(np.float64)


def _profile(owner: npt.NDArray[Any], cell: npt.NDArray[Any], clusters: int, cells: int) -> Any:
    from scipy.sparse import csr_array

    # Counted in few bytes, for while it is made both the rows and what comes of them are there.
    profile = csr_array((np.ones(len(owner), dtype=np.int32), (owner, cell)), shape=(clusters, cells))
    # The counts alone are widened: `astype` of the whole would hold its indices twice.
    profile.data = profile.data.astype(np.float64)
    return profile


def _times(rng: np.random.Generator, clusters: int, resamples: int) -> Floats:
    return _histogram(rng.integers(0, clusters, size=(resamples, clusters)), clusters)


def _histogram(drawn: Ints, size: int) -> Floats:
    flat = (drawn + np.arange(len(drawn))[:, None] * size).ravel()
    return np.bincount(flat, minlength=len(drawn) * size).reshape(len(drawn), size).astype(np.float64)


def replicate(sample: Sample, statistic: Statistic, resamples: int, seed: int | list[int]) -> Floats:
    """The statistic of each of `resamples` resamples; NaN where a resample does not define it.

    A statistic may give several figures; then each resample has a row of them. Resamples are drawn in blocks, so that
    memory stays bounded.
    """
    rng = np.random.default_rng(seed)
    drawn = 1 if sample.profile is None else sample.clusters
    step = max(1, _BLOCK // max(len(sample.counts), drawn))
    blocks = [
        statistic(sample.draw(rng, min(step, resamples - start)), *sample.cells) for start in range(0, resamples, step)
    ]
    return np.concatenate(blocks)


def interval(
    sample: Sample,
    statistic: Statistic,
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int | list[int] = 0,
    method: Method = "auto",
    within: Scale | None = None,
    zero: bool = False,
) -> Estimate:
    """The estimate of a statistic on a sample, with its interval (Efron and Tibshirani 1993, ch. 11, 13, 14).

    `percentile` takes quantiles of the resampled figures; `bca` corrects them for bias and skewness with a jackknife
    over clusters; `jackknife` leaves out one cluster after another and makes of the spread what
    `stats.intervals.cluster_intervals` says, on the scale `within` where the figure has one. `auto` takes the jackknife
    for fewer than `FEW` clusters, else the percentiles. With `zero` the estimate has the p-value of "the figure is 0 in
    truth". Resamples that do not define the figure are left out; when they are more than a tenth, it is `Undefined`.
    One cluster gives the value alone, and the estimate says why it has no interval.

    >>> from fullbench.stats.intervals.weighted_statistics import mean
    >>> print(interval(Sample.of([0, 1] * 50), mean))
    0.500 [0.400, 0.600] n=100
    >>> print(interval(Sample.of([0, 1] * 5), mean, within=(0, 1)))
    0.500 [0.199, 0.801] n=10
    """
    if not 0 < level < 1:
        raise ValueError(f"the level must lie between 0 and 1; found {level}")
    value = float(statistic(sample.counts[None, :], *sample.cells)[0])
    if math.isnan(value):
        raise Undefined(
            Note(
                "undefined.the-figure-is-not-defined",
                "the figure is not defined by these {n} rows: a column is constant, or no row counts",
                n=sample.n,
            )
        )
    if sample.clusters < 2:
        alone = of_one_item(value, sample.n, level=level)
        return replace(alone, p=1.0) if zero else alone
    if method == "jackknife" or (method == "auto" and sample.clusters < FEW):
        spread = left_out(sample, statistic)
        estimate = around(value, sample.n, spread, within=within, level=level)
        return replace(estimate, p=p_of_zero(value, spread, within)) if zero else estimate
    figures = replicate(sample, statistic, resamples, seed)
    known = figures[~np.isnan(figures)]
    if len(known) < (1 - _MOST_UNDEFINED) * resamples:
        lost = resamples - len(known)
        raise Undefined(
            Note(
                "undefined.too-few-rows-for-an",
                "too few rows for an interval: {lost} of {resamples} resamples do not define the figure",
                lost=lost,
                resamples=resamples,
            )
        )
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if method == "bca":
        tails = _corrected(sample, statistic, known, value, tails)
    low, high = np.quantile(known, tails)
    if high - low <= 1e-12 * max(1.0, abs(value)):
        return around(value, sample.n, Spread.none(sample.clusters), within=within, level=level)
    by = "" if sample.profile is None else f" over {sample.clusters} clusters"
    name = f"{'bca' if method == 'bca' else 'percentile'} bootstrap{by}, {resamples} resamples"
    p = None
    if zero:
        spread = Spread(float(known.var(ddof=1)), sample.clusters - 1.0, sample.clusters, sample.clusters - 1.0)
        p = p_of_zero(value, spread)
    return Estimate(value, float(low), float(high), sample.n, level, name, p, units=sample.clusters)


def left_out(sample: Sample, statistic: Statistic) -> Spread:
    """How a statistic moves when one cluster after another is left out.

    >>> from fullbench.stats.intervals.weighted_statistics import mean
    >>> left_out(Sample.of([0, 1, 1, 0]), mean).units
    4
    """
    value = float(statistic(sample.counts[None, :], *sample.cells)[0])
    left, times = _left(sample, statistic)
    lost = sample.clusters - round(float(times.sum()))
    if lost > _MOST_UNDEFINED * sample.clusters:
        raise Undefined(
            Note(
                "undefined.left-out",
                "too few rows for an interval: the figure is not defined once any of {lost} clusters of {clusters} is "
                "left out",
                lost=lost,
                clusters=sample.clusters,
            )
        )
    return Spread.of(left - value, times)


def _left(sample: Sample, statistic: Statistic) -> tuple[Floats, Floats]:
    """The figure without each cluster, where it is defined; and how many clusters each stands for."""
    blocks = [(statistic(weights, *sample.cells), times) for weights, times in sample.without_each()]
    left, times = (np.concatenate(part) for part in zip(*blocks, strict=True))
    usable = ~np.isnan(left)
    return left[usable], times[usable]


def _corrected(sample: Sample, statistic: Statistic, known: Floats, value: float, tails: Floats) -> Floats:
    from scipy.special import ndtr, ndtri

    below = np.clip(((known < value).mean() + (known <= value).mean()) / 2, 0.5 / len(known), 1 - 0.5 / len(known))
    bias = ndtri(below)
    left, times = _left(sample, statistic)
    gap = np.average(left, weights=times) - left
    spread = float((times * gap**2).sum())
    speed = 0.0 if spread == 0 else float((times * gap**3).sum()) / (6 * spread**1.5)
    score = bias + ndtri(tails)
    corrected: Floats = ndtr(bias + score / (1 - speed * score))
    return corrected


def bootstrap(
    statistic: Statistic,
    *values: Numbers,
    cluster: Labels | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    method: Method = "auto",
    within: Scale | None = None,
    zero: bool = False,
) -> Estimate:
    """A statistic of some columns, with its interval; rows that share a `cluster` are drawn together.

    >>> from fullbench.stats.intervals.weighted_statistics import mean
    >>> print(bootstrap(mean, [1, 1, 5, 5], cluster=["a", "a", "b", "b"], within=(1, 5)))
    3.000 [1.006, 4.994] n=4
    """
    sample = Sample.of(*values, cluster=cluster)
    return interval(
        sample, statistic, resamples=resamples, level=level, seed=seed, method=method, within=within, zero=zero
    )


@dataclass(frozen=True)
class Groups:
    """The estimates of many groups, and why some have none."""

    estimates: Mapping[Any, Estimate]
    undefined: Mapping[Any, str]


def bootstrap_groups(
    statistic: Statistic,
    group: Labels,
    *values: Numbers,
    cluster: Labels | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    method: Method = "auto",
    within: Scale | None = None,
) -> Groups:
    """The same statistic in every group of rows. A group's resamples depend on the seed and its place among the groups.

    >>> from fullbench.stats.intervals.weighted_statistics import pearson
    >>> found = bootstrap_groups(pearson, list("aaaaaabb"), [1, 2, 3, 4, 5, 6, 1, 1], [1, 2, 3, 4, 6, 5, 1, 2])
    >>> round(found.estimates["a"].value, 3), list(found.undefined)
    (0.943, ['b'])
    """
    names, owner = codes(group)
    arrays = columns(owner, *values)[1:]
    order = np.argsort(owner, kind="stable")
    bounds = np.searchsorted(owner[order], np.arange(len(names) + 1))
    label = None if cluster is None else np.asarray(cluster)
    estimates: dict[Any, Estimate] = {}
    undefined: dict[Any, str] = {}
    for place, name in enumerate(names.tolist()):
        rows = order[bounds[place] : bounds[place + 1]]
        sample = Sample.of(*(array[rows] for array in arrays), cluster=None if label is None else label[rows])
        try:
            estimates[name] = interval(
                sample, statistic, resamples=resamples, level=level, seed=[seed, place], method=method, within=within
            )
        except Undefined as reason:
            undefined[name] = str(reason)
    return Groups(estimates, undefined)
