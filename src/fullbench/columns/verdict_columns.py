"""Verdicts as columns of numbers: the table that all analyses read, from any store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fullbench.core.model_call import Usage
from fullbench.core.verdict import FAULTS, READINGS_BY_NUMBER, ReplyReading

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

Family = Literal["score", "pair", "ranking"]
FAMILIES: tuple[Family, ...] = ("score", "pair", "ranking")
"""A mark for one response, a choice among several, a ranking of several."""

NAME_COLUMNS = ("study", "judge", "criterion", "ballot", "item", "rater", "contestant")
"""Columns that hold indices into `names`."""

STUDY = "default"
"""Study of verdicts without one."""


@dataclass(frozen=True, slots=True)
class Due:
    """Number of cases whose call failed and that have no verdict yet, per criterion and ballot family.
    `lasting` of them failed for good, such as prompts that are too long. Runs do not retry these on their own.
    """

    study: str
    judge: str
    criterion: str
    family: Family
    cases: int
    lasting: int = 0


@dataclass(frozen=True, slots=True)
class FailedCalls:
    """Number and usage of a judge's calls in a study that gave no verdict."""

    study: str
    judge: str
    failures: int
    usage: Usage


@dataclass(frozen=True, eq=False)
class Columns:
    """Verdicts in a canonical order, one per row, and the responses that each showed.

    A name is stored as its index in `names`, which is sorted. `case` is a 64-bit number for the key of the case. The
    responses of verdict i are the rows `start[i]` to `start[i + 1]` of `contestant`, `sample` and `mark`, in the order
    shown. `fault` is an index into `FAULTS`, or -1; marks of unusable verdicts are NaN. `blind` is 1 for a blind vote,
    0 for one with names visible, -1 if unknown. `probability` is the selection probability of the case, NaN if it was
    not drawn. `cached` is the number of input tokens from a server's cache, NaN if not reported. `abstentions` are
    rows that abstained with a reason. `reader` is the number of a `ReplyReading`: `reading_mask` finds the
    rows with some property. Integers have the
    smallest sufficient dtype, so widen them before arithmetic.
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
    abstentions: Mapping[int, str]
    due: tuple[Due, ...] = ()
    failed_calls: tuple[FailedCalls, ...] = ()

    def __len__(self) -> int:
        return len(self.judge)

    def has_same_verdicts(self, other_columns: Columns) -> bool:
        """Return True if both hold the same verdicts."""
        return all(_is_equal(getattr(self, field.name), getattr(other_columns, field.name)) for field in fields(self))

    @property
    def response_counts(self) -> Array:
        """Number of responses that each verdict showed."""
        sizes: Array = self.start[1:] - self.start[:-1]
        return sizes.astype(np.int32)

    @property
    def family(self) -> npt.NDArray[np.int8]:
        """Family of each verdict's ballot, as an index into `FAMILIES`."""
        kinds = np.array([2 if name == "ranking" else 1 for name in self.names["ballot"]] or [1], dtype=np.int8)
        several = np.not_equal(self.start[1:] - self.start[:-1], 1)
        # One byte per value throughout, because there is one per verdict.
        families: npt.NDArray[np.int8] = np.multiply(values_of_codes(kinds, self.ballot), several, dtype=np.int8)
        return families

    def reading_mask(self, has_property: Callable[[ReplyReading], object]) -> Bools:
        """Return a mask of verdicts whose reply was read in a certain way."""
        numbers = [number for number, reading in READINGS_BY_NUMBER.items() if has_property(reading)]
        table = np.zeros(max(READINGS_BY_NUMBER) + 1, dtype=np.bool_)
        table[numbers] = True
        return values_of_codes(table, self.reader)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays in bytes. A constant column counts as one value."""
        arrays = (value for field in fields(self) if isinstance(value := getattr(self, field.name), np.ndarray))
        return sum(value.itemsize if is_constant(value) else value.nbytes for value in arrays)

    def judges(self) -> list[str]:
        """Return the judges that have a verdict."""
        return [self.names["judge"][code] for code in np.unique(self.judge)]

    def rows(self, selection: Bools | Ints) -> Columns:
        """Return some verdicts, by mask or ascending row numbers; names, due cases and failed calls stay."""
        index = np.flatnonzero(selection) if selection.dtype == np.bool_ else selection
        if len(index) == len(self):
            return self
        first = self.start[index]
        sizes = self.start[index + 1] - first
        start = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(self.start.dtype)
        response_rows = expand_ranges(first, sizes)
        arrays: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in {"contestant", "sample", "mark"}:
                arrays[field.name] = take_rows(value, response_rows)
            elif isinstance(value, np.ndarray) and field.name != "start":
                arrays[field.name] = take_rows(value, index)
        if self.abstentions:
            place = {int(row): number for number, row in enumerate(index)}
            arrays["abstentions"] = {place[row]: text for row, text in self.abstentions.items() if row in place}
        return replace(self, start=start, **arrays)

    def without_usage(self) -> Columns:
        """Return the verdicts without tokens, seconds and prices: nearly half of the memory, needed only for costs."""
        zero, unknown = np.broadcast_to(np.uint8(0), len(self)), np.broadcast_to(np.nan, len(self))
        seconds = np.broadcast_to(np.float64(0), len(self))
        return replace(self, tokens_in=zero, tokens_out=zero, seconds=seconds, dollars=unknown, cached=unknown)

    def where(self, **filters: str | Sequence[str] | None) -> Columns:
        """Return the verdicts with one of these names of study, judge, criterion, ballot, item or rater; None: any."""
        selection = np.ones(len(self), dtype=np.bool_)
        due, failed_calls = self.due, self.failed_calls
        for column, value in filters.items():
            if value is None:
                continue
            allowed_names = {value} if isinstance(value, str) else set(value)
            is_allowed = np.array([name in allowed_names for name in self.names[column]] or [False])
            selection &= values_of_codes(is_allowed, getattr(self, column))
            if column in {"study", "judge", "criterion"}:
                due = tuple(entry for entry in due if getattr(entry, column) in allowed_names)
            if column in {"study", "judge"}:
                failed_calls = tuple(entry for entry in failed_calls if getattr(entry, column) in allowed_names)
        return replace(self.rows(selection), due=due, failed_calls=failed_calls)

    def by(self, *columns: str) -> Iterator[tuple[tuple[str, ...], Columns]]:
        """Yield the verdicts of each combination of study, judge, criterion or family, in sorted order."""
        values = [getattr(self, column) for column in columns]
        code, places = group_rows(*values)
        if len(places) == 1:
            del code
            yield self._names_in_row(columns, values, places[0]), self
            return
        bounds = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=len(places)))])
        # numpy sorts 16-bit integers by radix sort, which is faster.
        small = code.astype(np.uint16) if len(places) < 1 << 16 else code
        del code
        narrow = np.uint32 if len(self) < 1 << 32 else np.int64
        # Verdicts are mostly sorted by judge already; then no index array is needed.
        in_order = bool((small[1:] >= small[:-1]).all())
        order = None if in_order else np.argsort(small, kind="stable").astype(narrow)
        names = [self._names_in_row(columns, values, first) for first in places]
        del small, values
        for number, group_names in enumerate(names):
            begin, end = int(bounds[number]), int(bounds[number + 1])
            index = np.arange(begin, end) if order is None else order[begin:end].astype(np.int64)
            yield group_names, self.rows(index)

    def _names_in_row(self, columns: Sequence[str], values: Sequence[Array], row: int) -> tuple[str, ...]:
        return tuple(
            FAMILIES[value[row]] if column == "family" else self.names[column][value[row]]
            for column, value in zip(columns, values, strict=True)
        )

    def latest(self) -> Columns:
        """Return the verdicts without votes that their rater changed later."""
        if not len(self) or not self.revision.any():
            return self
        code, places = group_rows(self.study, self.judge, self.rater, self.case, self.trial)
        newest = np.zeros(len(places), dtype=np.int64)
        np.maximum.at(newest, code, self.revision.astype(np.int64))
        return self.rows(self.revision == newest[code])

    def self_matches(self) -> Bools:
        """Return a mask of verdicts that show a contestant twice. No table counts them."""
        twice = np.zeros(len(self), dtype=np.bool_)
        sizes = self.response_counts
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
        """Return the number of verdicts, and of each kind of unusable ones."""
        counts = np.bincount(self.fault.astype(np.int64) + 1, minlength=len(FAULTS) + 1)
        return {"verdicts": len(self), **{fault: int(counts[place + 1]) for place, fault in enumerate(FAULTS)}}


def group_rows(*columns: Array) -> tuple[Ints, Ints]:
    """Return the group number of each row, in the order of the columns' values, and one row of each group.

    >>> [part.tolist() for part in group_rows(np.array([2, 1, 2]), np.array([0, 5, 0]))]
    [[1, 0, 1], [1, 0]]
    """
    if not len(columns[0]):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    # A copy, because `_combine_codes` changes it in place.
    return _number_groups(reduce(_combine_codes, columns[1:], _compact_codes(columns[0]).astype(np.int64)))


def _number_groups(code: Ints) -> tuple[Ints, Ints]:
    """Renumber groups without gaps, overwriting the codes, and return the first row of each. Codes are counted only if
    they are small: counting needs memory for every possible number, sorting for every row.
    """
    size = int(code.max()) + 1
    if size > 4 * len(code) + 1024:
        return _group_by_sorting(code)
    first = np.full(size, -1, dtype=_index_dtype(len(code)))
    first[code[::-1]] = np.arange(len(code) - 1, -1, -1, dtype=first.dtype)
    there = first >= 0
    rows = first[there].astype(np.int64)
    number = np.cumsum(there, dtype=first.dtype, out=first)
    # In place, because the codes are no longer needed and there is one per row.
    code[:] = number[code]
    code -= 1
    return code, rows


def _group_by_sorting(values: Array) -> tuple[Ints, Ints]:
    """Return the rank of each row's value among the distinct values, and the first row of each.
    Like `np.unique`, in a third of the memory. All NaN are one value.
    """
    order = np.argsort(values, kind="stable")
    sorted_values = values[order]
    new = np.empty(len(values), dtype=np.bool_)
    new[0] = True
    np.not_equal(sorted_values[1:], sorted_values[:-1], out=new[1:])
    if values.dtype.kind == "f":  # NaN != NaN, so adjacent NaN would start new groups
        new[1:] &= ~(np.isnan(sorted_values[1:]) & np.isnan(sorted_values[:-1]))
    del sorted_values
    number = np.cumsum(new, dtype=_index_dtype(len(values))) - 1
    places = np.empty(len(values), dtype=np.int64)
    places[order] = number
    return places, order[new].astype(np.int64)


def _index_dtype(count: int) -> np.dtype[Any]:
    return np.dtype(np.int32 if count < 1 << 31 else np.int64)


# Far below 2**63, so that the product of codes cannot overflow before they are compacted.
_DENSE = 1 << 40


def _compact_codes(values: Array) -> Array:
    """Return integers from zero in the same order, without sorting if they are small already."""
    if is_constant(values):
        return np.broadcast_to(np.uint8(0), len(values))
    if values.dtype.kind in "iu" and values.min() >= 0 and (values.dtype.itemsize < 8 or values.max() < 1 << 32):
        return values
    return _group_by_sorting(values)[0]


def _combine_codes(code: Ints, values: Array) -> Ints:
    """Combine two codes into one that keeps their order, overwriting the first; compact before overflow."""
    value_codes = _compact_codes(values)
    size = int(value_codes.max()) + 1
    if size == 1:
        return code
    if (int(code.max()) + 1) * size > _DENSE:
        code, value_codes = _number_groups(code)[0], _number_groups(value_codes.astype(np.int64))[0]
        size = int(value_codes.max()) + 1
    code *= size
    np.add(code, value_codes, out=code, casting="same_kind")
    return code


def float_column(values: Any) -> Array:
    """Return a column of floats; None (an unknown price, count or probability) becomes NaN."""
    if isinstance(values, tuple) and values.count(None) == len(values):  # numpy converts None to NaN slowly
        return np.full(len(values), np.nan)
    return np.asarray(values, dtype=np.float64)


def is_constant(values: Array) -> bool:
    """Return True if a column is stored as one value shared by all rows."""
    return values.ndim == 1 and len(values) > 1 and values.strides == (0,)


# One block of codes stays in the cache of the processor.
_BLOCK = 1 << 17


def values_of_codes(values: Array, codes: Array) -> Array:
    """Return the value of each row's code, in blocks, because numpy widens every index to eight bytes."""
    if is_constant(codes):
        return np.broadcast_to(values[codes[0]], len(codes))
    looked_up = np.empty(len(codes), dtype=values.dtype)
    for start in range(0, len(codes), _BLOCK):
        looked_up[start : start + _BLOCK] = values[codes[start : start + _BLOCK]]
    return looked_up


def take_rows(values: Array, index: Array) -> Array:
    """Return some rows of a column; a constant column stays constant."""
    return np.broadcast_to(values[:1], len(index)) if is_constant(values) and len(index) else values[index]


def expand_ranges(start: Array, sizes: Array) -> Array:
    """Return start, start + 1, ... for each row, as many as its size, concatenated.

    >>> expand_ranges(np.array([5, 0]), np.array([2, 1])).tolist()
    [5, 6, 0]
    """
    total = int(sizes.sum(dtype=np.int64))
    if total == len(sizes) and (sizes == 1).all():
        return start
    narrow = _index_dtype(max(total, int(start.max(initial=0))))
    before = start.astype(narrow)
    np.subtract(before, np.cumsum(sizes, dtype=narrow), out=before)
    np.add(before, sizes.astype(narrow, copy=False), out=before)
    places: Array = np.repeat(before, sizes)
    return np.add(places, np.arange(total, dtype=narrow), out=places)


def _is_equal(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
    return bool(left == right)
