"""The tables of a ledger, and how an older ledger becomes a newer one. All SQL that makes or changes tables is here."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fullbench.ledger.chain import Chain

APPLICATION = 0x46424C47
"""Marks a SQLite file as a ledger (`PRAGMA application_id`)."""

VERSION = 3
"""The schema this code reads and writes (`PRAGMA user_version`)."""

USAGE = (
    "calls INTEGER NOT NULL, retries INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, "
    "dollars REAL, seconds REAL NOT NULL, at REAL NOT NULL"
)
NAMED = "name TEXT NOT NULL, settings TEXT NOT NULL, at REAL NOT NULL"
SEAL = "writer TEXT NOT NULL, number INTEGER NOT NULL, link TEXT NOT NULL"
"""Ends every row: who wrote it in which place, and the digest that chains it to the row before (see `chain`)."""

TABLES = {
    "judges": NAMED,
    "contestants": NAMED,
    "settings": "name TEXT NOT NULL, value TEXT NOT NULL, at REAL NOT NULL",
    "pictures": "digest TEXT NOT NULL, media TEXT NOT NULL, path TEXT",
    "items": "key TEXT NOT NULL, item TEXT NOT NULL, body TEXT NOT NULL, tags TEXT NOT NULL",
    "responses": "key TEXT NOT NULL, contestant TEXT NOT NULL, item TEXT NOT NULL, item_key TEXT NOT NULL, "
    f"trial INTEGER NOT NULL, body TEXT NOT NULL, tags TEXT NOT NULL, prompt TEXT NOT NULL, {USAGE}",
    "cases": "key TEXT NOT NULL, item_key TEXT NOT NULL, responses TEXT NOT NULL, ballot TEXT NOT NULL, "
    "criterion TEXT NOT NULL",
    "verdicts": "case_key TEXT NOT NULL, judge TEXT NOT NULL, item TEXT NOT NULL, contestants TEXT NOT NULL, "
    "ballot TEXT NOT NULL, criterion TEXT NOT NULL, trial INTEGER NOT NULL, marks TEXT, fault TEXT, "
    f"text TEXT NOT NULL, prompt TEXT NOT NULL, {USAGE}, earlier TEXT NOT NULL DEFAULT '[]', sum TEXT NOT NULL",
    "failures": "role TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, trial INTEGER NOT NULL, "
    f"error TEXT NOT NULL, {USAGE}",
    "commits": "at REAL NOT NULL",
}

KEYS = {
    "judges": ("name",),
    "contestants": ("name",),
    "pictures": ("digest",),
    "items": ("key", "tags"),
    "responses": ("item_key", "contestant", "trial"),
    "cases": ("key",),
    "verdicts": ("case_key", "judge", "trial"),
    "commits": ("writer", "number"),
}
"""What there is one row of at most."""

CHECKS = {"verdicts": "CHECK ((marks IS NULL) <> (fault IS NULL))"}
INDEXES = ("CREATE INDEX responses_key ON responses (key)",)
NO = "a ledger is append-only"


def columns(table: str) -> tuple[str, ...]:
    """The names of a table's columns, without the seal.

    >>> columns("pictures")
    ('digest', 'media', 'path')
    """
    return tuple(column.split()[0] for column in TABLES[table].split(", "))


def definition(table: str) -> str:
    """What stands between the brackets of CREATE TABLE."""
    key = f"PRIMARY KEY ({', '.join(KEYS[table])})" if table in KEYS else None
    return ", ".join(filter(None, (TABLES[table], SEAL, key, CHECKS.get(table))))


def create(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty SQLite database, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for table in TABLES:
        _create(connection, table)
    for statement in INDEXES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _create(connection: sqlite3.Connection, table: str) -> None:
    connection.execute(f"CREATE TABLE {table} ({definition(table)}) STRICT")
    _forbid(connection, table)


def _forbid(connection: sqlite3.Connection, table: str) -> None:
    for change in ("UPDATE", "DELETE"):
        connection.execute(
            f"CREATE TRIGGER {table}_{change.lower()} BEFORE {change} ON {table} BEGIN SELECT RAISE(ABORT, '{NO}'); END"
        )


def _seal_all(connection: sqlite3.Connection) -> None:
    """Chain every row of a ledger that had no chain, as if one writer had written them now."""
    from fullbench.ledger.chain import Chain

    chain = Chain.begin()
    for table in ("settings", "commits"):
        _create(connection, table)
    for table in TABLES:
        if table in {"settings", "commits"}:
            continue
        connection.execute(f"DROP TRIGGER IF EXISTS {table}_update")
        connection.execute(f"DROP TRIGGER IF EXISTS {table}_delete")
        for column in SEAL.split(", "):
            empty = "0" if "INTEGER" in column else "''"
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} DEFAULT {empty}")
        _seal_table(connection, table, chain)
        _forbid(connection, table)
    made = chain.seal("commits", [(time.time(),)])
    connection.executemany("INSERT INTO commits (at, writer, number, link) VALUES (?, ?, ?, ?)", made)


def _seal_table(connection: sqlite3.Connection, table: str, chain: Chain) -> None:
    last = 0
    sql = f"SELECT rowid, {', '.join(columns(table))} FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT 1000"
    while found := connection.execute(sql, (last,)).fetchall():
        sealed = chain.seal(table, [row[1:] for row in found])
        connection.executemany(
            f"UPDATE {table} SET writer = ?, number = ?, link = ? WHERE rowid = ?",
            [(*row[-3:], where[0]) for row, where in zip(sealed, found, strict=True)],
        )
        last = found[-1][0]


Step = str | Callable[[sqlite3.Connection], None]
MIGRATIONS: dict[int, tuple[Step, ...]] = {
    1: ("ALTER TABLE verdicts ADD COLUMN earlier TEXT NOT NULL DEFAULT '[]'",),
    2: (_seal_all,),
}
"""For each older version, the steps that lead to the next. Version 1 kept no earlier replies, version 2 no chain."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring an older ledger to `VERSION`, in one transaction: it is wholly new or wholly as it was."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(version_of(connection), VERSION):
            for step in MIGRATIONS[version]:
                if isinstance(step, str):
                    connection.execute(step)
                else:
                    step(connection)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
