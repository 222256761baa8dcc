"""Tables, keys and indexes of a ledger. `migrations` brings older ledgers up to date."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from functools import cache

APPLICATION = 0x46424C47  # "FBLG" in ASCII
"""Marks an SQLite file as a ledger (`PRAGMA application_id`)."""

VERSION = 7
"""Schema version that this code reads and writes (`PRAGMA user_version`)."""

SEALS = 3
"""Version of the row digests that this code writes; a commit names that of its rows (see `SEALED_TABLES`)."""

USAGE = (
    "calls INTEGER NOT NULL, retries INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, "
    "dollars REAL, seconds REAL NOT NULL, at REAL NOT NULL"
)
NAMED_COLUMNS = "name TEXT NOT NULL, settings TEXT NOT NULL, at REAL NOT NULL"
SEAL = "writer TEXT NOT NULL, number INTEGER NOT NULL, link TEXT NOT NULL"
"""Chain columns at the end of every row: writer, number, and the row digest (see `integrity.row_chain`)."""

CACHED_COUNTS = ("cached", "stored")
"""Input tokens read from and written to the server's cache; NULL if unknown."""
CACHED_COLUMNS = "cached INTEGER, stored INTEGER"

TABLES: Mapping[str, str] = {
    "judges": NAMED_COLUMNS,
    "contestants": NAMED_COLUMNS,
    "settings": "name TEXT NOT NULL, value TEXT NOT NULL, at REAL NOT NULL",
    "pictures": "digest TEXT NOT NULL, media TEXT NOT NULL, path TEXT",
    "items": "key TEXT NOT NULL, item TEXT NOT NULL, body TEXT NOT NULL, tags TEXT NOT NULL",
    "responses": "key TEXT NOT NULL, contestant TEXT NOT NULL, item TEXT NOT NULL, item_key TEXT NOT NULL, "
    f"trial INTEGER NOT NULL, body TEXT NOT NULL, tags TEXT NOT NULL, prompt TEXT NOT NULL, {USAGE}, "
    f"stop TEXT NOT NULL, {CACHED_COLUMNS}",
    "cases": "key TEXT NOT NULL, item_key TEXT NOT NULL, responses TEXT NOT NULL, ballot TEXT NOT NULL, "
    "criterion TEXT NOT NULL",
    "verdicts": "case_key TEXT NOT NULL, judge TEXT NOT NULL, item TEXT NOT NULL, contestants TEXT NOT NULL, "
    "ballot TEXT NOT NULL, criterion TEXT NOT NULL, trial INTEGER NOT NULL, marks TEXT, fault TEXT, "
    f"text TEXT NOT NULL, prompt TEXT NOT NULL, {USAGE}, earlier TEXT NOT NULL, sum TEXT NOT NULL, "
    "samples TEXT NOT NULL DEFAULT '[]', rater TEXT NOT NULL DEFAULT '', revision INTEGER NOT NULL DEFAULT 0, "
    "reader INTEGER NOT NULL, confidence REAL, blind INTEGER, guideline TEXT NOT NULL DEFAULT '', probability REAL, "
    "variant TEXT NOT NULL DEFAULT '', strength REAL, canary INTEGER NOT NULL DEFAULT 0, study TEXT NOT NULL, "
    f"exchanges TEXT NOT NULL, words TEXT NOT NULL, {CACHED_COLUMNS}",
    "failures": "role TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, trial INTEGER NOT NULL, "
    f"error TEXT NOT NULL, {USAGE}, kind TEXT NOT NULL, {CACHED_COLUMNS}",
    "texts": "id TEXT NOT NULL, body TEXT NOT NULL",
    "calls": "id TEXT NOT NULL, role TEXT NOT NULL, name TEXT NOT NULL, prompt TEXT NOT NULL, sent TEXT NOT NULL, "
    "text TEXT NOT NULL, reasoning TEXT NOT NULL, stop TEXT NOT NULL, served TEXT NOT NULL, "
    f"fingerprint TEXT NOT NULL, nonce TEXT NOT NULL, {USAGE}, {CACHED_COLUMNS}",
    "studies": "study TEXT NOT NULL, at REAL NOT NULL",
    "study_items": "study TEXT NOT NULL, item_key TEXT NOT NULL, item TEXT NOT NULL, revision INTEGER NOT NULL",
    "study_cases": "study TEXT NOT NULL, case_key TEXT NOT NULL",
    "aliases": "role TEXT NOT NULL, former TEXT NOT NULL, name TEXT NOT NULL, at REAL NOT NULL",
    "adoptions": f"role TEXT NOT NULL, {NAMED_COLUMNS}",
    "signatures": "digest TEXT NOT NULL, key TEXT NOT NULL, signature TEXT NOT NULL, at REAL NOT NULL",
    "commits": "at REAL NOT NULL, seal INTEGER NOT NULL",
}
"""Tables and their columns without the chain columns.

`texts` holds texts of verdicts that are in none of their calls, apart from the narrow rows that analyses read. The
texts of one commit are one row, a list of pairs (text, earlier replies); a verdict's `words` are `ID.PLACE` in it.
`calls` holds the exchanges with models. A verdict's own columns `text` and `earlier` are filled only if it comes from
an export of verdicts (see `lake.parquet_export_reader`). `study_items` and `study_cases` list the members of studies.
`aliases` maps a name to the one that replaced it. `adoptions` holds settings that a newer version added to a declared
name, and judge replacements (see `judge_replacements`).
"""

