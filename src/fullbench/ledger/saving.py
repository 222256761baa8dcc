"""A ledger on a server, saved to a file of SQLite: every row in its place and with its seal, so that noted and signed
heads still hold there."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from fullbench.ledger import schema
from fullbench.ledger.database import Connection
from fullbench.ledger.opening import written_whole
from fullbench.ledger.rows import Row

CHUNK = 1000
FIRST_KEYS = {**schema.KEYS, "verdicts": ("case_key", "judge", "trial")}
"""What there was one row of at most in schema 3."""


def save(reader: Connection, version: int, target: Path) -> None:
    """Write all rows of one moment to a file, whole or not at all; `version` is the schema that they have."""
    with written_whole(target) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with reader.snapshot():
            for table in schema.FIRST if version < schema.VERSION else schema.TABLES:
                _table(reader, connection, table, version)
        for statement in schema.INDEXES if version < schema.VERSION else (*schema.INDEXES, schema.REVISED):
            connection.execute(statement)
        if version == schema.VERSION:
            schema.forbid_older(connection)  # after the rows: those of older seals stay valid
        connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")


def _table(reader: Connection, connection: sqlite3.Connection, table: str, version: int) -> None:
    if version == schema.VERSION:
        schema.create_table(connection, table)
        names = schema.columns(table)
    else:
        key = f"PRIMARY KEY ({', '.join(FIRST_KEYS[table])})" if table in FIRST_KEYS else ""
        parts = (schema.FIRST[table], schema.SEAL, key, schema.CHECKS.get(table, ""))
        connection.execute(f"CREATE TABLE {table} ({', '.join(filter(None, parts))}) STRICT")
        schema.forbid(connection, table)
        names = schema.columns(table)[: schema.sealed_width(table, 1)]
    listed = ", ".join(("rowid", *names, "writer", "number", "link"))
    marks = ", ".join("?" * (len(names) + 4))
    rows = reader.stream(f"SELECT {listed} FROM {table} ORDER BY rowid")
    for chunk in _chunks(rows):
        connection.executemany(f"INSERT INTO {table} ({listed}) VALUES ({marks})", chunk)


def _chunks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk
