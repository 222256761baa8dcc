"""What is known of contestants, from a file with a row for each."""

from __future__ import annotations

from pathlib import Path

from fullbench.analysis.boards.contestant_facts import RANK
from fullbench.core.table import Cell
from fullbench.errors import InputError
from fullbench.files.readers import read_rows

_NAME = "contestant"


def read_about(path: Path) -> dict[str, dict[str, Cell]]:
    """Rows with a `contestant` and any other columns; whole numbers are numbers, and `rank` must be one."""
    about: dict[str, dict[str, Cell]] = {}
    for line, row in read_rows(path):
        name = str(row.get(_NAME) or "").strip()
        if not name:
            found = ", ".join(map(str, row))
            raise InputError(f"a row says of whom it is in the column '{_NAME}'; found {found}", path=path, line=line)
        if name in about:
            raise InputError(f"{name!r} has a second row; leave one out", path=path, line=line)
        about[name] = {key: _cell(value) for key, value in row.items() if key != _NAME}
        rank = about[name].get(RANK)
        if rank is not None and not isinstance(rank, int):
            raise InputError(f"a {RANK} is a whole number, 1 for the best; found {rank!r}", path=path, line=line)
    return about


def _cell(value: object) -> Cell:
    text = "" if value is None else str(value).strip()
    if not text or text == "-":
        return None
    return int(text) if text.isascii() and text.isdigit() else text
