"""The tables of a ledger. How an older ledger becomes a newer one is in `migrations`."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from functools import cache

APPLICATION = 0x46424C47
"""Marks a SQLite file as a ledger (`PRAGMA application_id`)."""

VERSION = 6
"""The schema this code reads and writes (`PRAGMA user_version`)."""

SEALS = 3
"""The version of the seals this code writes; a commit names the one of its rows (see `SEALED`)."""

USAGE = (
    "calls INTEGER NOT NULL, retries INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, "
    "dollars REAL, seconds REAL NOT NULL, at REAL NOT NULL"
)
NAMED = "name TEXT NOT NULL, settings TEXT NOT NULL, at REAL NOT NULL"
SEAL = "writer TEXT NOT NULL, number INTEGER NOT NULL, link TEXT NOT NULL"
"""Ends every row: who wrote it in which place, and the digest that chains it to the row before (see `chain`)."""

CACHED_COUNTS = ("cached", "stored")
"""How many of the tokens in came from the server's cache, and how many went into it; NULL if it did not say."""
CACHED = "cached INTEGER, stored INTEGER"

TABLES: Mapping[str, str] = {
    "judges": NAMED,
    "contestants": NAMED,
    "settings": "name TEXT NOT NULL, value TEXT NOT NULL, at REAL NOT NULL",
    "pictures": "digest TEXT NOT NULL, media TEXT NOT NULL, path TEXT",
    "items": "key TEXT NOT NULL, item TEXT NOT NULL, body TEXT NOT NULL, tags TEXT NOT NULL",
    "responses": "key TEXT NOT NULL, contestant TEXT NOT NULL, item TEXT NOT NULL, item_key TEXT NOT NULL, "
    f"trial INTEGER NOT NULL, body TEXT NOT NULL, tags TEXT NOT NULL, prompt TEXT NOT NULL, {USAGE}, "
    f"stop TEXT NOT NULL, {CACHED}",
    "cases": "key TEXT NOT NULL, item_key TEXT NOT NULL, responses TEXT NOT NULL, ballot TEXT NOT NULL, "
    "criterion TEXT NOT NULL",
    "verdicts": "case_key TEXT NOT NULL, judge TEXT NOT NULL, item TEXT NOT NULL, contestants TEXT NOT NULL, "
    "ballot TEXT NOT NULL, criterion TEXT NOT NULL, trial INTEGER NOT NULL, marks TEXT, fault TEXT, "
    f"text TEXT NOT NULL, prompt TEXT NOT NULL, {USAGE}, earlier TEXT NOT NULL, sum TEXT NOT NULL, "
    "samples TEXT NOT NULL DEFAULT '[]', rater TEXT NOT NULL DEFAULT '', revision INTEGER NOT NULL DEFAULT 0, "
    "reader INTEGER NOT NULL, confidence REAL, blind INTEGER, guideline TEXT NOT NULL DEFAULT '', probability REAL, "
    "variant TEXT NOT NULL DEFAULT '', dose REAL, canary INTEGER NOT NULL DEFAULT 0, study TEXT NOT NULL, "
    f"exchanges TEXT NOT NULL, words TEXT NOT NULL, {CACHED}",
    "failures": "role TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, trial INTEGER NOT NULL, "
    f"error TEXT NOT NULL, {USAGE}, kind TEXT NOT NULL, {CACHED}",
    "texts": "id TEXT NOT NULL, body TEXT NOT NULL",
    "calls": "id TEXT NOT NULL, role TEXT NOT NULL, name TEXT NOT NULL, prompt TEXT NOT NULL, sent TEXT NOT NULL, "
    "text TEXT NOT NULL, reasoning TEXT NOT NULL, stop TEXT NOT NULL, served TEXT NOT NULL, "
    f"fingerprint TEXT NOT NULL, nonce TEXT NOT NULL, {USAGE}, {CACHED}",
    "studies": "study TEXT NOT NULL, at REAL NOT NULL",
    "study_items": "study TEXT NOT NULL, item_key TEXT NOT NULL, item TEXT NOT NULL, revision INTEGER NOT NULL",
    "study_cases": "study TEXT NOT NULL, case_key TEXT NOT NULL",
    "aliases": "role TEXT NOT NULL, former TEXT NOT NULL, name TEXT NOT NULL, at REAL NOT NULL",
    "adoptions": f"role TEXT NOT NULL, {NAMED}",
    "signatures": "head TEXT NOT NULL, key TEXT NOT NULL, signature TEXT NOT NULL, at REAL NOT NULL",
    "commits": "at REAL NOT NULL, seal INTEGER NOT NULL",
}
"""The tables, and their columns without the seal.

`texts` holds what verdicts say that is in none of their exchanges, apart from the narrow rows that figures read: those
of one commit in one row, a list of pairs (text, earlier replies), in which a verdict's `words` are `ID.PLACE`; `calls`
holds the exchanges with models. A verdict's own columns `text` and `earlier` have content only if it comes from an
export of verdicts (see `lake.exports`). `study_items` and `study_cases` say what is in what study. `aliases` leads from
a name to the one that took its place, `adoptions` keeps settings that a newer version added to a declared name, and
which judge succeeded which (see `judge_replacements`).
"""

SEALED: dict[int, Mapping[str, str]] = {SEALS: TABLES}
"""For each version of seals, the tables with the columns that it covers: the first ones of each row."""

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
"""What there is one row of at most."""

CHECKS = {"verdicts": "CHECK ((marks IS NULL) <> (fault IS NULL))"}
INDEXES = (
    "CREATE INDEX responses_key ON responses (key)",
    # Every table needs the revised votes and readings; mostly there are none.
    "CREATE INDEX verdicts_revised ON verdicts (case_key) WHERE revision > 0",
)
NO = "a ledger is append-only"


def columns(table: str) -> tuple[str, ...]:
    """The names of a table's columns, without the seal.

    >>> columns("pictures")
    ('digest', 'media', 'path')
    """
    return _names(TABLES[table])


def _names(definition: str) -> tuple[str, ...]:
    return tuple(column.split()[0] for column in definition.split(", "))


@cache
def sealed_width(table: str, seal: int) -> int:
    """Return how many columns a seal of that version covers."""
    return len(_names(SEALED.get(seal, TABLES).get(table, TABLES[table])))


@cache
def defaults(table: str) -> Mapping[str, str | int | None]:
    """Return what each column holds by default; None if it has no default.

    >>> defaults("verdicts")["samples"], defaults("commits")
    ('[]', {'at': None, 'seal': None})
    """
    return {column.split()[0]: _default(column) for column in TABLES[table].split(", ")}


def _default(column: str) -> str | int | None:
    _, _, value = column.partition(" DEFAULT ")
    return None if not value else value.strip("'") if value.startswith("'") else int(value)


def definition(table: str) -> str:
    """What stands between the brackets of CREATE TABLE."""
    key = f"PRIMARY KEY ({', '.join(KEYS[table])})" if table in KEYS else None
    return ", ".join(filter(None, (TABLES[table], SEAL, key, CHECKS.get(table))))


def create(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty SQLite database, within a transaction."""
    for table in TABLES:
        connection.execute(f"CREATE TABLE {table} ({definition(table)}) STRICT")
        forbid(connection, table)
    for statement in INDEXES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def forbid(connection: sqlite3.Connection, table: str) -> None:
    """Let rows be added only."""
    for change in ("UPDATE", "DELETE"):
        connection.execute(
            f"CREATE TRIGGER {table}_{change.lower()} BEFORE {change} ON {table} BEGIN SELECT RAISE(ABORT, '{NO}'); END"
        )


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
