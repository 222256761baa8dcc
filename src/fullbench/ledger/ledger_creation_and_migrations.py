"""Creation of new ledgers, and schema migrations. Existing rows keep their columns and row digests."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator

from fullbench.errors import LedgerError
from fullbench.ledger import schema
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.integrity.row_chain import Chain
from fullbench.ledger.row_conversion import Row
from fullbench.ledger.sqlite.connection import SqliteConnection

Step = Callable[[Connection], Iterable[str]]
"""Yields SQL statements with SQLite types; between them it may read and add rows through the connection."""

MIGRATIONS: dict[int, Step] = {}
"""Step to the next version, for each older version that can be migrated."""


def create_ledger(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty SQLite database, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    schema.create_tables(connection)
    add_identity(SqliteConnection(connection))
    connection.execute("COMMIT")


def add_identity(connection: Connection) -> None:
    """Give a new ledger an identity and a salt, within the open transaction."""
    chain = Chain.begin()
    now = time.time()
    setting_rows: list[Row] = [("identity", secrets.token_hex(16), now), ("salt", secrets.token_hex(32), now)]
    connection.insert("settings", chain.seal("settings", setting_rows))
    connection.insert("commits", chain.seal("commits", [(now, schema.SEALS)]))


def refuse_other_versions(place: object, version: int, *, read_only: bool = False) -> None:
    """Refuse a ledger that is newer than this code, or too old to be migrated.

    Args:
        place: The ledger's path or address.
        version: The version that it has.
        read_only: Also refuse a ledger that would have to be migrated.
    """
    if version == schema.VERSION:
        return
    if version > schema.VERSION:
        advice = "Install a newer fullbench."
    elif any(older not in MIGRATIONS for older in range(version, schema.VERSION)):
        advice = "Judge again into a new ledger, or use the build that wrote it."
    elif read_only:
        advice = "Run `fullbench ledger upgrade` first."
    else:
        return
    raise LedgerError(
        f"{place}: the ledger has version {version}, and this fullbench reads version {schema.VERSION}. {advice}"
    )


def migration_statements(connection: Connection, version: int) -> Iterator[str]:
    """Yield the SQL of all steps from an older version to `schema.VERSION`."""
    for older in range(version, schema.VERSION):
        yield from MIGRATIONS[older](connection)
