"""Builder that turns rows of verdicts, in any order and from any store, into columns."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import compress, islice
from typing import Any

import numpy as np

from fullbench.columns.verdict_columns import (
    STUDY,
    Array,
    Columns,
    Due,
    expand_ranges,
    float_column,
    group_rows,
    is_constant,
    take_rows,
)
from fullbench.core.verdict import FAULTS, Verdict
from fullbench.core.verdict_record import Record


def release_freed_memory() -> None:
    """Return freed memory to the system; without effect if the C library is not glibc.

    glibc keeps freed pieces of a few megabytes, the size of column blocks. Without this call the blocks of all columns
    would stay in memory next to the finished arrays.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


CHUNK = 500
"""Rows that are Python objects at one time; few enough to stay in the CPU cache."""
_BLOCK = 1 << 17
"""Rows per block that is narrowed at once."""
_MANY = 1 << 20
SMALL = ("trial", "revision", "calls", "retries", "reader")
KIND = ("study", "judge", "criterion", "ballot", "rater", "fault", "contestants", "samples", *SMALL, "blind")
"""Parts that many rows share. A store may pass them as one text, which is parsed once for all rows."""
WHOLE = ("tokens_in", "tokens_out")
REAL = ("dollars", "seconds", "cached", "probability")
ROW = ("kind", "item", "case", "marks", *WHOLE, *REAL, "reason")
"""Parts of a row, in this order. Marks are a tuple, or a text that `parse` reads. `reason` is the text of a judge that
abstained, and may be left out."""

_MOST_MARKS = 1 << 16
_TEXTS = KIND[:5]
_FAULTS: dict[str, int] = {fault: place for place, fault in enumerate(FAULTS)}

Kind = tuple[
    str, str, str, str, str, str | None, Sequence[str], Sequence[int], int, int, int, int, int, bool | int | None
]


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """A column of a chunk as unique labels, and the index of each row's label."""

    labels: Sequence[Any]
    places: Array


Column = Sequence[Any] | Array | EncodedColumn


def _identity_function(value: Any) -> Any:
    return value


