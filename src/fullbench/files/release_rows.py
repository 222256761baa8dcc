"""Checked rows of files in a benchmark's release, gzipped or not; errors name file and line.

Users' files have several names for one field, and tags: `files.row_fields` reads those.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fullbench.errors import InputError
from fullbench.files.row_readers import read_rows


@dataclass(frozen=True, slots=True)
class Row:
    """One row with its file and line."""

    path: Path
    line: int
    values: Mapping[str, Any]

    def error(self, message: str) -> InputError:
        return InputError(message, path=self.path, line=self.line)

    def text(self, name: str) -> str:
        """Return a required field as text."""
        value = self.values.get(name)
        if value is None or not str(value):
            raise self.error(f"the field {name!r} is missing; found {', '.join(map(str, self.values)) or 'none'}")
        return str(value)

    def one_of(self, name: str, choices: Collection[str]) -> str:
        """Return a field that must be one of some words."""
        value = self.text(name)
        if value not in choices:
            raise self.error(f"{name!r} must be one of {', '.join(choices)}; found {value!r}")
        return value

    def integer(self, name: str) -> int:
        """Return a field that must be a whole number."""
        value = self.text(name)
        if not value.lstrip("-").isdecimal():
            raise self.error(f"{name!r} must be a whole number; found {value!r}")
        return int(value)

    def number(self, name: str) -> float:
        """Return a field that must be a finite number."""
        value = self.text(name)
        try:
            number = float(value)
        except ValueError:
            number = math.inf
        if not math.isfinite(number):
            raise self.error(f"{name!r} must be a finite number; found {value!r}")
        return number

    def names(self, name: str) -> list[str]:
        """Return a field that must be a list of names."""
        value = self.values.get(name)
        if not isinstance(value, list) or not all(isinstance(element, str) for element in value):
            raise self.error(f"{name!r} must be a list of names; found {value!r}")
        return value

    def contestant_pair(self, first: str, second: str) -> tuple[str, str]:
        """Return the two contestants of a row, which must differ."""
        names = self.text(first), self.text(second)
        if names[0] == names[1]:
            raise self.error(f"{names[0]!r} meets itself; a match needs two contestants")
        return names


class MissingReleaseFile(InputError):
    """A folder lacks a file that a benchmark reads."""


def release_file(folder: Path, name: str) -> Path:
    """Return the path of a released file: `NAME.gz`, or `NAME` if it was unpacked."""
    if not folder.is_dir():
        raise InputError(f"there is no such folder; give the one with {name}.gz", path=folder)
    for path in (folder / f"{name}.gz", folder / name):
        if path.exists():
            return path
    raise MissingReleaseFile("the file is missing; `fullbench list` says what is read", path=folder / f"{name}.gz")


def released_rows(folder: Path, name: str, columns: Sequence[str] = ()) -> Iterator[Row]:
    """Yield the rows of a released file; its first row must have all of these columns."""
    path = release_file(folder, name)
    for number, (line, values) in enumerate(read_rows(path)):
        if not number and (lacking := [column for column in columns if column not in values]):
            raise InputError(f"the column {lacking[0]!r} is missing; found {', '.join(values)}", path=path, line=line)
        yield Row(path, line, values)
