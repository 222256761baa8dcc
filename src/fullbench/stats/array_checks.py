"""Arrays: the types, and the checks that every statistic makes of what it is given."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from fullbench.core.note import Note
from fullbench.errors import Undefined

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


_BLOCK = 1 << 16


def exact_sum(values: Floats) -> float:
    """The sum of the numbers, rounded once: it does not depend on their order.

    >>> exact_sum(np.array([0.1] * 10))
    1.0
    """
    # Lists of Python's numbers are summed faster than arrays, and a block of them at a time takes little memory.
    blocks = (values[start : start + _BLOCK].tolist() for start in range(0, len(values), _BLOCK))
    return math.fsum(chain.from_iterable(blocks))


def codes(labels: npt.ArrayLike) -> tuple[npt.NDArray[Any], Ints]:
    """The distinct labels, sorted, and each row's place among them.

    >>> [part.tolist() for part in codes(["b", "a", "b"])]
    [['a', 'b'], [1, 0, 1]]
    """
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ValueError(f"labels must be one list; found {array.ndim} dimensions")
    if array.dtype.kind in "iu" and len(array) and array.min() >= 0 and int(array.max()) < 4 * len(array) + 1024:
        # Small whole numbers need no sorting.
        there = np.bincount(array) > 0
        return np.flatnonzero(there).astype(array.dtype), (np.cumsum(there) - 1)[array]
    names, inverse = np.unique(array, return_inverse=True)
    return names, inverse.astype(np.int64)


def duels(
    first: npt.ArrayLike, second: npt.ArrayLike, outcome: Numbers, contestants: int = 0, *, shares: bool = False
) -> tuple[Ints, Ints, Floats, int]:
    """Duels of contestants 0, 1, 2, ... as arrays, and how many contestants there are, `contestants` at least.

    An outcome is 1 when the first won, 0 when it lost, 0.5 for a tie; with `shares`, anything between 0 and 1.

    >>> duels([0, 2], [1, 1], [1, 0.5])[3]
    3
    """
    firsts, seconds, result, size = narrow_duels(first, second, outcome, contestants, shares=shares)
    return firsts.astype(np.int64), seconds.astype(np.int64), result, size


def narrow_duels(
    first: npt.ArrayLike, second: npt.ArrayLike, outcome: Numbers, contestants: int = 0, *, shares: bool = False
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Floats, int]:
    """The same, contestants in as many bytes as they came: to be widened before arithmetic."""
    firsts, seconds, result = np.asarray(first), np.asarray(second), column(outcome, "outcomes")
    size = coded(firsts, seconds, result, contestants)
    if (firsts == seconds).any():
        raise ValueError(f"a contestant cannot meet itself; {int((firsts == seconds).sum())} duels say so")
    if shares and ((result < 0) | (result > 1)).any():
        raise ValueError("a share of a win lies between 0 and 1")
    if not shares and ((result != 0) & (result != 1) & (result != 0.5)).any():
        raise ValueError("an outcome is 1 (the first won), 0 (it lost) or 0.5 (a tie)")
    return firsts, seconds, result, size


def coded(firsts: npt.NDArray[Any], seconds: npt.NDArray[Any], result: npt.NDArray[Any], contestants: int) -> int:
    """How many contestants duels have, `contestants` at least; refused where they are not numbered, or nobody met.

    It looks at no outcome: millions of rows are looked at once, by whoever counts them.
    """
    if not len(firsts) == len(seconds) == len(result):
        raise ValueError(f"the columns must have one length; found {len(firsts)}, {len(seconds)}, {len(result)}")
    if len(firsts) == 0:
        raise Undefined(Note("undefined.no-duel-was-fought", "no duel was fought"))
    if firsts.dtype.kind not in "iu" or seconds.dtype.kind not in "iu" or min(firsts.min(), seconds.min()) < 0:
        raise ValueError("contestants must be codes 0, 1, 2, ...")
    return max(contestants, int(firsts.max()) + 1, int(seconds.max()) + 1)
