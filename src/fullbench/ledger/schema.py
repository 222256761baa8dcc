"""The tables of a ledger. How an older ledger becomes a newer one is in `migrations`."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from functools import cache

APPLICATION = 0x46424C47
"""Marks a SQLite file as a ledger (`PRAGMA application_id`)."""

VERSION = 5
"""The schema this code reads and writes (`PRAGMA user_version`)."""

READ_IN_PLACE = 4
"""The oldest schema that a file is read in as it is (see `show_newest`); one of before is read from a copy."""

SEALS = 3
"""The version of the seals this code writes; a commit names the one of its rows (see `sealed_width`)."""

OLDEST_WRITER = 2
"""The oldest seals of rows that may still come in: those of a process that had the ledger open when it was brought to
a newer schema, or of a ledger that is copied. What seals of version 2 do not cover, their rows leave empty."""

USAGE = (
    "calls INTEGER NOT NULL, retries INTEGER NOT NULL, tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, "
    "dollars REAL, seconds REAL NOT NULL, at REAL NOT NULL"
)
NAMED = "name TEXT NOT NULL, settings TEXT NOT NULL, at REAL NOT NULL"
SEAL = "writer TEXT NOT NULL, number INTEGER NOT NULL, link TEXT NOT NULL"
"""Ends every row: who wrote it in which place, and the digest that chains it to the row before (see `chain`)."""

FIRST = {
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
"""The tables and columns of schema 3. A seal of version 1 covers these columns and no others."""

ADDED = {
    "responses": "stop TEXT NOT NULL DEFAULT ''",
    "verdicts": "samples TEXT NOT NULL DEFAULT '[]', rater TEXT NOT NULL DEFAULT '', "
    "revision INTEGER NOT NULL DEFAULT 0, reader INTEGER NOT NULL DEFAULT 0, confidence REAL, blind INTEGER, "
    "guideline TEXT NOT NULL DEFAULT '', probability REAL, variant TEXT NOT NULL DEFAULT '', dose REAL, "
    "canary INTEGER NOT NULL DEFAULT 0, study TEXT NOT NULL DEFAULT '', exchanges TEXT NOT NULL DEFAULT '[]', "
    "words TEXT NOT NULL DEFAULT ''",
    "failures": "kind TEXT NOT NULL DEFAULT 'passing'",
    "commits": "seal INTEGER NOT NULL DEFAULT 1",
}
"""What schema 4 added to them. Each has a default, so that rows of schema 3 keep their seals."""

NEW = {
    "texts": "id TEXT NOT NULL, body TEXT NOT NULL",
    "calls": "id TEXT NOT NULL, role TEXT NOT NULL, name TEXT NOT NULL, prompt TEXT NOT NULL, sent TEXT NOT NULL, "
    "text TEXT NOT NULL, reasoning TEXT NOT NULL, stop TEXT NOT NULL, served TEXT NOT NULL, "
    f"fingerprint TEXT NOT NULL, nonce TEXT NOT NULL, {USAGE}",
    "studies": "study TEXT NOT NULL, at REAL NOT NULL",
    "study_items": "study TEXT NOT NULL, item_key TEXT NOT NULL, item TEXT NOT NULL, revision INTEGER NOT NULL",
    "study_cases": "study TEXT NOT NULL, case_key TEXT NOT NULL",
    "case_samples": "case_key TEXT NOT NULL, samples TEXT NOT NULL",
    "aliases": "role TEXT NOT NULL, former TEXT NOT NULL, name TEXT NOT NULL, at REAL NOT NULL",
    "adoptions": f"role TEXT NOT NULL, {NAMED}",
    "signatures": "head TEXT NOT NULL, key TEXT NOT NULL, signature TEXT NOT NULL, at REAL NOT NULL",
}
"""The tables that schema 4 added.

