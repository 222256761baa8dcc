"""Who met whom, and whether a common scale can be had."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fullbench.stats.array_checks import Floats

Bools = npt.NDArray[np.bool_]


def strong_components(wins: Floats) -> list[list[int]]:
    """Groups of contestants within which everyone has beaten everyone, if only by a chain of wins; largest first.

    >>> strong_components(np.array([[0, 1, 1], [1, 0, 1], [0, 0, 0]]))
    [[0, 1], [2]]
    """
    reached = _reached(wins > 0)
    return _groups(reached & reached.T)


def weak_components(wins: Floats) -> list[list[int]]:
    """Groups of contestants that met each other, if only by a chain of matches; largest first.

    >>> weak_components(np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]]))
    [[0, 1], [2]]
    """
    return _groups(_reached((wins > 0) | (wins.T > 0)))


def reachable(wins: Floats, here: int, there: int) -> bool:
    """Whether a chain of wins leads from one contestant down to another.

    >>> reachable(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), 0, 2)
    True
    """
    return bool(_reached(wins > 0)[here, there])


def _reached(linked: Bools) -> Bools:
    """Who can be reached from whom: squared until nothing is added, so a chain of n links takes log n products.

    scipy.sparse would do it in less time for thousands of contestants; to load it takes longer than all of a small run.
    """
    reached = linked | np.eye(len(linked), dtype=bool)
    while True:
        # As numbers, since numpy multiplies those with BLAS and truth values without.
        further = reached.astype(np.float32) @ reached.astype(np.float32) > 0
        if (further == reached).all():
            return further
        reached = further


def _groups(alike: Bools) -> list[list[int]]:
    """The groups of an equivalence: rows that are the same."""
    groups = [np.flatnonzero(row).tolist() for number, row in enumerate(alike) if row.argmax() == number]
    return sorted(groups, key=lambda group: (-len(group), group))
