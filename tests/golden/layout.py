"""How golden values are written down: the same bytes on every run, in lines short enough for a diff."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH = 120
LARGE = 100_000
"""A file above this many characters, types aside, keeps a digest of each table and its first rows instead of all."""

FIRST = 3


def steady(value: Any) -> Any:
    """The value with its floats at twelve significant digits: the last few depend on the processor that added them."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        return 0.0 if abs(value) < 1e-12 else float(f"{value:.12g}")
    if isinstance(value, Mapping):
        return {key: steady(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [steady(entry) for entry in value]
    return value


def line(value: Any) -> str:
    """JSON on one line, in one spelling."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def written(value: Any) -> str:
    """JSON that breaks a line only where it is too long, with a line's end at the end."""
    return _broken(steady(value), "") + "\n"


def _broken(value: Any, indent: str) -> str:
    short = line(value)
    if len(indent) + len(short) <= WIDTH or not isinstance(value, dict | list):
        return short
    deeper = indent + " "
    if isinstance(value, list):
        inner = [_broken(entry, deeper) for entry in value]
        return "[\n" + ",\n".join(deeper + entry for entry in inner) + f"\n{indent}]"
    inner = [f"{line(key)}: {_broken(value[key], deeper)}" for key in sorted(value)]
    return "{\n" + ",\n".join(deeper + entry for entry in inner) + f"\n{indent}}}"


def sha256(data: bytes | str) -> str:
    return hashlib.sha256(data.encode("utf-8") if isinstance(data, str) else data).hexdigest()


def brief(table: Mapping[str, Any], rows: str = "rows") -> dict[str, Any]:
    """A table by the digest of its rows, their number and the first of them."""
    every = steady(table[rows])
    return {**table, rows: {"count": len(every), "first": every[:FIRST], "sha256": sha256(line(every))}}


def written_tables(head: Mapping[str, Any], tables: Sequence[Mapping[str, Any]]) -> str:
    """Tables with all their rows where these are few, and with digests of them where they are many."""
    plain = [{name: value for name, value in table.items() if name != "types"} for table in tables]
    few = len(written({**head, "tables": plain})) <= LARGE
    return written({**head, "tables": list(tables) if few else [brief(table) for table in tables]})