`texts` holds what verdicts say that is in none of their exchanges, apart from the narrow rows that figures read: those
of one commit in one row, a list of pairs (text, earlier replies), in which a verdict's `words` are `ID.PLACE`; `calls`
holds the exchanges with models. `study_items` and `study_cases` say what is in what study.
`case_samples` numbers the answers in cases of the first release, whose verdicts do not. `aliases` leads from a name to
the one that took its place, `adoptions` keeps settings that a newer version added to a declared name, and which judge
succeeded which (see `succession`).
"""

CACHED_COUNTS = ("cached", "stored")
CACHED = dict.fromkeys(
    ("responses", "verdicts", "failures", "calls"), ", ".join(f"{name} INTEGER" for name in CACHED_COUNTS)
)
"""What schema 5 added: how many of the tokens in came from the server's cache, and how many went into it; NULL where it
did not say."""


@cache
def tables_of(version: int) -> Mapping[str, str]:
    """The tables of a schema since 3, and their columns without the seal."""
    steps = {3: (FIRST,), 4: (FIRST, ADDED, NEW), 5: (FIRST, ADDED, NEW, CACHED)}[version]
    names = dict.fromkeys(table for step in steps for table in step if table != "commits")
    return {table: ", ".join(step[table] for step in steps if table in step) for table in (*names, "commits")}


TABLES = tables_of(VERSION)

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
    "case_samples": ("case_key",),
    "aliases": ("role", "former"),
    "commits": ("writer", "number"),
}
"""What there is one row of at most."""
FIRST_KEYS = {**KEYS, "verdicts": ("case_key", "judge", "trial")}
"""The same in schema 3."""

CHECKS = {"verdicts": "CHECK ((marks IS NULL) <> (fault IS NULL))"}
INDEXES = ("CREATE INDEX responses_key ON responses (key)",)
REVISED = "CREATE INDEX verdicts_revised ON verdicts (case_key) WHERE revision > 0"
"""Which votes and readings were revised is asked before every table; mostly there are none."""
NO = "a ledger is append-only"
OUTDATED = "the ledger was brought to a newer schema meanwhile: run again with the fullbench that did so"
"""What a process of the first release is told that had the ledger open then: its rows would belong to no study."""


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
    """How many columns a seal of that version covers: the first ones, which the schema had that it came with."""
    version = min(max(seal, 1), SEALS) + 2
    return len(_names(tables_of(version).get(table, TABLES[table])))


@cache
def defaults(table: str, seal: int = 1) -> tuple[str | int | None, ...]:
    """What the columns hold that a seal of that version does not cover.

    >>> defaults("commits"), defaults("responses"), defaults("responses", 2)
    ((1,), ('', None, None), (None, None))
    """
    return tuple(map(_default, TABLES[table].split(", ")[sealed_width(table, seal) :]))


def _default(column: str) -> str | int | None:
    _, _, value = column.partition(" DEFAULT ")
    return None if not value else value.strip("'") if value.startswith("'") else int(value)


def definition(table: str, version: int = VERSION) -> str:
    """What stands between the brackets of CREATE TABLE."""
    keys = FIRST_KEYS if version == 3 else KEYS
    key = f"PRIMARY KEY ({', '.join(keys[table])})" if table in keys else None
    return ", ".join(filter(None, (tables_of(version)[table], SEAL, key, CHECKS.get(table))))


def create(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty SQLite database, within a transaction."""
    for table in TABLES:
        create_table(connection, table)
    for statement in (*INDEXES, REVISED):
        connection.execute(statement)
    forbid_older(connection)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def create_table(
    connection: sqlite3.Connection, table: str, name: str | None = None, *, version: int = VERSION
) -> None:
    connection.execute(f"CREATE TABLE {name or table} ({definition(table, version)}) STRICT")
    if name is None:
        forbid(connection, table)


def forbid(connection: sqlite3.Connection, table: str) -> None:
    """Let rows be added only."""
    for change in ("UPDATE", "DELETE"):
        connection.execute(
            f"CREATE TRIGGER {table}_{change.lower()} BEFORE {change} ON {table} BEGIN SELECT RAISE(ABORT, '{NO}'); END"
        )


def forbid_older(connection: sqlite3.Connection) -> None:
    """Let nobody commit whose rows lack what makes them members of a study."""
    connection.execute(
        f"CREATE TRIGGER commits_outdated BEFORE INSERT ON commits WHEN NEW.seal < {OLDEST_WRITER} "
        f"BEGIN SELECT RAISE(ABORT, '{OUTDATED}'); END"
    )


def show_newest(connection: sqlite3.Connection) -> int | None:
    """Let a connection that only reads see tables of an older schema as those of the newest: by views of its own, in
    which columns that were added since are empty. Gives the schema that it had to do so for."""
    version = version_of(connection)
    if version == VERSION:
        return None
    connection.execute("PRAGMA query_only = OFF")
    for table, definition_ in tables_of(version).items():
        there, newest = _names(definition_), columns(table)
        if there != newest:
            shown = ("rowid", *there, *(f"NULL AS {name}" for name in newest[len(there) :]), *_names(SEAL))
            connection.execute(f"CREATE TEMP VIEW {table} AS SELECT {', '.join(shown)} FROM main.{table}")
    connection.execute("PRAGMA query_only = ON")
    return version


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
