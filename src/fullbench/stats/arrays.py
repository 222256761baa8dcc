"""Arrays: the types, and the checks that every statistic makes of what it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Numbers = npt.ArrayLike


def column(values: Numbers, name: str = "column") -> Floats:
    """Numbers as an array of floats; anything not finite is refused.

    >>> column([1, 2])
    array([1., 2.])
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0:
        raise ValueError(f"the {name} must be a list of numbers; found the single value {values!r}")
    if not np.isfinite(array).all():
        raise ValueError(f"the {name} holds {int((~np.isfinite(array)).sum())} values that are not finite numbers")
    return array


def columns(*values: Numbers) -> tuple[Floats, ...]:
    """Several columns of one length."""
    arrays = tuple(column(value) for value in values)
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        raise ValueError(f"the columns must have one length; found {', '.join(str(len(a)) for a in arrays)}")
    return arrays


def codes(labels: npt.ArrayLike) -> tuple[npt.NDArray[Any], Ints]:
    """The distinct labels, sorted, and each row's place among them.

    >>> [part.tolist() for part in codes(["b", "a", "b"])]
    [['a', 'b'], [1, 0, 1]]
    """
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"labels must be one list; found {array.ndim} dimensions")
    names, inverse = np.unique(array, return_inverse=True)
    return names, inverse.astype(np.int64)
