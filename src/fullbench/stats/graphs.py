"""Who met whom, and whether a common scale can be had."""

from __future__ import annotations

import numpy as np

from fullbench.stats.arrays import Floats, Ints


def strong_components(wins: Floats) -> list[list[int]]:
    """Groups of contestants within which everyone has beaten everyone, if only by a chain of wins; largest first.

    >>> strong_components(np.array([[0, 1, 1], [1, 0, 1], [0, 0, 0]]))
    [[0, 1], [2]]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    _, label = connected_components(csr_array(wins > 0), directed=True, connection="strong")
    return _groups(label)


def weak_components(wins: Floats) -> list[list[int]]:
    """Groups of contestants that met each other, if only by a chain of matches; largest first.

    >>> weak_components(np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]]))
    [[0, 1], [2]]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    _, label = connected_components(csr_array(wins > 0), directed=False)
    return _groups(label)


def _groups(label: Ints) -> list[list[int]]:
    groups = [np.flatnonzero(label == component).tolist() for component in range(int(label.max(initial=-1)) + 1)]
    return sorted(groups, key=lambda group: (-len(group), group))
