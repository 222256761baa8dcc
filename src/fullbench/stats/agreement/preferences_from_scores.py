"""Preferences from two scores: who is ahead, by how much, and how often that is right.

A score model marks two pictures apart; the one with more is preferred. Scores closer than a margin tie. Whether a tie
is wrong or left out changes the figure, so it is always said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from fullbench.core.estimate import Estimate
from fullbench.core.note import Note
from fullbench.errors import Undefined
from fullbench.stats.array_checks import Bools, Floats, Numbers, column, columns
from fullbench.stats.intervals.bootstrap import Labels
from fullbench.stats.intervals.share_intervals import share

Ties = Literal["wrong", "left out"]


def min_max(values: Numbers) -> Floats:
    """A column stretched to run from 0 to 1. A constant column has no such form.

    >>> min_max([2, 4, 3]).tolist()
    [0.0, 1.0, 0.5]
    """
    scores = column(values, "scores")
    if len(scores) == 0:
        raise Undefined(Note("undefined.nothing-was-observed", "nothing was observed"))
    low, high = scores.min(), scores.max()
    if low == high:
        raise Undefined(
            Note(
                "undefined.the-column-is-constant-in",
                "the column is constant ({low:g} in all {n} rows) and cannot be normalised",
                low=low,
                n=len(scores),
            )
        )
    stretched: Floats = (scores - low) / (high - low)
    return stretched


def normalised_pairs(first: Numbers, second: Numbers) -> tuple[Floats, Floats]:
    """Two columns of scores by one judge, stretched together to run from 0 to 1.

    >>> [part.tolist() for part in normalised_pairs([1, 3], [5, 2])]
    [[0.0, 0.5], [1.0, 0.25]]
    """
    firsts, seconds = columns(first, second)
    both = min_max(np.concatenate([firsts, seconds]))
    return both[: len(firsts)], both[len(firsts) :]


def outcomes(first: Numbers, second: Numbers, *, margin: float = 0.0) -> Floats:
    """1 where the first is ahead by more than the margin, 0 where the second is, 0.5 for a tie.

    >>> outcomes([3, 1, 2], [1, 3, 2.1], margin=0.2).tolist()
    [1.0, 0.0, 0.5]
    """
    firsts, seconds = columns(first, second)
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
    """How often the better one of a pair is ahead by more than the margin; ties are wrong, or left out.

    >>> print(preference_accuracy([3, 1, 2, 5], [1, 3, 2, 4]))
    0.500 [0.150, 0.850] n=4
    >>> round(preference_accuracy([3, 1, 2, 5], [1, 3, 2, 4], ties="left out").value, 4)
    0.6667
    """
    results = outcomes(better, worse, margin=margin)
    keep = np.ones(len(results), dtype=bool) if ties == "wrong" else results != 0.5
    if not keep.any():
        raise Undefined(
            Note("undefined.no-pair-was-compared", "no pair was compared")
            if not len(results)
            else Note("undefined.all-pairs-tie", "all {n} pairs tie", n=len(results))
        )
    label = None if cluster is None else np.asarray(cluster)[keep]
    return share((results[keep] == 1.0).astype(float), cluster=label)


def threshold_curve(
    better: Numbers, worse: Numbers, margins: Sequence[float], *, ties: Ties = "wrong"
) -> list[Estimate | None]:
    """The accuracy at each margin; None where every pair ties and ties are left out.

    >>> [found.value if found else None for found in threshold_curve([3, 1], [1, 2], [0, 1.5, 5], ties="left out")]
    [0.5, 1.0, None]
    """
    curve: list[Estimate | None] = []
    for margin in margins:
        try:
            curve.append(preference_accuracy(better, worse, margin=margin, ties=ties))
        except Undefined:
            curve.append(None)
    return curve


def decided(rulings: Sequence[str | None], labels: Sequence[str] = ("0", "1")) -> Bools:
    """Which rulings name one of the two, and are neither a tie nor nothing.

    >>> decided(["0", "tie", None, "1"]).tolist()
    [True, False, False, True]
    """
    return np.array([ruling in labels for ruling in rulings], dtype=bool)
