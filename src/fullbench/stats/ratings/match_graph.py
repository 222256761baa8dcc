"""Connected groups of contestants in the match graph; only a connected group has a common scale."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fullbench.stats.array_checks import Floats

Bools = npt.NDArray[np.bool_]


def strong_components(wins: Floats) -> list[list[int]]:
    """Return groups within which everyone has beaten everyone, at least by a chain of wins; largest first.

    >>> strong_components(np.array([[0, 1, 1], [1, 0, 1], [0, 0, 0]]))
    [[0, 1], [2]]
    """
    reachability = _reachability_matrix(wins > 0)
    return _equivalence_groups(reachability & reachability.T)


def weak_components(wins: Floats) -> list[list[int]]:
    """Return groups of contestants linked by a chain of matches; largest first.

    >>> weak_components(np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]]))
    [[0, 1], [2]]
    """
    return _equivalence_groups(_reachability_matrix((wins > 0) | (wins.T > 0)))


def is_reachable(wins: Floats, here: int, there: int) -> bool:
    """True if a chain of wins leads from one contestant down to another.

    >>> is_reachable(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), 0, 2)
    True
    """
    return bool(_reachability_matrix(wins > 0)[here, there])


def _reachability_matrix(links: Bools) -> Bools:
    """Repeated squaring: importing the faster scipy.sparse takes longer than a whole small run."""
    reachability = links | np.eye(len(links), dtype=bool)
    while True:
        # As floats, because numpy uses BLAS for floats but not for booleans.
        further = reachability.astype(np.float32) @ reachability.astype(np.float32) > 0
        if (further == reachability).all():
            return further
        reachability = further


def _equivalence_groups(equivalence: Bools) -> list[list[int]]:
    groups = [np.flatnonzero(row).tolist() for number, row in enumerate(equivalence) if row.argmax() == number]
    return sorted(groups, key=lambda group: (-len(group), group))
