"""Evenness of scores within groups that should be scored alike: near pairs, Gini, relative spread.

These are three metrics of MJ-Bench (Chen et al. 2024, arXiv:2407.04842, section 3.2). Each is 1 if all scores are
equal, and for a single score: the share of pairs close to each other, one minus the Gini coefficient, and one minus
the relative spread. The last two divide by the mean, so they depend on the position of zero: rescaling a column to run
from 0 to 1 changes them. They are undefined for negative scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Numbers, finite_column, label_codes

Evenness = Callable[[Numbers], float]
# rows compared with all others at a time; all pairs at once would need n squared memory
_BLOCK = 2048


def near_pairs(scores: Numbers, threshold: float = 0.1) -> float:
    """Return the share of pairs whose scores differ by at most the threshold (the paper's ACC).

    >>> round(near_pairs([0.1, 0.15, 0.5]), 4)
    0.3333
    """
    x = _nonempty_scores(scores)
    n = len(x)
    if n == 1:
        return 1.0
    near = sum(int((np.abs(x[at : at + _BLOCK, None] - x[None, :]) <= threshold).sum()) for at in range(0, n, _BLOCK))
    return (near - n) / (n * (n - 1))


def gini_coefficient(scores: Numbers) -> float:
    """Return the Gini coefficient: the mean absolute difference of all ordered pairs, over twice the mean.

    >>> gini_coefficient([1, 1, 1]), gini_coefficient([0, 0, 0, 4])
    (0.0, 0.75)
    """
    x = np.sort(_nonempty_scores(scores))
    _require_positive(x)
    n = len(x)
    places = 2 * np.arange(1, n + 1) - n - 1
    return float((places * x).sum() / (n * x.sum()))


def gini_equality(scores: Numbers) -> float:
    """Return one minus the Gini coefficient (the paper's GES).

    >>> gini_equality([0, 0, 0, 4])
    0.25
    """
    return 1 - gini_coefficient(scores)


def dispersion_score(scores: Numbers) -> float:
    """Return one minus the standard deviation over the mean (the paper's NDS); may be negative.

    >>> dispersion_score([1, 3])
    0.5
    """
    x = _nonempty_scores(scores)
    _require_positive(x)
    return 1 - float(x.std() / x.mean())


@dataclass(frozen=True)
class GroupValues:
    """A metric for each group, the size of each group, and the reason for each undefined value."""

    values: Mapping[str, float]
    sizes: Mapping[str, int]
    missing: Mapping[str, str]

    def mean(self) -> float:
        """Return the plain mean: each group counts once."""
        return self._mean(dict.fromkeys(self.values, 1.0))

    def mean_over_rows(self, weights: Mapping[str, float] | None = None) -> float:
        """Return the mean weighted by the rows of each group, or by `weights`."""
        return self._mean(self.sizes if weights is None else weights)

    def _mean(self, weights: Mapping[str, float]) -> float:
        total = sum(weights.get(name, 0) for name in self.values)
        if not total:
            raise Undefined(Note("undefined.none-of-groups-defines-the", n=len(self.sizes)))
        return sum(value * weights.get(name, 0) for name, value in self.values.items()) / total


def by_group(value: Evenness, scores: Numbers, group: npt.ArrayLike) -> GroupValues:
    """Compute an evenness metric for each group of rows, with a reason for each group where it is undefined.

    >>> found = by_group(dispersion_score, [1, 3, 2, 2, 0, 0], list("aabbcc"))
    >>> found.values, found.missing
    ({'a': 0.5, 'b': 1.0}, {'c': 'the mean of 2 scores is 0'})
    >>> found.mean()
    0.75
    """
    x = finite_column(scores, "scores")
    names, owner = label_codes(group)
    values: dict[str, float] = {}
    sizes: dict[str, int] = {}
    missing: dict[str, str] = {}
    for place, name in enumerate(map(str, names)):
        group_scores = x[owner == place]
        sizes[name] = len(group_scores)
        try:
            values[name] = value(group_scores)
        except Undefined as reason:
            missing[name] = str(reason)
    return GroupValues(values, sizes, missing)


def counts_by(group: npt.ArrayLike, keep: Bools | None = None) -> dict[str, float]:
    """Return the number of kept rows of each group, as weights for `GroupValues.mean_over_rows`.

    >>> counts_by(["a", "b", "a"], np.array([True, True, False]))
    {'a': 1.0, 'b': 1.0}
    """
    labels = np.asarray(group)
    names, counts = np.unique(labels if keep is None else labels[keep], return_counts=True)
    return {str(name): float(count) for name, count in zip(names, counts, strict=True)}


def _nonempty_scores(scores: Numbers) -> Floats:
    x = finite_column(scores, "scores")
    if len(x) == 0:
        raise Undefined(Note("undefined.nothing-was-observed"))
    return x


def _require_positive(x: Floats) -> None:
    if x.min() < 0:
        raise Undefined(Note("undefined.of-scores-are-negative-normalise", negative=int((x < 0).sum()), n=len(x)))
    if x.sum() == 0:
        raise Undefined(Note("undefined.the-mean-of-scores-is", n=len(x)))
