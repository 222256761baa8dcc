"""A ledger on a server, or the readable part of a damaged one, saved to a file of SQLite: every row in its place and
with its seal, so that noted and signed heads still hold there."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path

from fullbench.ledger import schema
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.row_conversion import Row
from fullbench.ledger.sqlite.open_file import written_whole

CHUNK = 1000

MOST_UNREADABLE = 10
"""The end of a damaged table, if its last rowid cannot be read: this many chunks in a row without a readable row."""


def save(reader: Connection, target: Path) -> None:
    """Write all rows of one moment to a file, whole or not at all."""
    with reader.snapshot():
        _save(lambda listed, table: reader.stream(f"SELECT {listed} FROM {table} ORDER BY rowid"), target)


def save_readable(source: sqlite3.Connection, target: Path) -> None:
    """Write all rows of a damaged ledger that can still be read to a file, whole or not at all."""
    source.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    try:
        _save(partial(_readable_rows, source), target)
    finally:
        source.text_factory = str


def _save(rows_of: Callable[[str, str], Iterator[Row]], target: Path) -> None:
    with written_whole(target) as connection:
        connection.execute("BEGIN IMMEDIATE")
        schema.create(connection)
        for table in schema.TABLES:
            names = ("rowid", *schema.columns(table), "writer", "number", "link")
            _copy(rows_of(", ".join(names), table), connection, table, names)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")


def _copy(rows: Iterator[Row], connection: sqlite3.Connection, table: str, names: Sequence[str]) -> None:
    sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    for chunk in _chunks(rows):
        connection.executemany(sql, chunk)


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


def _readable_rows(source: sqlite3.Connection, listed: str, table: str) -> Iterator[Row]:
    """Yield the rows of a table that can be read."""
    last, unreadable = _last_rowid(source, table), 0
    for first in count(1, CHUNK):
        if unreadable == MOST_UNREADABLE if last is None else first > last:
            return
        rows = list(_readable_range(source, listed, table, first, first + CHUNK - 1))
        yield from rows
        unreadable = 0 if rows else unreadable + 1


def _readable_range(source: sqlite3.Connection, listed: str, table: str, first: int, last: int) -> Iterator[Row]:
    """Yield the readable rows between two rowids; look for them in both halves if the whole cannot be read."""
    # A single row is not asked for as a range: SQLite would read the next row too, which may be damaged.
    condition, values = ("= ?", (first,)) if first == last else ("BETWEEN ? AND ?", (first, last))
    try:
        rows = source.execute(f"SELECT {listed} FROM {table} WHERE rowid {condition}", values).fetchall()
    except sqlite3.DatabaseError:
        if first < last:
            middle = (first + last) // 2
            yield from _readable_range(source, listed, table, first, middle)
            yield from _readable_range(source, listed, table, middle + 1, last)
    else:
        yield from filter(_is_storable, rows)


def _last_rowid(source: sqlite3.Connection, table: str) -> int | None:
    """Return the last rowid, or None if the end of the table cannot be read."""
    try:
        return int(source.execute(f"SELECT coalesce(max(rowid), 0) FROM {table}").fetchone()[0])
    except sqlite3.DatabaseError:
        return None


def _is_storable(row: Row) -> bool:
    """Check that texts are valid UTF-8: a page with bytes of another file can look like rows."""
    try:
        return all(not isinstance(value, str) or value.encode() is not None for value in row)
    except UnicodeEncodeError:
        return False
