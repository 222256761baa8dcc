"""Rows of released files, each field checked as it is taken."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fullbench.errors import InputError
from fullbench.files.readers import read_rows


@dataclass(frozen=True, slots=True)
class Row:
    """One row, and where it stands."""

    path: Path
    line: int
    values: Mapping[str, Any]

    def error(self, message: str) -> InputError:
        return InputError(message, path=self.path, line=self.line)

    def text(self, name: str) -> str:
        """A field that must be there, as text."""
        value = self.values.get(name)
        if value is None or not str(value):
            raise self.error(f"the row has no {name!r}; it has {', '.join(map(str, self.values))}")
        return str(value)

    def one_of(self, name: str, known: Collection[str]) -> str:
        """A field that must be one of some words."""
        value = self.text(name)
        if value not in known:
            raise self.error(f"{name!r} is {value!r}; known: {', '.join(known)}")
        return value

    def whole(self, name: str) -> int:
        """A field that must be a whole number."""
        value = self.text(name)
        if not value.lstrip("-").isdecimal():
            raise self.error(f"{name!r} must be a whole number; found {value!r}")
        return int(value)

    def number(self, name: str) -> float:
        """A field that must be a number."""
        value = self.text(name)
        try:
            return float(value)
        except ValueError as error:
            raise self.error(f"{name!r} must be a number; found {value!r}") from error

    def names(self, name: str) -> list[str]:
        """A field that must be a list of names."""
        value = self.values.get(name)
        if not isinstance(value, list) or not all(isinstance(element, str) for element in value):
            raise self.error(f"{name!r} must be a list of names")
        return value


def rows_of(data: Path, file: str) -> Iterator[Row]:
    """The rows of one of the released files."""
    path = data / file
    if not path.is_file():
        raise InputError(f"{file} is not there; --data names the folder with the released files", path=data)
    for line, values in read_rows(path):
        yield Row(path, line, values)
