"""Detection of the format of foreign files, from the beginning of each file.

An importer offers a hook, which gets a `FileHead` and returns True if the file belongs to its format:

    def is_alpaca_file(head: FileHead) -> bool:
        return head.has("instruction", "output", "generator")

    @detected_by(is_alpaca_file)
    def import_alpaca_eval(path, options): ...

Files that only support others (questions, answers, results) belong to a format as well. A hook is called for every
file of a folder, so it opens nothing and looks at the head only.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from fullbench.errors import FullbenchError
from fullbench.files.row_readers import read_rows

Hook = Callable[["FileHead"], bool]
_Importer = TypeVar("_Importer", bound=Callable[..., Any])

DATA_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".xlsx", ".eval")
_ROWS = 3
_BYTES = (1 << 18, 1 << 23)
"""Bytes of a JSON file that are parsed: at first, and if the first value is longer."""


def detected_by(hook: Hook, *, named: Hook | None = None) -> Callable[[_Importer], _Importer]:
    """Give an importer the hook that detects its files.

    Args:
        named: Hook that finds its files if the user names the importer; `hook` if None.
    """

    def mark(importer: _Importer) -> _Importer:
        importer.detects = hook  # type: ignore[attr-defined]
        importer.detects_if_named = named or hook  # type: ignore[attr-defined]
        return importer

    return mark


@dataclass(frozen=True)
class FileHead:
    """The beginning of a file. A file that cannot be read has no rows and no content."""

    path: Path

    @property
    def suffix(self) -> str:
        """Suffix in lower case, without `.gz`."""
        return Path(self.path.name.lower().removesuffix(".gz")).suffix

    @cached_property
    def content(self) -> Mapping[str, Any]:
        """The object of a .json file, empty for other files. Values that the head cuts off are shorter, or None."""
        value = self._json
        return value if isinstance(value, dict) else {}

    @cached_property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """The first rows of a table, of JSON Lines, of a JSON array, or of the array in {"data": [...]}."""
        if self.suffix != ".json":
            return self._table_rows
        value = self._json
        if isinstance(value, dict) and len(value) == 1:
            (value,) = value.values()
        rows = value if isinstance(value, list) else self._table_rows if self._is_lines else []
        return [row for row in rows[:_ROWS] if isinstance(row, dict)]

    def has(self, *names: str) -> bool:
        """Return True if the first row has all these columns."""
        return bool(self.rows) and all(name in self.rows[0] for name in names)

    def value(self, name: str) -> Any:
        """Return a column of the first row; None if it is missing."""
        return self.rows[0].get(name) if self.rows else None

    @property
    def _table_rows(self) -> list[dict[str, Any]]:
        if self.suffix not in {".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"}:
            return []
        try:
            return [row for _, row in islice(read_rows(self.path), _ROWS)]
        except FullbenchError:
            return []

    @property
    def _is_lines(self) -> bool:
        """JSON Lines with the suffix .json: the first line is an object, and so is the second."""
        lines = self._text(_BYTES[0]).splitlines()
        return len(lines) > 1 and all(line.startswith("{") for line in lines[:2])

    @cached_property
    def _json(self) -> Any:
        value = None
        for size in _BYTES if self.suffix == ".json" else ():
            text = self._text(size)
            value = parse_beginning(text)
            rows = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value
            if len(text) < size // 4 or (isinstance(rows, list | dict) and len(rows) > 1):
                break  # the file is read, or its first row is whole
        return value

    def _text(self, size: int) -> str:
        try:
            with (gzip.open if self.path.name.lower().endswith(".gz") else open)(self.path, "rb") as file:
                return file.read(size).decode("utf-8-sig", errors="ignore")
        except (OSError, EOFError, zlib.error):
            return ""


_DECODER = json.JSONDecoder()


def parse_beginning(text: str) -> Any:
    """Return the JSON value that a text begins with; if the text is cut off, as much of it as there is.

    >>> parse_beginning('[{"a": 1}, {"a": 2, "b": [1, {"c')
    [{'a': 1}, {'a': 2, 'b': [1, {}]}]
    >>> parse_beginning('{"eval": {"task": "t", "model": "gp') == {"eval": {"task": "t", "model": None}}
    True
    """
    try:
        return _parse_value(text, 0)[0]
    except RecursionError:
        return None


def _parse_value(text: str, at: int) -> tuple[Any, int]:
    """Return the value at a place of a text and its end; the end is -1 if the text is cut off or no JSON."""
    at = _skip(text, at, " \t\r\n")
    try:
        return _DECODER.raw_decode(text, at)
    except ValueError:
        pass
    if text[at : at + 1] == "[":
        return [value for value, _ in _parse_entries(text, at + 1, is_object=False)], -1
    if text[at : at + 1] == "{":
        return {name: value for value, name in _parse_entries(text, at + 1, is_object=True)}, -1
    return None, -1


def _parse_entries(text: str, at: int, *, is_object: bool) -> Iterator[tuple[Any, str]]:
    """Yield the values of an array or object with their names, the last one cut off."""
    while at >= 0 and (at := _skip(text, at, " \t\r\n,")) < len(text):
        name = ""
        if is_object:
            try:
                name, at = _DECODER.raw_decode(text, at)
            except ValueError:
                return
            at = _skip(text, at, " \t\r\n:")
            if not isinstance(name, str):
                return
        value, at = _parse_value(text, at)
        yield value, name


def _skip(text: str, at: int, characters: str) -> int:
    while at < len(text) and text[at] in characters:
        at += 1
    return at
