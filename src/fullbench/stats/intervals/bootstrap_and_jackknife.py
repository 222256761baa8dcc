"""Bootstrap and jackknife intervals, computed from counts of distinct rows.

A statistic here is a function of *weights*. `statistic(weights, *columns)` gets one row of weights per resample and
one column entry per distinct row of the data (a cell). It returns one number per resample, NaN if undefined there.
Resampling then only draws how often each cell occurs: for a million verdicts on a five-point scale, 25 numbers per
resample. Rows of the same cluster (an item) are drawn together. The jackknife is used if there are few clusters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Ints, Numbers, finite_columns, label_codes
from fullbench.stats.intervals.cluster_intervals import (
    METHOD,
    Scale,
    Spread,
    estimate_around,
    estimate_of_one_item,
    p_of_zero,
)

Statistic = Callable[..., Floats]
Method = Literal["auto", "percentile"]
Labels = npt.ArrayLike

# weights held at once, so that memory does not grow with the number of resamples
_BLOCK = 1 << 22
# above this number of rows, independent Poisson counts replace the multinomial draw
_MANY = 100_000
FEW = 100
"""Bootstrap percentiles of fewer units are too narrow (docs/explanation/statistics.md); use the jackknife."""
# largest share of undefined resamples: leaving out more would bias the interval
_MOST_UNDEFINED = 0.1


@dataclass(frozen=True)
class Sample:
    """Rows as distinct cells, with the count of each and the clusters that contain them.

    `profile` is a sparse matrix of counts with a row per cluster and a column per cell, or None if every row is its
    own cluster.
    """

    cells: tuple[Any, ...]
    counts: Floats
    profile: Any
    n: int
    clusters: int

    @classmethod
    def from_columns(cls, *values: Numbers, cluster: Labels | None = None) -> Sample:
        """Build the sample of these columns. A column may have two dimensions; the first is the row.

        >>> sample = Sample.from_columns([1, 1, 2], [0, 0, 1])
        >>> [cell.tolist() for cell in sample.cells], sample.counts.tolist()
        ([[1.0, 2.0], [0.0, 1.0]], [2.0, 1.0])
        """
        arrays = finite_columns(*values)
        n = len(arrays[0])
        if n == 0:
            raise Undefined(Note("undefined.nothing-was-observed"))
        first, inverse, counts = _distinct_cells(arrays)
        return cls.from_cells(tuple(array[first] for array in arrays), counts, inverse, cluster)

    @classmethod
    def from_cells(
        cls, cells: tuple[Any, ...], counts: Floats, inverse: npt.NDArray[Any], cluster: Labels | None
    ) -> Sample:
        """Build a sample from known cells; `inverse` gives each row's cell."""
        n = len(inverse)
        if cluster is None:
            return cls(cells, counts, None, n, n)
        names, owner = label_codes(cluster)
        if len(owner) != n:
            raise ValueError(f"the clusters must have one label a row; found {len(owner)} for {n} rows")
        if len(names) == n:
            return cls(cells, counts, None, n, n)
        # Use scipy's own index type; otherwise it would copy the wider indices.
        narrow = np.int32 if n < 1 << 31 else np.int64
        owners = owner.astype(narrow)
        del owner
        profile = _cluster_profile(owners, inverse.astype(narrow, copy=False), len(names), len(counts))
        return cls(cells, counts, profile, n, len(names))

    def keep_cells(self, keep: Bools, cells: tuple[Any, ...]) -> Sample:
        """Keep only some cells, with new columns, and drop clusters that become empty."""
        counts = self.counts[keep]
        n = int(counts.sum())
        if self.profile is None:
            return Sample(cells, counts, None, n, n)
        profile = self.profile[:, np.flatnonzero(keep)]
        profile = profile[np.flatnonzero(profile.sum(axis=1))]
        return Sample(cells, counts, profile, n, profile.shape[0])

    def draw(self, rng: np.random.Generator, resamples: int) -> Floats:
        """Return weights of the cells in `resamples` bootstrap resamples, one per row.

        Many rows are drawn as independent Poisson counts (Hanley and MacGibbon 2006, doi:10.1016/j.cmpb.2006.04.006).
        These are cheaper than multinomial ones; only the size of a resample differs, by about 1 part in sqrt(n).
        """
        if self.profile is not None:
            return np.ascontiguousarray((self.profile.T @ _cluster_draws(rng, self.clusters, resamples).T).T)
        size = len(self.counts)
        if self.n > _MANY:
            return rng.poisson(self.counts, size=(resamples, size)).astype(np.float64)
        if 4 * size < self.n:
            return rng.multinomial(self.n, self.counts / self.n, size=resamples).astype(np.float64)
        cell = np.repeat(np.arange(size), self.counts.astype(np.int64))
        return _count_draws(cell[rng.integers(0, self.n, size=(resamples, self.n))], size)

    def without_each(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield blocks of weights with one cluster left out, and the number of clusters behind each row of weights."""
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


def _distinct_cells(arrays: tuple[Floats, ...]) -> tuple[Ints, Ints, Floats]:
    if any(array.ndim > 1 for array in arrays):
        rows = np.arange(len(arrays[0]))
        return rows, rows, np.ones(len(rows))
    code = np.zeros(len(arrays[0]), dtype=np.int64)
    for array in arrays:
        values, inverse = np.unique(array, return_inverse=True)
        # Compact after each column, so that the product of the sizes cannot overflow.
        _, code = np.unique(code * len(values) + inverse, return_inverse=True)
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    return first, code, counts.astype(np.float64)


def _cluster_profile(owner: npt.NDArray[Any], cell: npt.NDArray[Any], clusters: int, cells: int) -> Any:
    from scipy.sparse import csr_array

    # int32 saves memory while the rows and the result exist at the same time.
    profile = csr_array((np.ones(len(owner), dtype=np.int32), (owner, cell)), shape=(clusters, cells))
    # Widen only the counts: `astype` of the whole matrix would copy its indices.
    profile.data = profile.data.astype(np.float64)
    return profile


def _cluster_draws(rng: np.random.Generator, clusters: int, resamples: int) -> Floats:
    return _count_draws(rng.integers(0, clusters, size=(resamples, clusters)), clusters)


def _count_draws(draws: Ints, size: int) -> Floats:
    flat = (draws + np.arange(len(draws))[:, None] * size).ravel()
    return np.bincount(flat, minlength=len(draws) * size).reshape(len(draws), size).astype(np.float64)


def resample_statistic(sample: Sample, statistic: Statistic, resamples: int, seed: int | list[int]) -> Floats:
    """Return the statistic of each resample, NaN if undefined there.

    A statistic may return several numbers, then each resample is a row of them. Resamples are drawn in blocks to bound
    memory.
    """
    rng = np.random.default_rng(seed)
    draw_size = 1 if sample.profile is None else sample.clusters
    step = max(1, _BLOCK // max(len(sample.counts), draw_size))
    blocks = [
        statistic(sample.draw(rng, min(step, resamples - start)), *sample.cells) for start in range(0, resamples, step)
    ]
    return np.concatenate(blocks)


def estimate_interval(
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
    """Estimate a statistic on a sample with its interval (Efron and Tibshirani 1993, ch. 11, 13, 14).

    `percentile` uses quantiles of the resampled values. For fewer than `FEW` clusters, `auto` uses the jackknife
    instead. It leaves out one cluster after another and builds the interval as in `stats.intervals.cluster_intervals`,
    on the scale `within` if given. With `zero`, the estimate has the p-value of "the true value is 0". Undefined
    resamples are left out; if they are more than a tenth, `Undefined` is raised. With one cluster there is no interval,
    and the estimate has the reason.

    >>> from fullbench.stats.intervals.statistics_for_bootstrap import weighted_mean
    >>> print(estimate_interval(Sample.from_columns([0, 1] * 50), weighted_mean))
    0.500 [0.400, 0.600] n=100
    >>> print(estimate_interval(Sample.from_columns([0, 1] * 5), weighted_mean, within=(0, 1)))
    0.500 [0.199, 0.801] n=10
    """
    if not 0 < level < 1:
        raise ValueError(f"the level must lie between 0 and 1; found {level}")
    value = float(statistic(sample.counts[None, :], *sample.cells)[0])
    if math.isnan(value):
        raise Undefined(Note("undefined.the-figure-is-not-defined", n=sample.n))
    if sample.clusters < 2:
        single_estimate = estimate_of_one_item(value, sample.n, level=level)
        return replace(single_estimate, p=1.0) if zero else single_estimate
    if method == "auto" and sample.clusters < FEW:
        spread = jackknife_spread(sample, statistic)
        estimate = estimate_around(value, sample.n, spread, within=within, level=level)
        return replace(estimate, p=p_of_zero(value, spread, within)) if zero else estimate
    values = resample_statistic(sample, statistic, resamples, seed)
    defined_figures = values[~np.isnan(values)]
    if len(defined_figures) < (1 - _MOST_UNDEFINED) * resamples:
        undefined_count = resamples - len(defined_figures)
        raise Undefined(Note("undefined.too-few-rows-for-an", lost=undefined_count, resamples=resamples))
    low, high = np.quantile(defined_figures, [(1 - level) / 2, (1 + level) / 2])
    if high - low <= 1e-12 * max(1.0, abs(value)):
        return estimate_around(value, sample.n, Spread.without_variance(sample.clusters), within=within, level=level)
    by = "" if sample.profile is None else f" over {sample.clusters} clusters"
    name = f"percentile bootstrap{by}, {resamples} resamples"
    p = None
    if zero:
        spread = Spread(
            float(defined_figures.var(ddof=1)), sample.clusters - 1.0, sample.clusters, sample.clusters - 1.0
        )
        p = p_of_zero(value, spread)
    return Estimate(value, float(low), float(high), sample.n, level, name, p, units=sample.clusters)


def jackknife_spread(sample: Sample, statistic: Statistic) -> Spread:
    """Return the spread of a statistic from leaving out one cluster after another.

    >>> from fullbench.stats.intervals.statistics_for_bootstrap import weighted_mean
    >>> jackknife_spread(Sample.from_columns([0, 1, 1, 0]), weighted_mean).units
    4
    """
    value = float(statistic(sample.counts[None, :], *sample.cells)[0])
    blocks = [(statistic(weights, *sample.cells), times) for weights, times in sample.without_each()]
    left, times = (np.concatenate(part) for part in zip(*blocks, strict=True))
    usable = ~np.isnan(left)
    left, times = left[usable], times[usable]
    undefined_count = sample.clusters - round(float(times.sum()))
    if undefined_count > _MOST_UNDEFINED * sample.clusters:
        raise Undefined(Note("undefined.left-out", lost=undefined_count, clusters=sample.clusters))
    return Spread.from_moves(left - value, times)


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
    """Return a statistic of some columns with its interval; rows of the same `cluster` are drawn together.

    >>> from fullbench.stats.intervals.statistics_for_bootstrap import weighted_mean
    >>> print(bootstrap(weighted_mean, [1, 1, 5, 5], cluster=["a", "a", "b", "b"], within=(1, 5)))
    3.000 [1.006, 4.994] n=4
    """
    sample = Sample.from_columns(*values, cluster=cluster)
    return estimate_interval(
        sample, statistic, resamples=resamples, level=level, seed=seed, method=method, within=within, zero=zero
    )


def mean_of_groups(
    statistic: Statistic,
    group: Labels,
    *values: Numbers,
    cluster: Labels | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    within: Scale | None = None,
) -> Estimate:
    """Return the unweighted mean of a statistic over groups, each resampled separately.

    Papers print this as an average over data sets. It differs from the statistic of all rows pooled. A group is left
    out if the statistic is undefined there or if it is a single cluster; `method` contains the number of groups
    averaged. If a group has few clusters, the spread comes from the jackknife in each group, as in
    `bootstrap_and_jackknife.estimate_interval`.

    >>> from fullbench.stats.intervals.statistics_for_bootstrap import weighted_mean
    >>> found = mean_of_groups(weighted_mean, list("aaabb"), [1, 2, 1, 5, 4])
    >>> round(found.value, 2), found.n, found.method
    (2.92, 5, 'mean of 2 groups, jackknife over items')
    """
    names, owner = label_codes(group)
    arrays = finite_columns(owner, *values)[1:]
    label = None if cluster is None else np.asarray(cluster)
    group_values, samples = [], []
    for place in range(len(names)):
        group_rows = np.flatnonzero(owner == place)
        sample = Sample.from_columns(
            *(array[group_rows] for array in arrays), cluster=None if label is None else label[group_rows]
        )
        group_value = float(statistic(sample.counts[None, :], *sample.cells)[0])
        if np.isnan(group_value) or sample.clusters < 2:
            continue
        group_values.append(group_value)
        samples.append((place, sample))
    if not group_values:
        raise Undefined(Note("undefined.none-of-groups-defines-the", n=len(names)))
    rows, value = sum(sample.n for _, sample in samples), float(np.mean(group_values))
    if min(sample.clusters for _, sample in samples) < FEW:
        spread = Spread.of_mean([jackknife_spread(sample, statistic) for _, sample in samples])
        method = f"mean of {len(group_values)} groups, {METHOD}"
        return estimate_around(value, rows, spread, within=within, level=level, method=method)
    resampled_means = np.mean(
        [resample_statistic(sample, statistic, resamples, [seed, place]) for place, sample in samples], axis=0
    )
    resampled_means = resampled_means[~np.isnan(resampled_means)]
    if len(resampled_means) < 0.9 * resamples:
        raise Undefined(
            Note("undefined.too-few-rows-resamples-fail", lost=resamples - len(resampled_means), resamples=resamples)
        )
    low, high = np.quantile(resampled_means, [(1 - level) / 2, (1 + level) / 2])
    method = f"mean of {len(group_values)} groups, percentile bootstrap, {resamples} resamples"
    units = sum(sample.clusters for _, sample in samples)
    return Estimate(value, float(low), float(high), rows, level, method, units=units)
