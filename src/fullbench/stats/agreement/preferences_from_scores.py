"""Preferences derived from two scores: outcomes, margins and accuracy.

A score model marks two pictures separately, and the one with the higher score is preferred. Scores closer than a
margin tie. Results depend on whether a tie counts as wrong or is left out, so that choice is always explicit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Numbers, finite_column, finite_columns
from fullbench.stats.intervals.bootstrap_and_jackknife import Labels
from fullbench.stats.intervals.share_intervals import share_estimate

Ties = Literal["wrong", "left out"]


def min_max(values: Numbers) -> Floats:
    """Return the column rescaled to run from 0 to 1; raise `Undefined` if it is constant.

    >>> min_max([2, 4, 3]).tolist()
    [0.0, 1.0, 0.5]
    """
    scores = finite_column(values, "scores")
    if len(scores) == 0:
        raise Undefined(Note("undefined.nothing-was-observed"))
    low, high = scores.min(), scores.max()
    if low == high:
        raise Undefined(Note("undefined.the-column-is-constant-in", low=low, n=len(scores)))
    normalised_scores: Floats = (scores - low) / (high - low)
    return normalised_scores


def normalised_pairs(first: Numbers, second: Numbers) -> tuple[Floats, Floats]:
    """Rescale two columns of scores by one judge together, to run from 0 to 1.

    >>> [part.tolist() for part in normalised_pairs([1, 3], [5, 2])]
    [[0.0, 0.5], [1.0, 0.25]]
    """
    firsts, seconds = finite_columns(first, second)
    both = min_max(np.concatenate([firsts, seconds]))
    return both[: len(firsts)], both[len(firsts) :]


def pair_outcomes(first: Numbers, second: Numbers, *, margin: float = 0.0) -> Floats:
    """Return 1 if the first is ahead by more than the margin, 0 if the second is, 0.5 for a tie.

    >>> pair_outcomes([3, 1, 2], [1, 3, 2.1], margin=0.2).tolist()
    [1.0, 0.0, 0.5]
    """
    firsts, seconds = finite_columns(first, second)
    if margin < 0:
        raise ValueError(f"a margin is 0 or more; found {margin}")
    difference = firsts - seconds
    return np.where(difference > margin, 1.0, np.where(difference < -margin, 0.0, 0.5))


def preference_accuracy(
    better: Numbers,
    worse: Numbers,
    *,
    margin: float = 0.0,
    ties: Ties = "wrong",
    cluster: Labels | None = None,
) -> Estimate:
    """Return how often the better one of a pair is ahead by more than the margin; ties are wrong, or left out.

    >>> print(preference_accuracy([3, 1, 2, 5], [1, 3, 2, 4]))
    0.500 [0.150, 0.850] n=4
    >>> round(preference_accuracy([3, 1, 2, 5], [1, 3, 2, 4], ties="left out").value, 4)
    0.6667
    """
    results = pair_outcomes(better, worse, margin=margin)
    keep = np.ones(len(results), dtype=bool) if ties == "wrong" else results != 0.5
    if not keep.any():
        raise Undefined(
            Note("undefined.no-pair-was-compared")
            if not len(results)
            else Note("undefined.all-pairs-tie", n=len(results))
        )
    label = None if cluster is None else np.asarray(cluster)[keep]
    return share_estimate((results[keep] == 1.0).astype(float), cluster=label)


def decisive_mask(verdicts: Sequence[str | None], labels: Sequence[str] = ("0", "1")) -> Bools:
    """Return a mask of the verdicts that choose one of the two: no tie and no missing verdict.

    >>> decisive_mask(["0", "tie", None, "1"]).tolist()
    [True, False, False, True]
    """
    return np.array([verdict in labels for verdict in verdicts], dtype=bool)
