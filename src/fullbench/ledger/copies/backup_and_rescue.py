"""Saves a ledger on a server, or the readable part of a damaged one, to an SQLite file.

Every row keeps its place and its row digest, so that noted and signed ledger digests stay valid.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path

from fullbench.ledger import schema
from fullbench.ledger.database_interface import Connection, chunks
from fullbench.ledger.row_conversion import Row
from fullbench.ledger.sqlite.ledger_file_opening_migration_and_copies import write_sqlite_file

CHUNK = 1000

MOST_UNREADABLE = 10
"""Number of unreadable chunks in a row that count as the end of a table, if its last rowid cannot be read."""


def save_snapshot(reader: Connection, target: Path) -> None:
    """Write all rows of a consistent snapshot to a file, completely or not at all."""
    with reader.snapshot():
        _save_tables(
            lambda column_list, table: reader.stream(f"SELECT {column_list} FROM {table} ORDER BY rowid"), target
        )


def save_readable(source: sqlite3.Connection, target: Path) -> None:
    """Write all readable rows of a damaged ledger to a file, completely or not at all."""
    source.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    try:
        _save_tables(partial(_readable_rows, source), target)
    finally:
        source.text_factory = str


def _save_tables(rows_of: Callable[[str, str], Iterator[Row]], target: Path) -> None:
    with write_sqlite_file(target) as connection:
        connection.execute("BEGIN IMMEDIATE")
        schema.create_tables(connection)
        for table in schema.TABLES:
            names = ("rowid", *schema.table_columns(table), "writer", "number", "link")
            _insert_rows(rows_of(", ".join(names), table), connection, table, names)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")


def _insert_rows(rows: Iterator[Row], connection: sqlite3.Connection, table: str, names: Sequence[str]) -> None:
    sql = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    for chunk in chunks(rows, CHUNK):
        connection.executemany(sql, chunk)


def _readable_rows(source: sqlite3.Connection, column_list: str, table: str) -> Iterator[Row]:
    last, unreadable = _last_rowid(source, table), 0
    for first in count(1, CHUNK):
        if unreadable == MOST_UNREADABLE if last is None else first > last:
            return
        rows = list(_readable_range(source, column_list, table, first, first + CHUNK - 1))
        yield from rows
        unreadable = 0 if rows else unreadable + 1


def _readable_range(source: sqlite3.Connection, column_list: str, table: str, first: int, last: int) -> Iterator[Row]:
    # A single row is read by `=`: for a range SQLite would also read the next row, which may be damaged.
    condition, values = ("= ?", (first,)) if first == last else ("BETWEEN ? AND ?", (first, last))
    try:
        rows = source.execute(f"SELECT {column_list} FROM {table} WHERE rowid {condition}", values).fetchall()
    except sqlite3.DatabaseError:
        if first < last:
            middle = (first + last) // 2
            yield from _readable_range(source, column_list, table, first, middle)
            yield from _readable_range(source, column_list, table, middle + 1, last)
    else:
        yield from filter(_is_storable, rows)


def _last_rowid(source: sqlite3.Connection, table: str) -> int | None:
    """Return the last rowid, or None if the end of the table cannot be read."""
    try:
        return int(source.execute(f"SELECT coalesce(max(rowid), 0) FROM {table}").fetchone()[0])
    except sqlite3.DatabaseError:
        return None


def _is_storable(row: Row) -> bool:
    """True if all texts are valid UTF-8: a page with bytes of another file can look like rows."""
    try:
        return all(not isinstance(value, str) or value.encode() is not None for value in row)
    except UnicodeEncodeError:
        return False
