"""From rows of verdicts, in any order and from any store, to columns."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import compress, islice
from typing import Any

import numpy as np

from fullbench.columns.verdict_columns import STUDY, Array, Columns, Due, grouped, is_constant, reals, spread, taken
from fullbench.core.record import Record
from fullbench.core.verdict import FAULTS, Verdict

# Memory that was freed goes back to the system at once.


def give_back() -> None:
    """Hand pages that hold nothing any more back to the system; without effect where the C library is not glibc.

    It keeps freed pieces of a few megabytes for later, and the blocks of columns are such: while each column is made
    one array, those of all columns would stay beside what was made of them.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


CHUNK = 500
"""Rows that are Python's objects at one time: few enough to stay in the processor's cache."""
_BLOCK = 1 << 17
"""Rows whose numbers are put into fewer bytes at one time."""
_MANY = 1 << 20
SMALL = ("trial", "revision", "calls", "retries", "reader")
KIND = ("study", "judge", "criterion", "ballot", "rater", "fault", "contestants", "samples", *SMALL, "blind")
"""What many rows share; a store may hand it over as one text, which is taken apart once for all of them."""
WHOLE = ("tokens_in", "tokens_out")
REAL = ("dollars", "seconds", "cached", "probability")
ROW = ("kind", "item", "case", "marks", *WHOLE, *REAL, "reason")
"""What a row has, in this order. Marks are a tuple, or a text that `parse` reads; `reason` is what a judge that recused
itself said, and may be left out."""

_MOST_MARKS = 1 << 16
_TEXTS = KIND[:5]
_FAULTS: dict[str, int] = {fault: place for place, fault in enumerate(FAULTS)}

Kind = tuple[
    str, str, str, str, str, str | None, Sequence[str], Sequence[int], int, int, int, int, int, bool | int | None
]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A column of a chunk as its labels, each once, and the place of each row's label among them."""

    labels: Sequence[Any]
    places: Array


Column = Sequence[Any] | Array | Encoded


def _itself(value: Any) -> Any:
    return value


