"""The tables of a ledger, and how an older ledger becomes a newer one. All SQL that makes or changes tables is here."""

from __future__ import annotations

import sqlite3

APPLICATION = 0x46424C47
"""Marks a SQLite file as a ledger (`PRAGMA application_id`)."""

VERSION = 2
"""The schema this code reads and writes (`PRAGMA user_version`)."""

USAGE = (
    "calls INTEGER NOT NULL, retries INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, "
    "dollars REAL, seconds REAL NOT NULL, at REAL NOT NULL"
)

TABLES = {
    "judges": "name TEXT PRIMARY KEY, settings TEXT NOT NULL, at REAL NOT NULL",
    "contestants": "name TEXT PRIMARY KEY, settings TEXT NOT NULL, at REAL NOT NULL",
    "pictures": "digest TEXT PRIMARY KEY, media TEXT NOT NULL, path TEXT",
    "items": "key TEXT NOT NULL, item TEXT NOT NULL, body TEXT NOT NULL, tags TEXT NOT NULL, PRIMARY KEY (key, tags)",
    "responses": "key TEXT NOT NULL, contestant TEXT NOT NULL, item TEXT NOT NULL, item_key TEXT NOT NULL, "
    f"trial INTEGER NOT NULL, body TEXT NOT NULL, tags TEXT NOT NULL, prompt TEXT NOT NULL, {USAGE}, "
    "PRIMARY KEY (item_key, contestant, trial)",
    "cases": "key TEXT PRIMARY KEY, item_key TEXT NOT NULL, responses TEXT NOT NULL, ballot TEXT NOT NULL, "
    "criterion TEXT NOT NULL",
    "verdicts": "case_key TEXT NOT NULL, judge TEXT NOT NULL, item TEXT NOT NULL, contestants TEXT NOT NULL, "
    "ballot TEXT NOT NULL, criterion TEXT NOT NULL, trial INTEGER NOT NULL, marks TEXT, fault TEXT, "
    f"text TEXT NOT NULL, prompt TEXT NOT NULL, {USAGE}, earlier TEXT NOT NULL DEFAULT '[]', sum TEXT NOT NULL, "
    "PRIMARY KEY (case_key, judge, trial), CHECK ((marks IS NULL) <> (fault IS NULL))",
    "failures": "role TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, trial INTEGER NOT NULL, "
    f"error TEXT NOT NULL, {USAGE}",
}

INDEXES = ("CREATE INDEX responses_key ON responses (key)",)


def create(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty database, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for table, columns in TABLES.items():
        connection.execute(f"CREATE TABLE {table} ({columns}) STRICT")
        for change in ("UPDATE", "DELETE"):
            connection.execute(
                f"CREATE TRIGGER {table}_{change.lower()} BEFORE {change} ON {table} "
                "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
            )
    for statement in INDEXES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


MIGRATIONS = {
    1: ("ALTER TABLE verdicts ADD COLUMN earlier TEXT NOT NULL DEFAULT '[]'",),
}
"""For each older version, the statements that lead to the next one. Version 1 kept no earlier replies."""


def migrate(connection: sqlite3.Connection) -> None:
    """Bring an older ledger to `VERSION`, in one transaction: it is wholly new or wholly as it was."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(version_of(connection), VERSION):
            for statement in MIGRATIONS[version]:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
