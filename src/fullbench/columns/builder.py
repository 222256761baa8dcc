"""From rows of verdicts, in any order and from any store, to columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import chain, islice
from typing import Any

import numpy as np

from fullbench.columns.table import NAMED, STUDY, Array, Columns, Due, grouped
from fullbench.nouns.record import Record
from fullbench.nouns.verdict import FAULTS, Verdict

CHUNK = 20_000
TEXTS = ("study", "judge", "criterion", "ballot", "item", "rater")
WHOLE = ("trial", "revision", "calls", "retries", "tokens_in", "tokens_out")
REAL = ("dollars", "seconds")
ROW = ("study", "judge", "criterion", "ballot", "item", "rater", "case", "contestants", "samples", "marks", "fault",
       "reason", *WHOLE, *REAL)  # fmt: skip
"""What a row has, in this order. Contestants, samples and marks are tuples, or the texts that `parse` reads; `reason`
is what a judge that recused itself said."""

_MOST_MARKS = 1 << 16
_HEX = re.compile(r"(?:[0-9a-f]{32})+")
_FAULTS = {fault: place for place, fault in enumerate(FAULTS)}


def _itself(value: Any) -> Any:
    return value


class Builder:
    """Takes rows a chunk at a time and keeps narrow arrays of them."""

    def __init__(self, parse: Callable[[Any], Sequence[Any]] = _itself) -> None:
        self._parse = parse
        self._codes: dict[str, dict[str, int]] = {name: {} for name in NAMED}
        self._panels: dict[Hashable, int] = {}
        self._shown: list[tuple[Sequence[str], Sequence[int]]] = []
        self._marks: dict[Any, Sequence[float]] = {}
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
        for name in TEXTS:
            self._keep(name, _coded(self._codes[name], chunk[name]), np.int32)
        panels = self._panelled(chunk["contestants"], chunk["samples"])
        self._keep("panel", panels, np.int32)
        self._keep("case", _numbers(chunk["case"]), np.uint64)
        self._keep("fault", [-1 if fault is None else _FAULTS[fault] for fault in chunk["fault"]], np.int8)
        for name in WHOLE:
            self._keep(name, chunk[name], np.int32)
        for name in REAL:
            self._keep(name, [np.nan if value is None else value for value in chunk[name]], np.float64)
        self._keep("mark", list(chain.from_iterable(self._marked(chunk["marks"], panels))), np.float64)
        for place, reason in enumerate(chunk["reason"]):
            if reason:
                self._reasons[self._size + place] = reason
        self._size += len(panels)

    def _keep(self, name: str, values: Any, kind: Any) -> None:
        self._arrays.setdefault(name, []).append(np.asarray(values, dtype=kind))

    def _panelled(self, contestants: Sequence[Any], samples: Sequence[Any]) -> list[int]:
        """The number of each verdict's panel: which answers were shown, in which order."""
        known = self._panels
        found = []
        for key in zip(contestants, samples, strict=True):
            panel = known.get(key)
            if panel is None:
                panel = known[key] = len(known)
                names = tuple(self._parse(key[0]))
                numbers = tuple(self._parse(key[1])) if key[1] else ()
                self._shown.append((names, numbers or (0,) * len(names)))
            found.append(panel)
        return found

    def _marked(self, marks: Sequence[Any], panels: Sequence[int]) -> Iterator[Sequence[float]]:
        known = self._marks
        if len(known) > _MOST_MARKS:
            known.clear()
        for value, panel in zip(marks, panels, strict=True):
            if value is None:
                yield (np.nan,) * len(self._shown[panel][0])
                continue
            found = known.get(value)
            if found is None:
                found = known[value] = self._parse(value)
            yield found

    def finish(self, due: Iterable[Due] = ()) -> Columns:
        """The columns, their rows in an order that does not depend on the order in which they came."""
        arrays: dict[str, Array] = {
            name: np.concatenate(parts) if (parts := self._arrays.pop(name, [])) else np.zeros(0, dtype=np.int32)
            for name in (*TEXTS, *WHOLE, *REAL, "panel", "case", "fault", "mark")
        }
        names, places = {}, {}
        people = self._codes["contestant"]
        for shown, _ in self._shown:
            _coded(people, shown)
        for name, codes in self._codes.items():
            names[name] = tuple(sorted(codes))
            place = {label: number for number, label in enumerate(names[name])}
            places[name] = np.array([place[label] for label in codes] or [0], dtype=np.int32)
        for name in TEXTS:
            arrays[name] = _tight(places[name][arrays[name]], len(names[name]))
        lengths = np.array([len(shown) for shown, _ in self._shown] or [0], dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        flat_names = places["contestant"][
            np.array([people[name] for shown, _ in self._shown for name in shown] or [0], dtype=np.int64)
        ]
        flat_samples = np.array([number for _, numbers in self._shown for number in numbers] or [0], dtype=np.int32)
        order = _ordered(arrays, flat_names, flat_samples, offsets)
        panel = arrays.pop("panel")[order]
        marks, sizes = arrays.pop("mark"), lengths[panel] if len(order) else lengths[:0]
        begin = np.concatenate([[0], np.cumsum(sizes)])
        before = np.empty(len(order), dtype=np.int64)
        before[order] = sizes
        came = (np.cumsum(before) - before)[order]
        inside = np.arange(begin[-1]) - np.repeat(begin[:-1], sizes)
        row_of = {int(row): number for number, row in enumerate(order)} if self._reasons else {}
        shown_at = np.repeat(offsets[panel], sizes) + inside
        kept = {name: array[order] for name, array in arrays.items()}
        for name in WHOLE:
            kept[name] = _tight(kept[name])
        return Columns(
            names=names,
            start=_tight(begin),
            contestant=_tight(flat_names[shown_at], len(names["contestant"])),
            sample=_tight(flat_samples[shown_at]),
            mark=marks[np.repeat(came, sizes) + inside].astype(np.float64),
            recusals=dict(sorted((row_of[row], text) for row, text in self._reasons.items())),
            due=tuple(sorted(due, key=lambda one: (one.study, one.judge, one.criterion, one.family))),
            **{**kept, "case": kept["case"].astype(np.uint64), "fault": kept["fault"].astype(np.int8),
               "dollars": kept["dollars"].astype(np.float64), "seconds": kept["seconds"].astype(np.float64)},
        )  # fmt: skip


def _ordered(arrays: Mapping[str, Array], names: Array, samples: Array, offsets: Array) -> Array:
    """The rows sorted by what they are; panels by the names they show, not by when they came."""
    spelt = [
        tuple(zip(names[begin:end].tolist(), samples[begin:end].tolist(), strict=True))
        for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    ]
    place = {panel: number for number, panel in enumerate(sorted(set(spelt)))}
    rank = np.array([place[panel] for panel in spelt] or [0], dtype=np.int32)
    keys = ("study", "judge", "criterion", "ballot", "item")
    code, _ = grouped(*(arrays[name] for name in keys), rank[arrays["panel"]], arrays["trial"], arrays["rater"],
                      arrays["revision"])  # fmt: skip
    return np.lexsort((arrays["case"], code))


def _coded(codes: dict[str, int], values: Iterable[str]) -> list[int]:
    """The number of each text, new ones numbered on."""
    try:
        return [codes[value] for value in values]
    except KeyError:
        for value in values:
            codes.setdefault(value, len(codes))
        return [codes[value] for value in values]


def _numbers(keys: Sequence[str]) -> Array:
    """64 bits of each case's key: the first half of a digest, a digest of anything else."""
    text = "".join(keys)
    if len(text) == 32 * len(keys) and all(len(key) == 32 for key in keys) and _HEX.fullmatch(text):
        return np.frombuffer(bytes.fromhex(text), dtype=">u8")[::2]
    halves = [
        key[:16] if len(key) == 32 and _HEX.fullmatch(key) else blake2b(key.encode(), digest_size=8).hexdigest()
        for key in keys
    ]
    return np.frombuffer(bytes.fromhex("".join(halves)), dtype=">u8")


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
    """Verdicts as rows for a builder that parses nothing."""
    for v in verdicts:
        used = v.usage
        yield (
            study, v.judge, v.criterion, v.ballot, v.item, v.rater, v.case, v.contestants,
            v.samples if any(v.samples) else (), v.marks, v.fault, v.text if v.fault == "recused" else "",
            v.trial, v.revision, used.calls, used.retries, used.tokens_in, used.tokens_out, used.dollars, used.seconds,
        )  # fmt: skip
