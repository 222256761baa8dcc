"""Verdicts as columns of numbers: the one table that every figure reads, wherever the verdicts lie."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fullbench.core.call import Usage
from fullbench.core.verdict import FAULTS

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

Family = Literal["score", "pair", "ranking"]
FAMILIES: tuple[Family, ...] = ("score", "pair", "ranking")
"""A ruling on one response, a choice among several, an order of several."""

NAMED = ("study", "judge", "criterion", "ballot", "item", "rater", "contestant")
"""The columns that hold places in a list of names."""

STUDY = "default"
"""The study of verdicts that name none."""


@dataclass(frozen=True, slots=True)
class Due:
    """Cases of which a judge's call failed and no verdict came since: how many, under which criterion and ballot.

    `lasting` of them failed for good, such as prompts that are too long: no run asks for them by itself.
    """

    study: str
    judge: str
    criterion: str
    family: Family
    cases: int
    lasting: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """What a judge's calls used in a study that brought no verdict, and how many they are."""

    study: str
    judge: str
    failures: int
    usage: Usage


@dataclass(frozen=True, eq=False)
class Columns:
    """Verdicts in an order of their own, a row each, and the responses that each showed.

    A name is stored as its place in `names`, which are sorted. `case` is a number of 64 bits that stands for the case's
    key. The responses of verdict i are the rows `start[i]` to `start[i + 1]` of `contestant`, `sample` and `mark`, in
    the order shown; marks of a fault are NaN, `fault` is a place in `FAULTS` or -1. `blind` is 1 for a vote that was
    cast blind, 0 for one with names in view, -1 where nobody knows. `probability` is the chance that the case had of
    being chosen, NaN where nobody chose. `cached` are the tokens in that came from a server's cache, NaN where it did
    not say. Numbers take as few bytes as they need, so widen them before arithmetic. `recusals` are the rows that
    recused themselves and said why; `reader` says how replies were read (see `Reader`).
    """

    names: Mapping[str, tuple[str, ...]]
    study: Array
    judge: Array
    criterion: Array
    ballot: Array
    item: Array
    rater: Array
    case: npt.NDArray[np.uint64]
    trial: Array
    revision: Array
    fault: npt.NDArray[np.int8]
    blind: npt.NDArray[np.int8]
    start: Array
    contestant: Array
    sample: Array
    mark: npt.NDArray[np.float64]
    calls: Array
    retries: Array
    reader: Array
    tokens_in: Array
    tokens_out: Array
    dollars: npt.NDArray[np.float64]
    seconds: npt.NDArray[np.float64]
    cached: npt.NDArray[np.float64]
    probability: npt.NDArray[np.float64]
    recusals: Mapping[int, str]
    due: tuple[Due, ...] = ()
    failed: tuple[Failed, ...] = ()

    def __len__(self) -> int:
        return len(self.judge)

    def same(self, other: Columns) -> bool:
        """Whether both hold the same verdicts."""
        return all(_same(getattr(self, one.name), getattr(other, one.name)) for one in fields(self))

    @property
    def shown(self) -> Array:
        """How many responses each verdict showed."""
        sizes: Array = self.start[1:] - self.start[:-1]
        return sizes.astype(np.int32)

    @property
    def family(self) -> npt.NDArray[np.int8]:
        """The family of each verdict's ballot, as a place in `FAMILIES`."""
        kinds = np.array([2 if name == "ranking" else 1 for name in self.names["ballot"]] or [1], dtype=np.int8)
        several = np.not_equal(self.start[1:] - self.start[:-1], 1)
        # In a byte each all along: there are as many as verdicts.
        families: npt.NDArray[np.int8] = np.multiply(of_codes(kinds, self.ballot), several, dtype=np.int8)
        return families

    @property
    def nbytes(self) -> int:
        """The memory of the arrays; a column with the same value in every row takes that of one."""
        arrays = (value for one in fields(self) if isinstance(value := getattr(self, one.name), np.ndarray))
        return sum(value.itemsize if is_constant(value) else value.nbytes for value in arrays)

    def judges(self) -> list[str]:
        """The judges that have a verdict here."""
        return [self.names["judge"][code] for code in np.unique(self.judge)]

    def rows(self, chosen: Bools | Ints) -> Columns:
        """Some of the verdicts (by a mask, or by their numbers in rising order) under the same names; what is due or
        failed stays."""
        index = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen
        if len(index) == len(self):
            return self
        first = self.start[index]
        sizes = self.start[index + 1] - first
        start = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(self.start.dtype)
        shown = spread(first, sizes)
        kept: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in {"contestant", "sample", "mark"}:
                kept[one.name] = taken(value, shown)
            elif isinstance(value, np.ndarray) and one.name != "start":
                kept[one.name] = taken(value, index)
        if self.recusals:
            place = {int(row): number for number, row in enumerate(index)}
            kept["recusals"] = {place[row]: text for row, text in self.recusals.items() if row in place}
        return replace(self, start=start, **kept)

    def without_usage(self) -> Columns:
        """The same rulings without tokens, seconds and prices: nearly half of the memory, for which only costs ask."""
        zero, unknown = np.broadcast_to(np.uint8(0), len(self)), np.broadcast_to(np.nan, len(self))
        seconds = np.broadcast_to(np.float64(0), len(self))
        return replace(self, tokens_in=zero, tokens_out=zero, seconds=seconds, dollars=unknown, cached=unknown)

    def of(self, **named: str | Sequence[str] | None) -> Columns:
        """The verdicts whose study, judge, criterion, ballot, item or rater has one of these names; None: any."""
        chosen = np.ones(len(self), dtype=np.bool_)
        due, failed = self.due, self.failed
        for column, value in named.items():
            if value is None:
                continue
            wanted = {value} if isinstance(value, str) else set(value)
            known = np.array([name in wanted for name in self.names[column]] or [False])
            chosen &= of_codes(known, getattr(self, column))
            if column in {"study", "judge", "criterion"}:
                due = tuple(one for one in due if getattr(one, column) in wanted)
            if column in {"study", "judge"}:
                failed = tuple(one for one in failed if getattr(one, column) in wanted)
        return replace(self.rows(chosen), due=due, failed=failed)

    def by(self, *columns: str) -> Iterator[tuple[tuple[str, ...], Columns]]:
        """The verdicts of each combination of study, judge, criterion or family, in sorted order."""
        values = [getattr(self, column) for column in columns]
        code, places = grouped(*values)
        if len(places) == 1:
            del code
            yield self._named(columns, values, places[0]), self
            return
        bounds = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=len(places)))])
        # Numbers of 16 bits are sorted by counting.
        small = code.astype(np.uint16) if len(places) < 1 << 16 else code
        del code
        narrow = np.uint32 if len(self) < 1 << 32 else np.int64
        # Verdicts mostly lie judge by judge already: then there is no order to keep beside them.
        in_order = bool((small[1:] >= small[:-1]).all())
        order = None if in_order else np.argsort(small, kind="stable").astype(narrow)
        names = [self._named(columns, values, first) for first in places]
        del small, values
        for number, named in enumerate(names):
            begin, end = int(bounds[number]), int(bounds[number + 1])
            index = np.arange(begin, end) if order is None else order[begin:end].astype(np.int64)
            yield named, self.rows(index)

    def _named(self, columns: Sequence[str], values: Sequence[Array], row: int) -> tuple[str, ...]:
        """The names that a row has in some columns."""
        return tuple(
            FAMILIES[value[row]] if column == "family" else self.names[column][value[row]]
            for column, value in zip(columns, values, strict=True)
        )

    def latest(self) -> Columns:
        """Without the votes that their rater changed later."""
        if not len(self) or not self.revision.any():
            return self
        code, places = grouped(self.study, self.judge, self.rater, self.case, self.trial)
        newest = np.zeros(len(places), dtype=np.int64)
        np.maximum.at(newest, code, self.revision.astype(np.int64))
        return self.rows(self.revision == newest[code])

    def meeting_themselves(self) -> Bools:
        """Which verdicts show a contestant twice. No table counts them."""
        twice = np.zeros(len(self), dtype=np.bool_)
        sizes = self.shown
        for size in np.unique(sizes[sizes > 1]):
            index = np.flatnonzero(sizes == size)
            at = self.start[index]
            if size == 2:
                twice[index] = self.contestant[at] == self.contestant[at + 1]
                continue
            names = np.sort(self.contestant[at[:, None] + np.arange(size)], axis=1)
            twice[index] = (names[:, 1:] == names[:, :-1]).any(axis=1)
        return twice

    def faults(self) -> dict[str, int]:
        """How many verdicts there are, and how many are which fault."""
        counts = np.bincount(self.fault.astype(np.int64) + 1, minlength=len(FAULTS) + 1)
        return {"verdicts": len(self), **{fault: int(counts[place + 1]) for place, fault in enumerate(FAULTS)}}