class Builder:
    """Collects rows in chunks and stores them as narrow arrays.
    `kind` returns the parts of a row's kind in the order of `KIND`; `parse` returns the marks.
    """

    def __init__(
        self,
        kind: Callable[[Any], Kind] = _identity_function,
        parse: Callable[[Any], Sequence[float]] = _identity_function,
    ) -> None:
        self._kind = kind
        self._codes: dict[Hashable, int] = {}
        self._kinds: list[Kind] = []
        self._passed_over: set[int] = set()
        self._items: dict[str, int] = {}
        self._marks = _Marks(parse)
        self._pieces: dict[str, list[Array]] = {name: [] for name in ("kind", "item", "case", *WHOLE, *REAL)}
        self._blocks: dict[str, list[Array]] = {name: [] for name in self._pieces}
        self._loose = 0
        self._reasons: dict[int, str] = {}
        self._size = 0

    def extend(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows with the parts named in `ROW`."""
        stream = iter(rows)
        self.extend_by(iter(lambda: list(islice(stream, CHUNK)), []))

    def extend_by(self, batches: Iterable[Sequence[Sequence[Any]]], but: Callable[[Kind], bool] | None = None) -> bool:
        """Add batches of rows, except kinds for which `but` is true. Return True if any were skipped."""
        passed_over = False
        for batch in batches:
            # Not strict: rows without a reason are shorter.
            chunk: dict[str, tuple[Any, ...]] = dict(zip(ROW, zip(*batch, strict=True), strict=False))
            kind = self._kinds_of(chunk.pop("kind"), but)
            if self._passed_over:
                there = ~np.isin(kind, list(self._passed_over))
                if not there.all():
                    passed_over = True
                    chunk = {name: tuple(compress(values, there)) for name, values in chunk.items()}
                    kind = kind[there]
            if len(kind):
                self._append_chunk(kind, chunk)
        return passed_over

    def add(self, chunk: Mapping[str, Column]) -> None:
        """Add a chunk of rows given by columns."""
        self._append_chunk(self._kinds_of(chunk["kind"]), chunk)

    def _append_chunk(self, kind: Array, chunk: Mapping[str, Column]) -> None:
        self._pieces["kind"].append(kind)
        self._pieces["item"].append(_encode_values(self._items, chunk["item"]))
        self._pieces["case"].append(_hash_keys(chunk["case"]))
        for name in WHOLE:
            self._pieces[name].append(np.asarray(chunk[name], dtype=np.int64))
        for name in REAL:
            self._pieces[name].append(float_column(chunk[name]))
        self._marks.add(chunk["marks"])
        if "reason" in chunk:
            self._reasons |= {self._size + row: text for row, text in _nonempty_texts(chunk["reason"])}
        self._size += len(kind)
        self._loose += len(kind)
        if self._loose > _BLOCK:
            self._pack()

    def _pack(self) -> None:
        for name, pieces in self._pieces.items():
            if pieces:
                block = np.concatenate(pieces)
                self._blocks[name].append(
                    _collapse_constant(_shrink_integers(block) if block.dtype.kind == "i" else block)
                )
                pieces.clear()
        self._loose = 0

    def _kinds_of(self, column: Column, but: Callable[[Kind], bool] | None = None) -> Array:
        """Return the code of each row's kind, which is parsed when it is first seen."""
        codes = _encode_values(self._codes, column)
        if len(self._codes) > len(self._kinds):
            for kind in islice(self._codes, len(self._kinds), None):
                parts = self._kind(kind)
                if but is not None and but(parts):
                    self._passed_over.add(len(self._kinds))
                self._kinds.append(parts)
        return codes

    def finish(self, due: Iterable[Due] = ()) -> Columns:
        """Return the columns. The order of rows does not depend on the order in which they were added."""
        self._pack()
        arrays = {name: join_blocks(blocks) for name, blocks in self._blocks.items()}
        kind, kinds = self._kinds_there(arrays.pop("kind"))
        names: dict[str, tuple[str, ...]] = {}
        for place, name in enumerate(_TEXTS):
            names[name] = tuple(sorted({str(parts[place]) for parts in kinds}))
            arrays[name] = _expand_by_kind(_name_codes(names[name], [str(parts[place]) for parts in kinds]), kind)
        names["item"] = tuple(sorted(self._items))
        arrays["item"] = _name_codes(names["item"], self._items)[arrays["item"]]
        names["contestant"] = tuple(sorted({name for parts in kinds for name in parts[6]}))
        fault_codes = np.array(
            [-1 if parts[5] is None else _FAULTS[parts[5]] for parts in kinds] or [-1], dtype=np.int8
        )
        arrays["fault"] = _expand_by_kind(fault_codes, kind)
        for place, name in enumerate(SMALL, KIND.index(SMALL[0])):
            arrays[name] = _expand_by_kind(
                _shrink_integers(np.array([parts[place] for parts in kinds] or [0], dtype=np.int64)), kind
            )
        blind_codes = np.array([-1 if parts[-1] is None else int(parts[-1]) for parts in kinds] or [-1], dtype=np.int8)
        arrays["blind"] = _expand_by_kind(blind_codes, kind)
        kind_responses = _KindResponses.from_kinds(kinds, names["contestant"])
        return _build_columns(arrays, names, kind, kind_responses, marks=self._marks, reasons=self._reasons, due=due)

    def _kinds_there(self, kind: Array) -> tuple[Array, list[Kind]]:
        if not self._passed_over:
            return kind, self._kinds
        there = [code for code in range(len(self._kinds)) if code not in self._passed_over]
        place = np.zeros(len(self._kinds), dtype=kind.dtype)
        place[there] = np.arange(len(there))
        return place[kind], [self._kinds[code] for code in there]


class _Marks:
    """Marks as one flat array; equal texts are parsed once while there are few distinct ones."""

    def __init__(self, parse: Callable[[Any], Sequence[float]]) -> None:
        self._parse = parse
        self._codes: dict[Any, int] = {}
        self._pieces: list[Array] = []
        self._blocks: list[Array] = []

    def add(self, marks: Column) -> None:
        self._pieces.append(_shrink_integers(_encode_values(self._codes, marks)))
        if len(self._codes) > _MOST_MARKS:
            self._expand_marks()

    def _expand_marks(self) -> None:
        mark_tuples = [() if value is None else self._parse(value) for value in self._codes]
        sizes = _shrink_integers(np.array([len(marks) for marks in mark_tuples], dtype=np.int64))
        values = np.array([mark for marks in mark_tuples for mark in marks], dtype=np.float64)
        codes = np.concatenate(self._pieces)
        begin = np.cumsum(sizes, dtype=np.int32) - sizes.astype(np.int32)
        self._blocks.append(values[expand_ranges(begin[codes], sizes[codes])])
        self._codes, self._pieces = {}, []

    def flat(self) -> Array:
        if self._pieces:
            self._expand_marks()
        return join_blocks(self._blocks)


class _KindResponses:
    """Flat arrays of the contestants and samples of each kind, and the start of each kind."""

    def __init__(self, contestant: Array, sample: Array, sizes: Array, rank: Array) -> None:
        self.contestant, self.sample, self.sizes, self.rank = contestant, sample, sizes, rank
        self.start = np.cumsum(sizes, dtype=np.int32) - sizes.astype(np.int32)

    @classmethod
    def from_kinds(cls, kinds: Sequence[Kind], contestants: tuple[str, ...]) -> _KindResponses:
        place = {name: number for number, name in enumerate(contestants)}
        response_sets = [
            tuple(zip((place[name] for name in kind[6]), kind[7] or (0,) * len(kind[6]), strict=True)) for kind in kinds
        ]
        order = {response_set: number for number, response_set in enumerate(sorted(set(response_sets)))}
        flat = [response for response_set in response_sets for response in response_set]
        return cls(
            np.array([who for who, _ in flat] or [0], dtype=np.min_scalar_type(max(len(contestants) - 1, 0))),
            _shrink_integers(np.array([sample for _, sample in flat] or [0], dtype=np.int64)),
            _shrink_integers(np.array([len(response_set) for response_set in response_sets] or [0], dtype=np.int64)),
            _shrink_integers(np.array([order[response_set] for response_set in response_sets] or [0], dtype=np.int64)),
        )


def _build_columns(
    arrays: dict[str, Array],
    names: Mapping[str, tuple[str, ...]],
    kind: Array,
    kind_responses: _KindResponses,
    *,
    marks: _Marks,
    reasons: Mapping[int, str],
    due: Iterable[Due],
) -> Columns:
    """The order of rows depends only on the verdicts' content."""
    order = _row_order(arrays, kind_responses.rank[kind])
    sizes = kind_responses.sizes[kind]
    mark_counts = np.where(arrays["fault"] < 0, sizes, 0).astype(sizes.dtype, copy=False)
    # Four-byte numbers if sufficient, and marks expanded late: memory peaks here.
    narrow = np.uint32 if int(sizes.sum(dtype=np.int64)) < 1 << 32 else np.int64
    mark_starts: Array = np.cumsum(mark_counts, dtype=narrow)
    mark_starts -= mark_counts
    mark_starts, kind, sizes, mark_counts = mark_starts[order], kind[order], sizes[order], mark_counts[order]
    mark = _marks_in_row_order(marks.flat(), mark_starts, sizes, mark_counts)
    del mark_starts, mark_counts
    at = expand_ranges(kind_responses.start[kind], sizes)
    contestant, sample = kind_responses.contestant[at], take_rows(_collapse_constant(kind_responses.sample), at)
    del at, kind
    row_of = {int(row): number for number, row in enumerate(order)} if reasons else {}
    # One column at a time, so that at most one column is in memory twice.
    columns = {name: take_rows(arrays.pop(name), order) for name in tuple(arrays)}
    del order
    start = np.zeros(len(sizes) + 1, dtype=narrow)
    np.cumsum(sizes, dtype=narrow, out=start[1:])
    return Columns(
        names=names,
        start=_shrink_integers(start),
        contestant=contestant,
        sample=_shrink_integers(sample),
        mark=mark,
        abstentions=dict(sorted((row_of[row], text) for row, text in reasons.items())),
        due=tuple(sorted(due, key=lambda entry: (entry.study, entry.judge, entry.criterion, entry.family))),
        failed_calls=(),
        **{name: columns[name] for name in (*_TEXTS, "item")},
        **{name: _shrink_integers(columns[name]) for name in (*SMALL, *WHOLE)},
        case=columns["case"].astype(np.uint64, copy=False),
        fault=columns["fault"].astype(np.int8, copy=False),
        blind=columns["blind"].astype(np.int8, copy=False),
        dollars=columns["dollars"].astype(np.float64, copy=False),
        seconds=columns["seconds"].astype(np.float64, copy=False),
        cached=columns["cached"].astype(np.float64, copy=False),
        probability=columns["probability"].astype(np.float64, copy=False),
    )


def _row_order(arrays: Mapping[str, Array], response_set_rank: Array) -> Array:
    keys = [arrays[name] for name in ("study", "judge", "criterion", "ballot", "item")]
    code, first = group_rows(*keys, response_set_rank, arrays["trial"], arrays["rater"], arrays["revision"])
    # If no two rows are alike, the first row of each group is its only one.
    return _shrink_integers(first if len(first) == len(code) else np.lexsort((arrays["case"], code)))


def _marks_in_row_order(marks: Array, mark_starts: Array, sizes: Array, mark_counts: Array) -> Array:
    row_marks = marks[expand_ranges(mark_starts, mark_counts)]
    if np.array_equal(sizes, mark_counts):
        return row_marks
    mark = np.full(int(sizes.sum(dtype=np.int64)), np.nan)
    mark[np.repeat(mark_counts > 0, sizes)] = row_marks
    return mark


def join_blocks(blocks: list[Array]) -> Array:
    """Join blocks into one array, constant if all blocks share one value, and release the blocks."""
    if not blocks:
        return np.zeros(0, dtype=np.uint8)
    ends = np.concatenate([block[:1] for block in blocks])
    if all(map(is_constant, blocks)) and (len(blocks) == 1 or is_constant(_collapse_constant(ends))):
        array = np.broadcast_to(ends[:1], sum(map(len, blocks)))
    else:
        array = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    blocks.clear()
    if len(array) > _MANY:
        release_freed_memory()
    return array


def _collapse_constant(values: Array) -> Array:
    """Return the column as one broadcast value if all rows are equal, such as an unknown price."""
    if not len(values):
        return values
    first = values[0]
    same = np.isnan(values) if values.dtype.kind == "f" and np.isnan(first) else values == first
    return np.broadcast_to(first, len(values)) if same.all() else values


def _expand_by_kind(values: Array, kind: Array) -> Array:
    return take_rows(_collapse_constant(values), kind)


def _name_codes(names: Sequence[str], labels: Iterable[str]) -> Array:
    place = {label: number for number, label in enumerate(names)}
    return np.array([place[label] for label in labels] or [0], dtype=np.min_scalar_type(max(len(names) - 1, 0)))


def _encode_values(codes: dict[Any, int], values: Column) -> Array:
    if isinstance(values, EncodedColumn):
        return _encode_values(codes, values.labels)[values.places]
    try:
        return np.array([codes[value] for value in values], dtype=np.int32)
    except KeyError:
        for value in dict.fromkeys(values):
            codes.setdefault(value, len(codes))
        return np.array([codes[value] for value in values], dtype=np.int32)


def _nonempty_texts(column: Column) -> Iterator[tuple[int, str]]:
    if isinstance(column, EncodedColumn):
        text_codes = [place for place, label in enumerate(column.labels) if label]
        rows = np.flatnonzero(np.isin(column.places, text_codes)) if text_codes else ()
        return ((int(row), column.labels[column.places[row]]) for row in rows)
    return ((row, text) for row, text in enumerate(column) if text) if any(column) else iter(())


def case_numbers(keys: Sequence[str]) -> Array:
    """Return the numbers that identify these cases in columns."""
    return _hash_keys(list(keys))


def _hash_keys(column: Column) -> Array:
    """Return 64 bits per case key: the first half of a hex digest, or a new digest of any other key."""
    if isinstance(column, np.ndarray):
        return column
    if isinstance(column, EncodedColumn):
        return _hash_keys(column.labels)[column.places]
    keys = column
    if set(map(len, keys)) == {32}:  # fast path: all keys look like hex digests of 16 bytes
        try:
            digest_bytes = bytes.fromhex("".join(keys))
        except ValueError:
            digest_bytes = b""
        if len(digest_bytes) == 16 * len(keys):
            return np.frombuffer(digest_bytes, dtype=">u8")[::2].astype(np.uint64)
    return np.frombuffer(b"".join(map(_hash_key, keys)), dtype=">u8").astype(np.uint64)


def _hash_key(key: str) -> bytes:
    try:
        digest_bytes = bytes.fromhex(key)
    except ValueError:
        digest_bytes = b""
    return (
        digest_bytes[:8]
        if len(key) == 32 and len(digest_bytes) == 16
        else blake2b(key.encode(), digest_size=8).digest()
    )


def _shrink_integers(values: Array) -> Array:
    if is_constant(values):
        return np.broadcast_to(_shrink_integers(values[:1].copy()), len(values))
    largest = int(values.max(initial=0))
    small = values.min(initial=0) >= 0 and largest < 1 << 32
    return values.astype(np.min_scalar_type(largest) if small else np.int64, copy=False)


def columns_from_verdicts(record: Record | Iterable[Verdict], study: str = STUDY) -> Columns:
    """Return the columns of verdicts in memory."""
    builder = Builder()
    builder.extend(verdict_rows(record, study))
    return builder.finish()


def verdict_rows(verdicts: Iterable[Verdict], study: str = STUDY) -> Iterator[tuple[Any, ...]]:
    """Yield verdicts as rows for a builder."""
    for v in verdicts:
        used = v.usage
        numbers = v.samples if any(v.samples) else ()
        yield (
            (study, v.judge, v.criterion, v.ballot, v.rater, v.fault, v.contestants, numbers, v.trial, v.revision,
             used.calls, used.retries, v.reading.number, v.circumstances.blind),
            v.item, v.case, v.marks, used.tokens_in, used.tokens_out, used.dollars, used.seconds,
            used.cached, v.circumstances.probability, v.text if v.fault == "abstained" else "",
        )  # fmt: skip
