"""A ledger on a server, saved to a file of SQLite: every row in its place and with its seal, so that noted and signed
heads still hold there."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from fullbench.ledger import schema
from fullbench.ledger.database import Connection
from fullbench.ledger.opening import written_whole
from fullbench.ledger.rows import Row

CHUNK = 1000


def save(reader: Connection, version: int, target: Path) -> None:
    """Write all rows of one moment to a file, whole or not at all; `version` is the schema that they have."""
    with written_whole(target) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with reader.snapshot():
            for table, columns in schema.tables_of(version).items():
                schema.create_table(connection, table, version=version)
                _copy(reader, connection, table, [column.split()[0] for column in columns.split(", ")])
        for statement in schema.INDEXES if version == 3 else (*schema.INDEXES, schema.REVISED):
            connection.execute(statement)
        if version > 3:
            schema.forbid_older(connection)  # after the rows: those of older seals stay valid
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")


def _copy(reader: Connection, connection: sqlite3.Connection, table: str, names: Sequence[str]) -> None:
    listed = ", ".join(("rowid", *names, "writer", "number", "link"))
    marks = ", ".join("?" * (len(names) + 4))
    rows = reader.stream(f"SELECT {listed} FROM {table} ORDER BY rowid")
    for chunk in _chunks(rows):
        connection.executemany(f"INSERT INTO {table} ({listed}) VALUES ({marks})", chunk)


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk
