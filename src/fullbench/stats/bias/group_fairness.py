"""How alike scores are within a group that should be scored alike.

Three figures of MJ-Bench (Chen et al. 2024, arXiv:2407.04842, section 3.2), each 1 when all scores are equal: the share
of pairs that lie near each other, one minus the Gini coefficient, one minus the relative spread. The last two divide by
the mean: they depend on where zero lies, so a column that was stretched to run from 0 to 1 and one that was not give
different figures, and neither is defined below zero.

A single score is equal to itself: all three are 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Numbers, codes, column

Evenness = Callable[[Numbers], float]
# rows compared with all others at a time, since every two at once would need n squared places
_BLOCK = 2048


def near_pairs(scores: Numbers, threshold: float = 0.1) -> float:
    """The share of pairs whose scores differ by no more than the threshold (the paper's ACC).

    >>> round(near_pairs([0.1, 0.15, 0.5]), 4)
    0.3333
    """
    x = _scores(scores)
    n = len(x)
    if n == 1:
        return 1.0
    near = sum(int((np.abs(x[at : at + _BLOCK, None] - x[None, :]) <= threshold).sum()) for at in range(0, n, _BLOCK))
    return (near - n) / (n * (n - 1))


def gini(scores: Numbers) -> float:
    """The Gini coefficient: the mean absolute difference of all ordered pairs, over twice the mean.

    >>> gini([1, 1, 1]), gini([0, 0, 0, 4])
    (0.0, 0.75)
    """
    x = np.sort(_scores(scores))
    _positive(x)
    n = len(x)
    places = 2 * np.arange(1, n + 1) - n - 1
    return float((places * x).sum() / (n * x.sum()))


def gini_equality(scores: Numbers) -> float:
    """One minus the Gini coefficient (the paper's GES).

    >>> gini_equality([0, 0, 0, 4])
    0.25
    """
    return 1 - gini(scores)


def dispersion_score(scores: Numbers) -> float:
    """One minus the standard deviation over the mean (the paper's NDS); below 0 where the spread is wider.

    >>> dispersion_score([1, 3])
    0.5
    """
    x = _scores(scores)
    _positive(x)
    return 1 - float(x.std() / x.mean())


@dataclass(frozen=True)
class Grouped:
    """One figure for each group, the size of each, and why there is none where there is none."""

    values: Mapping[str, float]
    sizes: Mapping[str, int]
    missing: Mapping[str, str]

    def mean(self) -> float:
        """The plain mean: each group counts once."""
        return self._mean(dict.fromkeys(self.values, 1.0))

    def mean_over_rows(self, weights: Mapping[str, float] | None = None) -> float:
        """Each group counts as often as it has rows, or as `weights` says."""
        return self._mean(self.sizes if weights is None else weights)

    def _mean(self, weights: Mapping[str, float]) -> float:
        total = sum(weights.get(name, 0) for name in self.values)
        if not total:
            raise Undefined(
                Note("undefined.none-of-groups-defines-the", "none of {n} groups defines the figure", n=len(self.sizes))
            )
        return sum(value * weights.get(name, 0) for name, value in self.values.items()) / total


def by_group(figure: Evenness, scores: Numbers, group: npt.ArrayLike) -> Grouped:
    """A figure of evenness for each group of rows; a group that does not define it is named with the reason.

    >>> found = by_group(dispersion_score, [1, 3, 2, 2, 0, 0], list("aabbcc"))
    >>> found.values, found.missing
    ({'a': 0.5, 'b': 1.0}, {'c': 'the mean of 2 scores is 0'})
    >>> found.mean()
    0.75
    """
    x = column(scores, "scores")
    names, owner = codes(group)
    values: dict[str, float] = {}
    sizes: dict[str, int] = {}
    missing: dict[str, str] = {}
    for place, name in enumerate(map(str, names)):
        group_scores = x[owner == place]
        sizes[name] = len(group_scores)
        try:
            values[name] = figure(group_scores)
        except Undefined as reason:
            missing[name] = str(reason)
    return Grouped(values, sizes, missing)


def counts_by(group: npt.ArrayLike, keep: Bools | None = None) -> dict[str, float]:
    """How many rows each group has among those kept: weights for `Grouped.mean_over_rows`.

    >>> counts_by(["a", "b", "a"], np.array([True, True, False]))
    {'a': 1.0, 'b': 1.0}
    """
    labels = np.asarray(group)
    names, counts = np.unique(labels if keep is None else labels[keep], return_counts=True)
    return {str(name): float(count) for name, count in zip(names, counts, strict=True)}


def _scores(scores: Numbers) -> Floats:
    x = column(scores, "scores")
    if len(x) == 0:
        raise Undefined(Note("undefined.nothing-was-observed", "nothing was observed"))
    return x


def _positive(x: Floats) -> None:
    if x.min() < 0:
        raise Undefined(
            Note(
                "undefined.of-scores-are-negative-normalise",
                "{negative} of {n} scores are negative; normalise the column first",
                negative=int((x < 0).sum()),
                n=len(x),
            )
        )
    if x.sum() == 0:
        raise Undefined(Note("undefined.the-mean-of-scores-is", "the mean of {n} scores is 0", n=len(x)))
