"""Rows of released tables, gzipped or not, with the file and line of whatever does not fit."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator
from functools import cache
from importlib import resources
from pathlib import Path

from fullbench.errors import InputError
from fullbench.files.fields import Fields
from fullbench.files.readers import read_rows


def place(folder: Path, file: str) -> Path:
    """Where a released file lies: under its name, or gzipped."""
    if not folder.is_dir():
        raise InputError(f"there is no such folder; give the one that holds {file}.gz", path=folder)
    existing = next((path for path in (folder / f"{file}.gz", folder / file) if path.exists()), None)
    if existing is None:
        raise InputError("the file is missing; the release has it", path=folder / f"{file}.gz")
    return existing


def rows(folder: Path, file: str) -> Iterator[Fields]:
    """The rows of one released file."""
    path = place(folder, file)
    for line, row in read_rows(path):
        yield Fields(path, line, row, {})


def columns(folder: Path, file: str, *, but: str) -> dict[str, list[float]]:
    """All columns of numbers of a file, `but` the one that numbers the rows.

    A cell that is empty or says nan has no number (a resample in which a contestant did not occur) and is left out.
    """
    path = place(folder, file)
    numbers: dict[str, list[float]] = {}
    for line, row in read_rows(path):
        fields = Fields(path, line, row, {})
        for name, value in row.items():
            if name != but and value not in {None, "nan"}:
                numbers.setdefault(name, []).append(number(fields, name))
    return numbers


def one_of(fields: Fields, column: str, known: Collection[str]) -> str:
    """A value that must be one of the known ones."""
    value = fields.name(column)
    if value not in known:
        raise fields.error(f"{column!r} must be one of {', '.join(known)}; found {value!r}")
    return value


def number(fields: Fields, column: str) -> float:
    """A number that must be there."""
    fields.name(column)
    return fields.number(column, 0.0)


def met(fields: Fields, first: str, second: str) -> tuple[str, str]:
    """The two contestants of a row, who must be two."""
    first_name, second_name = fields.name(first), fields.name(second)
    if first_name == second_name:
        raise fields.error(f"{first_name!r} meets itself; a duel needs two contestants")
    return first_name, second_name


@cache
def printed(name: str) -> dict[str, float]:
    """What was published for the cells of one data set, where a source prints a number."""
    text = (resources.files("fullbench.reproduce") / "printed.tsv").read_text(encoding="utf-8")
    listed = csv.DictReader(text.splitlines(), delimiter="\t")
    return {row["cell"]: float(row["printed"]) for row in listed if row["data"] == name}
