"""Array types, and the input checks that all statistics share."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from fullbench.core.translatable_note import Note
from fullbench.errors import Undefined

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Numbers = npt.ArrayLike


def finite_column(values: Numbers, name: str = "column") -> Floats:
    """Return the numbers as an array of floats; raise if one is not finite.

    >>> finite_column([1, 2])
    array([1., 2.])
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 0:
        raise ValueError(f"the {name} must be a list of numbers; found the single value {values!r}")
    if not np.isfinite(array).all():
        raise ValueError(f"the {name} holds {int((~np.isfinite(array)).sum())} values that are not finite numbers")
    return array


def finite_columns(*values: Numbers) -> tuple[Floats, ...]:
    """Return several columns as float arrays; raise if their lengths differ."""
    arrays = tuple(finite_column(value) for value in values)
    lengths = {len(array) for array in arrays}
    if len(lengths) > 1:
        raise ValueError(f"the columns must have one length; found {', '.join(str(len(a)) for a in arrays)}")
    return arrays


_BLOCK = 1 << 16


def exact_sum(values: Floats) -> float:
    """Return the sum of the numbers, rounded once, so that it does not depend on their order.

    >>> exact_sum(np.array([0.1] * 10))
    1.0
    """
    # `fsum` is faster on lists of Python floats than on arrays. Blocks keep the memory small.
    blocks = (values[start : start + _BLOCK].tolist() for start in range(0, len(values), _BLOCK))
    return math.fsum(chain.from_iterable(blocks))


def label_codes(labels: npt.ArrayLike) -> tuple[npt.NDArray[Any], Ints]:
    """Return the sorted distinct labels, and the index of each row's label among them.

    >>> [part.tolist() for part in label_codes(["b", "a", "b"])]
    [['a', 'b'], [1, 0, 1]]
    """
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"labels must be one list; found {array.ndim} dimensions")
    if array.dtype.kind in "iu" and len(array) and array.min() >= 0 and int(array.max()) < 4 * len(array) + 1024:
        # Shortcut for small whole numbers: `bincount` avoids the sort of `np.unique`.
        there = np.bincount(array) > 0
        return np.flatnonzero(there).astype(array.dtype), (np.cumsum(there) - 1)[array]
    names, inverse = np.unique(array, return_inverse=True)
    return names, inverse.astype(np.int64)


def match_arrays(
    first: npt.ArrayLike, second: npt.ArrayLike, outcome: Numbers, contestants: int = 0, *, shares: bool = False
) -> tuple[Ints, Ints, Floats, int]:
    """Return matches of contestants 0, 1, 2, ... as arrays, and the number of contestants (at least `contestants`).

    An outcome is 1 if the first won, 0 if it lost, 0.5 for a tie. With `shares` it is any number from 0 to 1.

    >>> match_arrays([0, 2], [1, 1], [1, 0.5])[3]
    3
    """
    firsts, seconds, result, size = narrow_match_arrays(first, second, outcome, contestants, shares=shares)
    return firsts.astype(np.int64), seconds.astype(np.int64), result, size


def narrow_match_arrays(
    first: npt.ArrayLike, second: npt.ArrayLike, outcome: Numbers, contestants: int = 0, *, shares: bool = False
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Floats, int]:
    """Return the same with contestant codes in their original dtype; widen them before arithmetic."""
    firsts, seconds, result = np.asarray(first), np.asarray(second), finite_column(outcome, "outcomes")
    size = count_contestants(firsts, seconds, result, contestants)
    if (firsts == seconds).any():
        raise ValueError(f"a contestant cannot meet itself; {int((firsts == seconds).sum())} matches say so")
    if shares and ((result < 0) | (result > 1)).any():
        raise ValueError("a share of a win lies between 0 and 1")
    if not shares and ((result != 0) & (result != 1) & (result != 0.5)).any():
        raise ValueError("an outcome is 1 (the first won), 0 (it lost) or 0.5 (a tie)")
    return firsts, seconds, result, size


def count_contestants(
    firsts: npt.NDArray[Any], seconds: npt.NDArray[Any], result: npt.NDArray[Any], contestants: int
) -> int:
    """Return the number of contestants (at least `contestants`); raise if there is no match or a bad code.

    Outcomes are not checked here: callers with millions of rows check them while they count.
    """
    if not len(firsts) == len(seconds) == len(result):
        raise ValueError(f"the columns must have one length; found {len(firsts)}, {len(seconds)}, {len(result)}")
    if len(firsts) == 0:
        raise Undefined(Note("undefined.no-match-was-fought"))
    if firsts.dtype.kind not in "iu" or seconds.dtype.kind not in "iu" or min(firsts.min(), seconds.min()) < 0:
        raise ValueError("contestants must be codes 0, 1, 2, ...")
    return max(contestants, int(firsts.max()) + 1, int(seconds.max()) + 1)
