"""Ledgers that name an older version, and a made-up step from it."""

from __future__ import annotations

from collections.abc import Iterator

from fullbench.ledger import schema
from fullbench.ledger.database_from_path import is_url
from fullbench.ledger.database_interface import Connection
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.postgres.connection_with_sqlite_interface import SPACE
from tests.ledger.tampering import intruder

OLDER = schema.VERSION - 1


def make_older(place: str, version: int = OLDER) -> None:
    """Make a ledger that names an older version and lacks a column."""
    Ledger(place).close()
    with intruder(place, disarmed=False) as connection:
        connection.execute("ALTER TABLE calls DROP COLUMN stored")
        connection.execute(
            f"COMMENT ON SCHEMA {SPACE} IS 'fullbench ledger, schema {version}'"
            if is_url(place)
            else f"PRAGMA user_version = {version}"
        )


def add_column(connection: Connection) -> Iterator[str]:
    """Add the column that `make_older` took out."""
    assert connection.execute("SELECT count(*) FROM calls").fetchone()[0] == 0
    yield "ALTER TABLE calls ADD COLUMN stored INTEGER"