class Builder:
    """Takes rows a chunk at a time and keeps narrow arrays of them.

    `kind` gives the parts of a row's kind, in the order of `KIND`; `parse` gives the marks.
    """

    def __init__(
        self, kind: Callable[[Any], Kind] = _itself, parse: Callable[[Any], Sequence[float]] = _itself
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
        """Rows as `ROW` names their parts."""
        stream = iter(rows)
        self.extend_by(iter(lambda: list(islice(stream, CHUNK)), []))

    def extend_by(self, batches: Iterable[Sequence[Sequence[Any]]], but: Callable[[Kind], bool] | None = None) -> bool:
        """Rows by the batch, `but` for those of some kinds: whether there were such."""
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
                self._take(kind, chunk)
        return passed_over

    def add(self, chunk: Mapping[str, Column]) -> None:
        """A chunk of rows by columns."""
        self._take(self._kinds_of(chunk["kind"]), chunk)

    def _take(self, kind: Array, chunk: Mapping[str, Column]) -> None:
        self._pieces["kind"].append(kind)
        self._pieces["item"].append(_coded(self._items, chunk["item"]))
        self._pieces["case"].append(_numbers(chunk["case"]))
        for name in WHOLE:
            self._pieces[name].append(np.asarray(chunk[name], dtype=np.int64))
        for name in REAL:
            self._pieces[name].append(reals(chunk[name]))
        self._marks.add(chunk["marks"])
        if "reason" in chunk:
            self._reasons |= {self._size + row: text for row, text in _texts(chunk["reason"])}
        self._size += len(kind)
        self._loose += len(kind)
        if self._loose > _BLOCK:
            self._pack()

    def _pack(self) -> None:
        """The pieces since the last time as one array of each column, in as few bytes as its numbers need."""
        for name, pieces in self._pieces.items():
            if pieces:
                block = np.concatenate(pieces)
                self._blocks[name].append(_once(_tight(block) if block.dtype.kind == "i" else block))
                pieces.clear()
        self._loose = 0

    def _kinds_of(self, column: Column, but: Callable[[Kind], bool] | None = None) -> Array:
        """The number of each row's kind; what a kind consists of is found out when it is first seen."""
        codes = _coded(self._codes, column)
        if len(self._codes) > len(self._kinds):
            for kind in islice(self._codes, len(self._kinds), None):
                parts = self._kind(kind)
                if but is not None and but(parts):
                    self._passed_over.add(len(self._kinds))
                self._kinds.append(parts)
        return codes

    def finish(self, due: Iterable[Due] = ()) -> Columns:
        """The columns, their rows in an order that does not depend on the order in which they came."""
        self._pack()
        arrays = {name: in_one(blocks) for name, blocks in self._blocks.items()}
        kind, kinds = self._kinds_there(arrays.pop("kind"))
        names: dict[str, tuple[str, ...]] = {}
        for place, name in enumerate(_TEXTS):
            names[name] = tuple(sorted({str(parts[place]) for parts in kinds}))
            arrays[name] = _of_kind(_places(names[name], [str(parts[place]) for parts in kinds]), kind)
        names["item"] = tuple(sorted(self._items))
        arrays["item"] = _places(names["item"], self._items)[arrays["item"]]
        names["contestant"] = tuple(sorted({name for parts in kinds for name in parts[6]}))
        lost = np.array([-1 if parts[5] is None else _FAULTS[parts[5]] for parts in kinds] or [-1], dtype=np.int8)
        arrays["fault"] = _of_kind(lost, kind)
        for place, name in enumerate(SMALL, KIND.index(SMALL[0])):
            arrays[name] = _of_kind(_tight(np.array([parts[place] for parts in kinds] or [0], dtype=np.int64)), kind)
        seen = np.array([-1 if parts[-1] is None else int(parts[-1]) for parts in kinds] or [-1], dtype=np.int8)
        arrays["blind"] = _of_kind(seen, kind)
        shown = _Shown.of(kinds, names["contestant"])
        return _laid_out(arrays, names, kind, shown, marks=self._marks, reasons=self._reasons, due=due)

    def _kinds_there(self, kind: Array) -> tuple[Array, list[Kind]]:
        """Kinds numbered among those that have a row, and these."""
        if not self._passed_over:
            return kind, self._kinds
        there = [code for code in range(len(self._kinds)) if code not in self._passed_over]
        place = np.zeros(len(self._kinds), dtype=kind.dtype)
        place[there] = np.arange(len(there))
        return place[kind], [self._kinds[code] for code in there]


class _Marks:
    """Marks as one flat array; equal texts are parsed once as long as they are few."""

    def __init__(self, parse: Callable[[Any], Sequence[float]]) -> None:
        self._parse = parse
        self._codes: dict[Any, int] = {}
        self._pieces: list[Array] = []
        self._blocks: list[Array] = []

    def add(self, marks: Column) -> None:
        self._pieces.append(_tight(_coded(self._codes, marks)))
        if len(self._codes) > _MOST_MARKS:
            self._spell_out()

    def _spell_out(self) -> None:
        """The marks of all rows since the last time, one response after the other; a fault has none."""
        parsed = [() if value is None else self._parse(value) for value in self._codes]
        sizes = _tight(np.array([len(marks) for marks in parsed], dtype=np.int64))
        values = np.array([mark for marks in parsed for mark in marks], dtype=np.float64)
        codes = np.concatenate(self._pieces)
        begin = np.cumsum(sizes, dtype=np.int32) - sizes.astype(np.int32)
        self._blocks.append(values[spread(begin[codes], sizes[codes])])
        self._codes, self._pieces = {}, []

    def flat(self) -> Array:
        if self._pieces:
            self._spell_out()
        return in_one(self._blocks)


class _Shown:
    """The responses of each kind, flat: who, which sample, and where a kind's begin."""

    def __init__(self, contestant: Array, sample: Array, sizes: Array, rank: Array) -> None:
        self.contestant, self.sample, self.sizes, self.rank = contestant, sample, sizes, rank
        self.start = np.cumsum(sizes, dtype=np.int32) - sizes.astype(np.int32)

    @classmethod
    def of(cls, kinds: Sequence[Kind], contestants: tuple[str, ...]) -> _Shown:
        place = {name: number for number, name in enumerate(contestants)}
        panels = [
            tuple(zip((place[name] for name in one[6]), one[7] or (0,) * len(one[6]), strict=True)) for one in kinds
        ]
        order = {panel: number for number, panel in enumerate(sorted(set(panels)))}
        flat = [shown for panel in panels for shown in panel]
        return cls(
            np.array([who for who, _ in flat] or [0], dtype=np.min_scalar_type(max(len(contestants) - 1, 0))),
            _tight(np.array([sample for _, sample in flat] or [0], dtype=np.int64)),
            _tight(np.array([len(panel) for panel in panels] or [0], dtype=np.int64)),
            _tight(np.array([order[panel] for panel in panels] or [0], dtype=np.int64)),
        )


def _laid_out(
    arrays: dict[str, Array], names: Mapping[str, tuple[str, ...]], kind: Array, shown: _Shown, *, marks: _Marks,
    reasons: Mapping[int, str], due: Iterable[Due],
) -> Columns:  # fmt: skip
    """All columns in one order: by what a verdict is, whenever it came."""
    order = _order(arrays, shown.rank[kind])
    sizes = shown.sizes[kind]
    ruled = np.where(arrays["fault"] < 0, sizes, 0).astype(sizes.dtype, copy=False)
    # Numbers of four bytes where they are enough, and marks spelled out late: memory is at its highest here.
    narrow = np.uint32 if int(sizes.sum(dtype=np.int64)) < 1 << 32 else np.int64
    came: Array = np.cumsum(ruled, dtype=narrow)
    came -= ruled
    came, kind, sizes, ruled = came[order], kind[order], sizes[order], ruled[order]
    mark = _marks_of(marks.flat(), came, sizes, ruled)
    del came, ruled
    at = spread(shown.start[kind], sizes)
    contestant, sample = shown.contestant[at], taken(_once(shown.sample), at)
    del at, kind
    row_of = {int(row): number for number, row in enumerate(order)} if reasons else {}
    # One after the other, so that no two columns are there twice at one time.
    columns = {name: taken(arrays.pop(name), order) for name in tuple(arrays)}
    del order
    start = np.zeros(len(sizes) + 1, dtype=narrow)
    np.cumsum(sizes, dtype=narrow, out=start[1:])
    return Columns(
        names=names,
        start=_tight(start),
        contestant=contestant,
        sample=_tight(sample),
        mark=mark,
        recusals=dict(sorted((row_of[row], text) for row, text in reasons.items())),
        due=tuple(sorted(due, key=lambda one: (one.study, one.judge, one.criterion, one.family))),
        failed=(),
        **{name: columns[name] for name in (*_TEXTS, "item")},
        **{name: _tight(columns[name]) for name in (*SMALL, *WHOLE)},
        case=columns["case"].astype(np.uint64, copy=False),
        fault=columns["fault"].astype(np.int8, copy=False),
        blind=columns["blind"].astype(np.int8, copy=False),
        dollars=columns["dollars"].astype(np.float64, copy=False),
        seconds=columns["seconds"].astype(np.float64, copy=False),
        cached=columns["cached"].astype(np.float64, copy=False),
        probability=columns["probability"].astype(np.float64, copy=False),
    )


def _order(arrays: Mapping[str, Array], panel: Array) -> Array:
    """The rows by what a verdict is; by its case where two are alike in all else."""
    keys = [arrays[name] for name in ("study", "judge", "criterion", "ballot", "item")]
    code, first = grouped(*keys, panel, arrays["trial"], arrays["rater"], arrays["revision"])
    # Where no two are alike, the first row of each group is its only one.
    return _tight(first if len(first) == len(code) else np.lexsort((arrays["case"], code)))


def _marks_of(marks: Array, came: Array, sizes: Array, ruled: Array) -> Array:
    """Marks as they came, in the rows' order; a fault's are no numbers."""
    ordered = marks[spread(came, ruled)]
    if np.array_equal(sizes, ruled):
        return ordered
    mark = np.full(int(sizes.sum(dtype=np.int64)), np.nan)
    mark[np.repeat(ruled > 0, sizes)] = ordered
    return mark


def in_one(blocks: list[Array]) -> Array:
    """The blocks as one array, still of one value where all have the same; they are let go."""
    if not blocks:
        return np.zeros(0, dtype=np.uint8)
    ends = np.concatenate([block[:1] for block in blocks])
    if all(map(is_constant, blocks)) and (len(blocks) == 1 or is_constant(_once(ends))):
        joined = np.broadcast_to(ends[:1], sum(map(len, blocks)))
    else:
        joined = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    blocks.clear()
    if len(joined) > _MANY:
        give_back()
    return joined


def _once(values: Array) -> Array:
    """The column as one value where all of its rows have the same, such as a price that nobody knows."""
    if not len(values):
        return values
    first = values[0]
    same = np.isnan(values) if values.dtype.kind == "f" and np.isnan(first) else values == first
    return np.broadcast_to(first, len(values)) if same.all() else values


def _of_kind(values: Array, kind: Array) -> Array:
    """What each row has of something that its kind settles."""
    return taken(_once(values), kind)


def _places(names: Sequence[str], labels: Iterable[str]) -> Array:
    """Where each label stands among the names, in as few bytes as their number needs."""
    place = {label: number for number, label in enumerate(names)}
    return np.array([place[label] for label in labels] or [0], dtype=np.min_scalar_type(max(len(names) - 1, 0)))


def _coded(codes: dict[Any, int], values: Column) -> Array:
    """The number of each value, new ones numbered on."""
    if isinstance(values, Encoded):
        return _coded(codes, values.labels)[values.places]
    try:
        return np.array([codes[value] for value in values], dtype=np.int32)
    except KeyError:
        for value in dict.fromkeys(values):
            codes.setdefault(value, len(codes))
        return np.array([codes[value] for value in values], dtype=np.int32)


def _texts(column: Column) -> Iterator[tuple[int, str]]:
    """The rows that have a text."""
    if isinstance(column, Encoded):
        wanted = [place for place, label in enumerate(column.labels) if label]
        rows = np.flatnonzero(np.isin(column.places, wanted)) if wanted else ()
        return ((int(row), column.labels[column.places[row]]) for row in rows)
    return ((row, text) for row, text in enumerate(column) if text) if any(column) else iter(())


def case_numbers(keys: Sequence[str]) -> Array:
    """The number by which columns know each of these cases."""
    return _numbers(list(keys))


def _numbers(column: Column) -> Array:
    """64 bits of each case's key: the first half of a digest, a digest of anything else."""
    if isinstance(column, np.ndarray):
        return column
    if isinstance(column, Encoded):
        return _numbers(column.labels)[column.places]
    keys = column
    if set(map(len, keys)) == {32}:
        try:
            whole = bytes.fromhex("".join(keys))
        except ValueError:
            whole = b""
        if len(whole) == 16 * len(keys):
            return np.frombuffer(whole, dtype=">u8")[::2].astype(np.uint64)
    return np.frombuffer(b"".join(map(_number, keys)), dtype=">u8").astype(np.uint64)


def _number(key: str) -> bytes:
    try:
        whole = bytes.fromhex(key)
    except ValueError:
        whole = b""
    return whole[:8] if len(key) == 32 and len(whole) == 16 else blake2b(key.encode(), digest_size=8).digest()


def _tight(values: Array) -> Array:
    """The same whole numbers in as few bytes as their largest needs."""
    if is_constant(values):
        return np.broadcast_to(_tight(values[:1].copy()), len(values))
    largest = int(values.max(initial=0))
    small = values.min(initial=0) >= 0 and largest < 1 << 32
    return values.astype(np.min_scalar_type(largest) if small else np.int64, copy=False)


def columns_of(record: Record | Iterable[Verdict], study: str = STUDY) -> Columns:
    """The columns of verdicts in memory."""
    builder = Builder()
    builder.extend(verdict_rows(record, study))
    return builder.finish()


def verdict_rows(verdicts: Iterable[Verdict], study: str = STUDY) -> Iterator[tuple[Any, ...]]:
    """Verdicts as rows for a builder."""
    for v in verdicts:
        used = v.usage
        numbers = v.samples if any(v.samples) else ()
        yield (
            (study, v.judge, v.criterion, v.ballot, v.rater, v.fault, v.contestants, numbers, v.trial, v.revision,
             used.calls, used.retries, v.reader, v.circumstances.blind),
            v.item, v.case, v.marks, used.tokens_in, used.tokens_out, used.dollars, used.seconds,
            used.cached, v.circumstances.probability, v.text if v.fault == "recused" else "",
        )  # fmt: skip
