"""One figure from many groups: the mean of the groups' figures, each group counting once."""

from __future__ import annotations

import numpy as np

from fullbench.errors import Undefined
from fullbench.nouns.estimate import Estimate
from fullbench.nouns.note import Note
from fullbench.stats.arrays import Numbers, codes, columns
from fullbench.stats.bootstrap import Labels, Sample, Statistic, replicate


def mean_of_groups(
    statistic: Statistic,
    group: Labels,
    *values: Numbers,
    cluster: Labels | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """The unweighted mean of a statistic over groups, each resampled on its own.

    Papers print this as an average over data sets; it is not the figure of all rows in one. A group that does not
    define the figure, or is a single cluster, is left out; `method` says how many groups were averaged.

    >>> from fullbench.stats.weighted import mean
    >>> found = mean_of_groups(mean, list("aaabb"), [1, 1, 1, 5, 5])
    >>> found.value, found.n, found.method
    (3.0, 5, 'mean of 2 groups, percentile bootstrap, 1000 resamples')
    """
    names, owner = codes(group)
    arrays = columns(owner, *values)[1:]
    label = None if cluster is None else np.asarray(cluster)
    figures, drawn, rows = [], [], 0
    for place in range(len(names)):
        group_rows = np.flatnonzero(owner == place)
        sample = Sample.of(
            *(array[group_rows] for array in arrays), cluster=None if label is None else label[group_rows]
        )
        figure = float(statistic(sample.counts[None, :], *sample.cells)[0])
        if np.isnan(figure) or sample.clusters < 2:
            continue
        figures.append(figure)
        drawn.append(replicate(sample, statistic, resamples, [seed, place]))
        rows += sample.n
    if not figures:
        raise Undefined(
            Note("undefined.none-of-groups-defines-the", "none of {n} groups defines the figure", n=len(names))
        )
    known = np.mean(drawn, axis=0)
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
    return Estimate(float(np.mean(figures)), float(low), float(high), rows, level, method)