def grouped(*columns: Array) -> tuple[Ints, Ints]:
    """The group of each row, numbered in the order of the columns' values, and a row of each group.

    >>> [part.tolist() for part in grouped(np.array([2, 1, 2]), np.array([0, 5, 0]))]
    [[1, 0, 1], [1, 0]]
    """
    if not len(columns[0]):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    # A copy: what comes next is added to it in place.
    return _numbered(reduce(_paired, columns[1:], _compact(columns[0]).astype(np.int64)))


def _numbered(code: Ints) -> tuple[Ints, Ints]:
    """Groups numbered without gaps, in place of the codes, and the first row of each; by counting where the numbers are
    small.

    Counting takes memory for every number that there could be, sorting for every row that there is.
    """
    size = int(code.max()) + 1
    if size > 4 * len(code) + 1024:
        return _sorted(code)
    first = np.full(size, -1, dtype=_narrow(len(code)))
    first[code[::-1]] = np.arange(len(code) - 1, -1, -1, dtype=first.dtype)
    there = first >= 0
    rows = first[there].astype(np.int64)
    number = np.cumsum(there, dtype=first.dtype, out=first)
    # In place: nobody needs the codes any more, and there are as many of them as rows.
    code[:] = number[code]
    code -= 1
    return code, rows


def _sorted(values: Array) -> tuple[Ints, Ints]:
    """The place of each row's value among the sorted values, and the first row of each; by sorting.

    As `np.unique` does it, in a third of the memory. What is no number is one value.
    """
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    new = np.empty(len(values), dtype=np.bool_)
    new[0] = True
    np.not_equal(ranked[1:], ranked[:-1], out=new[1:])
    if values.dtype.kind == "f":
        new[1:] &= ~(np.isnan(ranked[1:]) & np.isnan(ranked[:-1]))
    del ranked
    number = np.cumsum(new, dtype=_narrow(len(values))) - 1
    places = np.empty(len(values), dtype=np.int64)
    places[order] = number
    return places, order[new].astype(np.int64)