SEALED_TABLES: dict[int, Mapping[str, str]] = {SEALS: TABLES}
"""Tables by version of row digests, with the columns that it covers: the first ones of each row."""

KEYS = {
    "judges": ("name",),
    "contestants": ("name",),
    "pictures": ("digest",),
    "items": ("key", "tags"),
    "responses": ("item_key", "contestant", "trial"),
    "cases": ("key",),
    "verdicts": ("case_key", "judge", "trial", "rater", "revision"),
    "texts": ("id",),
    "calls": ("id",),
    "studies": ("study",),
    "study_items": ("study", "item", "revision"),
    "study_cases": ("study", "case_key"),
    "aliases": ("role", "former"),
    "commits": ("writer", "number"),
}
"""Primary key of each table."""

CHECKS = {"verdicts": "CHECK ((marks IS NULL) <> (fault IS NULL))"}
INDEXES = (
    "CREATE INDEX responses_key ON responses (key)",
    # Every table of results looks up revised verdicts; most ledgers have none.
    "CREATE INDEX verdicts_revised ON verdicts (case_key) WHERE revision > 0",
)
APPEND_ONLY_MESSAGE = "a ledger is append-only"


def table_columns(table: str) -> tuple[str, ...]:
    """Return the names of a table's columns, without the chain columns.

    >>> table_columns("pictures")
    ('digest', 'media', 'path')
    """
    return _column_names(TABLES[table])


@cache
def _column_names(definition: str) -> tuple[str, ...]:
    return tuple(column.split()[0] for column in definition.split(", "))


@cache
def sealed_width(table: str, seal: int) -> int:
    """Return how many columns a row digest of that version covers."""
    return len(_column_names(SEALED_TABLES.get(seal, TABLES).get(table, TABLES[table])))


@cache
def column_defaults(table: str) -> Mapping[str, str | int | None]:
    """Return the default value of each column, or None if it has none.

    >>> column_defaults("verdicts")["samples"], column_defaults("commits")
    ('[]', {'at': None, 'seal': None})
    """
    return {column.split()[0]: _parse_default(column) for column in TABLES[table].split(", ")}


def _parse_default(column: str) -> str | int | None:
    _, _, value = column.partition(" DEFAULT ")
    return None if not value else value.strip("'") if value.startswith("'") else int(value)


def table_definition(table: str) -> str:
    """Return the text between the brackets of CREATE TABLE."""
    key = f"PRIMARY KEY ({', '.join(KEYS[table])})" if table in KEYS else None
    return ", ".join(filter(None, (TABLES[table], SEAL, key, CHECKS.get(table))))


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty SQLite database, within a transaction."""
    for table in TABLES:
        connection.execute(f"CREATE TABLE {table} ({table_definition(table)}) STRICT")
        forbid_changes(connection, table)
    for statement in INDEXES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def forbid_changes(connection: sqlite3.Connection, table: str) -> None:
    """Create triggers that forbid updates and deletes."""
    for change in ("UPDATE", "DELETE"):
        connection.execute(
            f"CREATE TRIGGER {table}_{change.lower()} BEFORE {change} ON {table} BEGIN SELECT RAISE(ABORT, "
            f"'{APPEND_ONLY_MESSAGE}'); END"
        )


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
