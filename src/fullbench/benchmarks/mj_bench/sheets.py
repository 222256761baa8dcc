"""Reading the released tables: each file has its columns, and what does not fit is named with file and line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fullbench.errors import InputError
from fullbench.files.nouns import read_rows


def rows(folder: Path, name: str, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a released file, packed or not, with their lines; every column asked for is there."""
    path = found(folder, name)
    for number, (line, row) in enumerate(read_rows(path)):
        if not number and (lacking := [column for column in columns if column not in row]):
            raise InputError(f"the column {lacking[0]!r} is missing; found {', '.join(row)}", path=path, line=line)
        yield line, row


def found(folder: Path, name: str) -> Path:
    """Where a released file lies: `NAME.gz`, or `NAME` when it was unpacked."""
    if not folder.is_dir():
        raise InputError("there is no such folder; give the one that holds the released files", path=folder)
    for path in (folder / f"{name}.gz", folder / name):
        if path.exists():
            return path
    raise InputError("the file is missing; the release has it", path=folder / f"{name}.gz")


def number(value: Any, path: Path, line: int, column: str) -> float:
    """A finite number."""
    try:
        read = float(value)
    except (TypeError, ValueError):
        read = math.inf
    if not math.isfinite(read):
        raise InputError(f"{column!r} must be a number; found {value!r}", path=path, line=line)
    return read


def one_of(value: Any, known: Sequence[str], path: Path, line: int, column: str) -> str:
    """One of the words a column may hold."""
    if value not in known:
        raise InputError(f"{column!r} must be one of {', '.join(known)}; found {value!r}", path=path, line=line)
    return str(value)
