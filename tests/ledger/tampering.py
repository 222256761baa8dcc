"""Hands in a ledger that are not the ledger's own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg

from fullbench.ledger import schema
from fullbench.ledger.database_from_path import is_url
from fullbench.ledger.postgres.database import SPACE


@contextmanager
def intruder(place: str, *, disarmed: bool = True) -> Iterator[Any]:
    """A bare connection, in which everything may be changed once the triggers are `disarmed`."""
    if is_url(place):
        with psycopg.connect(place, autocommit=True) as server:
            server.execute(f"SET search_path TO {SPACE}")
            if disarmed:
                for table in schema.TABLES:
                    server.execute(f"DROP TRIGGER {table}_forbid ON {table}")
            yield server
        return
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        if disarmed:
            for table in schema.TABLES:
                connection.execute(f"DROP TRIGGER {table}_update")
                connection.execute(f"DROP TRIGGER {table}_delete")
        yield connection


REFUSED = (sqlite3.IntegrityError, psycopg.IntegrityError)
