"""From rows of verdicts, in any order and from any store, to columns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np

from fullbench.columns.table import STUDY, Array, Columns, Due, grouped
from fullbench.nouns.record import Record
from fullbench.nouns.verdict import FAULTS, Verdict

CHUNK = 20_000
KIND = ("study", "judge", "criterion", "ballot", "rater", "fault", "contestants", "samples")
"""What many rows share; a store may hand it over as one text, which is taken apart once for all of them."""
WHOLE = ("trial", "revision", "calls", "retries", "tokens_in", "tokens_out")
REAL = ("dollars", "seconds")
ROW = ("kind", "item", "case", "marks", "reason", *WHOLE, *REAL)
"""What a row has, in this order. Marks are a tuple, or a text that `parse` reads; `reason` is what a judge that recused
itself said."""

_MOST_MARKS = 1 << 16
_TEXTS = KIND[:5]
_FAULTS: dict[str, int] = {fault: place for place, fault in enumerate(FAULTS)}

Kind = tuple[str, str, str, str, str, str | None, Sequence[str], Sequence[int]]


def _itself(value: Any) -> Any:
    return value


class Builder:
    """Takes rows a chunk at a time and keeps narrow arrays of them.

    `kind` gives the parts of a row's kind, in the order of `KIND`; `parse` gives the marks.
    """

    def __init__(
        self, kind: Callable[[Any], Kind] = _itself, parse: Callable[[Any], Sequence[float]] = _itself
    ) -> None:
        self._kind, self._parse = kind, parse
        self._kinds: dict[Hashable, int] = {}
        self._items: dict[str, int] = {}
        self._marks = _Marks(parse)
        self._arrays: dict[str, list[Array]] = {}
        self._reasons: dict[int, str] = {}
        self._size = 0

    def extend(self, rows: Iterable[Sequence[Any]]) -> None:
        """Rows as `ROW` names their parts."""
        stream = iter(rows)
        while chunk := list(islice(stream, CHUNK)):
            self.add(dict(zip(ROW, zip(*chunk, strict=True), strict=True)))

    def add(self, chunk: Mapping[str, Sequence[Any]]) -> None:
        """A chunk of rows by columns."""
        self._keep("kind", _coded(self._kinds, chunk["kind"]), np.int32)
        self._keep("item", _coded(self._items, chunk["item"]), np.int32)
        self._keep("case", _numbers(chunk["case"]), np.uint64)
        self._keep("mark", self._marks.flat(chunk["marks"]), np.float64)
        for name in WHOLE:
            self._keep(name, chunk[name], np.int32)
        for name in REAL:
            # A price that is not known is no number; numpy makes NaN of None.
            self._keep(name, chunk[name], np.float64)
        if any(chunk["reason"]):
            self._reasons |= {self._size + place: text for place, text in enumerate(chunk["reason"]) if text}
        self._size += len(chunk["kind"])

    def _keep(self, name: str, values: Any, kind: Any) -> None:
        self._arrays.setdefault(name, []).append(np.asarray(values, dtype=kind))

    def finish(self, due: Iterable[Due] = ()) -> Columns:
        """The columns, their rows in an order that does not depend on the order in which they came."""
        arrays: dict[str, Array] = {
            name: np.concatenate(parts) if (parts := self._arrays.pop(name, [])) else np.zeros(0, dtype=np.int32)
            for name in ("kind", "item", "case", "mark", *WHOLE, *REAL)
        }
        kinds = [self._kind(kind) for kind in self._kinds]
        names: dict[str, tuple[str, ...]] = {}
        kind = arrays.pop("kind")
        for place, name in enumerate(_TEXTS):
            names[name] = tuple(sorted({str(one[place]) for one in kinds}))
            arrays[name] = _tight(_places(names[name], [str(one[place]) for one in kinds])[kind], len(names[name]))
        names["item"] = tuple(sorted(self._items))
        arrays["item"] = _tight(_places(names["item"], self._items)[arrays["item"]], len(names["item"]))
        names["contestant"] = tuple(sorted({name for one in kinds for name in one[6]}))
        lost = np.array([-1 if one[5] is None else _FAULTS[one[5]] for one in kinds] or [-1], dtype=np.int8)
        arrays["fault"] = lost[kind]
        return _laid_out(arrays, names, kind, _Shown.of(kinds, names["contestant"]), reasons=self._reasons, due=due)


class _Marks:
    """Marks as one flat array; equal texts are parsed once as long as they are few."""

    def __init__(self, parse: Callable[[Any], Sequence[float]]) -> None:
        self._parse = parse
        self._known: dict[Any, Sequence[float]] = {}

    def flat(self, marks: Sequence[Any]) -> Array:
        """The marks of a chunk, one response after the other; a fault has none."""
        codes: dict[Any, int] = {}
        each = _coded(codes, marks)
        if len(self._known) > _MOST_MARKS:
            self._known.clear()
        found = []
        for value in codes:
            if value not in self._known:
                self._known[value] = () if value is None else self._parse(value)
            found.append(self._known[value])
        lengths = np.array([len(one) for one in found], dtype=np.int64)
        values = np.array([mark for one in found for mark in one], dtype=np.float64)
        return values[_spread((np.cumsum(lengths) - lengths)[each], lengths[each])]


class _Shown:
    """The responses of each kind, flat: who, which sample, and where a kind's begin."""

    def __init__(self, contestant: Array, sample: Array, sizes: Array, rank: Array) -> None:
        self.contestant, self.sample, self.sizes, self.rank = contestant, sample, sizes, rank
        self.start = np.cumsum(sizes) - sizes

    @classmethod
    def of(cls, kinds: Sequence[Kind], contestants: tuple[str, ...]) -> _Shown:
        place = {name: number for number, name in enumerate(contestants)}
        panels = [
            tuple(zip((place[name] for name in one[6]), one[7] or (0,) * len(one[6]), strict=True)) for one in kinds
        ]
        order = {panel: number for number, panel in enumerate(sorted(set(panels)))}
        flat = [shown for panel in panels for shown in panel]
        return cls(
            np.array([who for who, _ in flat] or [0], dtype=np.int32),
            np.array([sample for _, sample in flat] or [0], dtype=np.int32),
            np.array([len(panel) for panel in panels] or [0], dtype=np.int64),
            np.array([order[panel] for panel in panels] or [0], dtype=np.int32),
        )


