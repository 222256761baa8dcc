"""The tables of a ledger as views of a lake's segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fullbench.ledger.lake.connection import files_sql
from fullbench.ledger.lake.inlined import INLINED, Inlined, columns
from fullbench.ledger.lake.segments import LINKED


def of_segments(files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """SQL for each table, from the files of its segments and of those that its rows stand within."""
    parts: dict[str, list[str]] = {}
    for table, paths in files.items():
        source, within = files_sql(paths), INLINED.get(table)
        parts.setdefault(table, []).append(f"SELECT {_own(table, within)} FROM {source}")
        if within is not None:
            parts.setdefault(within.table, []).append(f"SELECT {_inside(within)} FROM {source} WHERE {within.present}")
    return {table: " UNION ALL ".join(selected) for table, selected in parts.items()}


def _own(table: str, within: Inlined | None) -> str:
    """The columns of a table from its own segments; what stands within its rows is not among them."""
    left_out = {} if within is None else within.listed
    named = [
        f"""coalesce("{name}", '["' || {within.stored(left_out[name])} || '"]') AS "{name}" """.strip()
        if within is not None and name in left_out
        else f'"{name}"'
        for name in columns(table)
    ]
    return ", ".join((*named, "link" if table in LINKED else "NULL AS link"))


def _inside(within: Inlined) -> str:
    """The columns of a table from the segments of its host."""
    named = ((within.same.get(name) or within.stored(name), name) for name in columns(within.table))
    return ", ".join((*(f'"{stored}" AS "{name}"' for stored, name in named), "NULL AS link"))
