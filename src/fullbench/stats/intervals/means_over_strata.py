"""One figure from many groups: the mean of the groups' figures, each group counting once."""

from __future__ import annotations

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Numbers, codes, columns
from fullbench.stats.intervals.bootstrap import FEW, Labels, Sample, Statistic, left_out, replicate
from fullbench.stats.intervals.cluster_intervals import METHOD, Scale, Spread, around


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
    """The unweighted mean of a statistic over groups, each resampled on its own.

    Papers print this as an average over data sets; it is not the figure of all rows in one. A group that does not
    define the figure, or is a single cluster, is left out; `method` says how many groups were averaged. Where a group
    has few clusters, the spread is that of the jackknife in each group, as in `intervals.bootstrap.interval`.

    >>> from fullbench.stats.intervals.weighted_statistics import mean
    >>> found = mean_of_groups(mean, list("aaabb"), [1, 2, 1, 5, 4])
    >>> round(found.value, 2), found.n, found.method
    (2.92, 5, 'mean of 2 groups, jackknife over items')
    """
    names, owner = codes(group)
    arrays = columns(owner, *values)[1:]
    label = None if cluster is None else np.asarray(cluster)
    figures, samples = [], []
    for place in range(len(names)):
        group_rows = np.flatnonzero(owner == place)
        sample = Sample.of(
            *(array[group_rows] for array in arrays), cluster=None if label is None else label[group_rows]
        )
        figure = float(statistic(sample.counts[None, :], *sample.cells)[0])
        if np.isnan(figure) or sample.clusters < 2:
            continue
        figures.append(figure)
        samples.append((place, sample))
    if not figures:
        raise Undefined(
            Note("undefined.none-of-groups-defines-the", "none of {n} groups defines the figure", n=len(names))
        )
    rows, value = sum(sample.n for _, sample in samples), float(np.mean(figures))
    if min(sample.clusters for _, sample in samples) < FEW:
        spread = Spread.of_mean([left_out(sample, statistic) for _, sample in samples])
        method = f"mean of {len(figures)} groups, {METHOD}"
        return around(value, rows, spread, within=within, level=level, method=method)
    known = np.mean([replicate(sample, statistic, resamples, [seed, place]) for place, sample in samples], axis=0)
    known = known[~np.isnan(known)]
    if len(known) < 0.9 * resamples:
        raise Undefined(
            Note(
                "undefined.too-few-rows-resamples-fail",
                "too few rows for an interval: {lost} of {resamples} resamples fail",
                lost=resamples - len(known),
                resamples=resamples,
            )
        )
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    method = f"mean of {len(figures)} groups, percentile bootstrap, {resamples} resamples"
    units = sum(sample.clusters for _, sample in samples)
    return Estimate(value, float(low), float(high), rows, level, method, units=units)