def _laid_out(
    arrays: dict[str, Array], names: Mapping[str, tuple[str, ...]], kind: Array, shown: _Shown, *,
    reasons: Mapping[int, str], due: Iterable[Due],
) -> Columns:  # fmt: skip
    """All columns in one order: by what a verdict is, whenever it came."""
    keys = [arrays[name] for name in ("study", "judge", "criterion", "ballot", "item")]
    code, _ = grouped(*keys, shown.rank[kind], arrays["trial"], arrays["rater"], arrays["revision"])
    order = np.lexsort((arrays["case"], code))
    sizes, ruled = shown.sizes[kind], np.where(arrays["fault"] < 0, shown.sizes[kind], 0)
    came, marks = np.cumsum(ruled) - ruled, arrays.pop("mark")
    kind, sizes, ruled = kind[order], sizes[order], ruled[order]
    at = _spread(shown.start[kind], sizes)
    mark = np.full(len(at), np.nan)
    mark[np.repeat(ruled > 0, sizes)] = marks[_spread(came[order], ruled)]
    kept = {name: array[order] for name, array in arrays.items()}
    row_of = {int(row): number for number, row in enumerate(order)} if reasons else {}
    return Columns(
        names=names,
        start=_tight(np.concatenate([[0], np.cumsum(sizes)])),
        contestant=_tight(shown.contestant[at], len(names["contestant"])),
        sample=_tight(shown.sample[at]),
        mark=mark,
        recusals=dict(sorted((row_of[row], text) for row, text in reasons.items())),
        due=tuple(sorted(due, key=lambda one: (one.study, one.judge, one.criterion, one.family))),
        failed=(),
        **{name: kept[name] for name in (*_TEXTS, "item")},
        **{name: _tight(kept[name]) for name in WHOLE},
        case=kept["case"].astype(np.uint64),
        fault=kept["fault"].astype(np.int8),
        dollars=kept["dollars"].astype(np.float64),
        seconds=kept["seconds"].astype(np.float64),
    )


def _spread(start: Array, sizes: Array) -> Array:
    """The places start, start + 1, ... of each row, as many as its size, one row after the other.

    >>> _spread(np.array([5, 0]), np.array([2, 1])).tolist()
    [5, 6, 0]
    """
    before = np.cumsum(sizes) - sizes
    return np.repeat(start - before, sizes) + np.arange(int(sizes.sum()))


def _places(names: Sequence[str], labels: Iterable[str]) -> Array:
    place = {label: number for number, label in enumerate(names)}
    return np.array([place[label] for label in labels] or [0], dtype=np.int32)


def _coded(codes: dict[Any, int], values: Iterable[Any]) -> list[int]:
    """The number of each value, new ones numbered on."""
    try:
        return [codes[value] for value in values]
    except KeyError:
        for value in dict.fromkeys(values):
            codes.setdefault(value, len(codes))
        return [codes[value] for value in values]


def _numbers(keys: Sequence[str]) -> Array:
    """64 bits of each case's key: the first half of a digest, a digest of anything else."""
    if set(map(len, keys)) == {32}:
        try:
            whole = bytes.fromhex("".join(keys))
        except ValueError:
            whole = b""
        if len(whole) == 16 * len(keys):
            return np.frombuffer(whole, dtype=">u8")[::2]
    return np.frombuffer(b"".join(map(_number, keys)), dtype=">u8")


def _number(key: str) -> bytes:
    try:
        whole = bytes.fromhex(key)
    except ValueError:
        whole = b""
    return whole[:8] if len(key) == 32 and len(whole) == 16 else blake2b(key.encode(), digest_size=8).digest()


def _tight(values: Array, most: int | None = None) -> Array:
    """The same whole numbers in as few bytes as their largest needs."""
    largest = int(values.max(initial=0)) if most is None else max(most - 1, 0)
    return values.astype(np.min_scalar_type(largest) if values.min(initial=0) >= 0 else np.int64)


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
            (study, v.judge, v.criterion, v.ballot, v.rater, v.fault, v.contestants, numbers),
            v.item, v.case, v.marks, v.text if v.fault == "recused" else "", v.trial, v.revision,
            used.calls, used.retries, used.tokens_in, used.tokens_out, used.dollars, used.seconds,
        )  # fmt: skip
