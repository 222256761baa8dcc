"""Facts about contestants from a file, such as their size; one row per contestant."""

from __future__ import annotations

from pathlib import Path

from fullbench.analysis.boards.user_facts_about_contestants import RANK
from fullbench.core.table import Cell
from fullbench.errors import InputError
from fullbench.files.row_readers import read_rows

_NAME = "contestant"


def read_contestant_facts(path: Path) -> dict[str, dict[str, Cell]]:
    """Read rows with a `contestant` and any other columns. Whole numbers become ints; `rank` must be one."""
    facts: dict[str, dict[str, Cell]] = {}
    for line, row in read_rows(path):
        name = str(row.get(_NAME) or "").strip()
        if not name:
            column_names = ", ".join(map(str, row))
            raise InputError(
                f"a row needs its contestant in the column '{_NAME}'; found {column_names}", path=path, line=line
            )
        if name in facts:
            raise InputError(f"{name!r} has a second row; leave one out", path=path, line=line)
        facts[name] = {key: _parse_cell(value) for key, value in row.items() if key != _NAME}
        rank = facts[name].get(RANK)
        if rank is not None and not isinstance(rank, int):
            raise InputError(f"a {RANK} is a whole number, 1 for the best; found {rank!r}", path=path, line=line)
    return facts


def _parse_cell(value: object) -> Cell:
    text = "" if value is None else str(value).strip()
    if not text or text == "-":
        return None
    return int(text) if text.isascii() and text.isdigit() else text