def _narrow(count: int) -> np.dtype[Any]:
    """Enough bytes for the numbers of so many rows."""
    return np.dtype(np.int32 if count < 1 << 31 else np.int64)


_DENSE = 1 << 40


def _compact(values: Array) -> Array:
    """Whole numbers from zero in the same order, without sorting where they are small already."""
    if is_constant(values):
        return np.broadcast_to(np.uint8(0), len(values))
    if values.dtype.kind in "iu" and values.min() >= 0 and (values.dtype.itemsize < 8 or values.max() < 1 << 32):
        return values
    return _sorted(values)[0]


def _paired(code: Ints, values: Array) -> Ints:
    """One number for two that keeps their order, in place of the first; compacted before it could overflow."""
    other = _compact(values)
    size = int(other.max()) + 1
    if size == 1:
        return code
    if (int(code.max()) + 1) * size > _DENSE:
        code, other = _numbered(code)[0], _numbered(other.astype(np.int64))[0]
        size = int(other.max()) + 1
    code *= size
    np.add(code, other, out=code, casting="same_kind")
    return code


def reals(values: Any) -> Array:
    """A column of numbers; a price, a count or a chance of being chosen that is not known is none, and becomes NaN."""
    if isinstance(values, tuple) and values.count(None) == len(values):  # which numpy is slow to make NaN of
        return np.full(len(values), np.nan)
    return np.asarray(values, dtype=np.float64)


def is_constant(values: Array) -> bool:
    """Whether a column is stored as the one value that all of its rows have."""
    return values.ndim == 1 and len(values) > 1 and values.strides == (0,)


_BLOCK = 1 << 17


def of_codes(values: Array, codes: Array) -> Array:
    """The value of each row's code. By the block: numpy makes eight bytes of every index that it is given."""
    if is_constant(codes):
        return np.broadcast_to(values[codes[0]], len(codes))
    looked_up = np.empty(len(codes), dtype=values.dtype)
    for start in range(0, len(codes), _BLOCK):
        looked_up[start : start + _BLOCK] = values[codes[start : start + _BLOCK]]
    return looked_up


def taken(values: Array, index: Array) -> Array:
    """Some rows of a column; of one that is the same in every row, one value still."""
    return np.broadcast_to(values[:1], len(index)) if is_constant(values) and len(index) else values[index]


def spread(start: Array, sizes: Array) -> Array:
    """The places start, start + 1, ... of each row, as many as its size, one row after the other.

    >>> spread(np.array([5, 0]), np.array([2, 1])).tolist()
    [5, 6, 0]
    """
    total = int(sizes.sum(dtype=np.int64))
    if total == len(sizes) and (sizes == 1).all():
        return start
    narrow = _narrow(max(total, int(start.max(initial=0))))
    before = start.astype(narrow)
    np.subtract(before, np.cumsum(sizes, dtype=narrow), out=before)
    np.add(before, sizes.astype(narrow, copy=False), out=before)
    places: Array = np.repeat(before, sizes)
    return np.add(places, np.arange(total, dtype=narrow), out=places)


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and np.array_equal(one, two, equal_nan=one.dtype.kind == "f")
    return bool(one == two)
