"""Columns as array literals of PostgreSQL.

psycopg writes a list out value by value in Python, which cost three times what all the rest of a commit did; a column
of one type is joined and escaped as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

MARK = "\ufdd0"
"""PostgreSQL holds no zero character: it is kept as this one, which is none, and a 0."""

_BETWEEN = "\x1e"
"""Stands between values while they are escaped; where a value has it, each is escaped by itself."""


def storable(text: str) -> str:
    """The text without zero characters."""
    if "\0" in text or MARK in text:
        return text.replace(MARK, MARK + "1").replace("\0", MARK + "0")
    return text


def texts(column: Sequence[str | None]) -> str:
    r"""
    >>> print(texts(["plain", 'a "b" \\', ""]))
    {"plain","a \"b\" \\",""}
    >>> print(texts(["NULL", None]))
    {"NULL",NULL}
    """
    if None not in column:
        joined = _BETWEEN.join(column)  # type: ignore[arg-type]
        if joined.count(_BETWEEN) == len(column) - 1:
            return '{"' + _escaped(joined).replace(_BETWEEN, '","') + '"}'
    return "{" + ",".join("NULL" if text is None else f'"{_escaped(text)}"' for text in column) + "}"


def numbers(kind: Callable[[Any], float]) -> Callable[[Sequence[float | None]], str]:
    """Writes out a column of such numbers.

    >>> numbers(float)([1, 0.1, None, float("nan")])
    '{1.0,0.1,NULL,nan}'
    """

    def literal(column: Sequence[float | None]) -> str:
        # repr is the shortest text that is read as the same number, here and by PostgreSQL
        return "{" + ",".join("NULL" if number is None else repr(kind(number)) for number in column) + "}"

    return literal


def _escaped(text: str) -> str:
    return storable(text).replace("\\", "\\\\").replace('"', '\\"')
