"""Unweighted mean of a statistic over groups, with an interval: each group counts once."""

from __future__ import annotations

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Numbers, finite_columns, label_codes
from fullbench.stats.intervals.bootstrap import FEW, Labels, Sample, Statistic, jackknife_spread, resample_statistic
from fullbench.stats.intervals.cluster_intervals import METHOD, Scale, Spread, estimate_around


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
    `bootstrap.estimate_interval`.

    >>> from fullbench.stats.intervals.weighted_statistics import weighted_mean
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
