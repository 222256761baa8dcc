"""How an older ledger becomes a newer one. Rows that are there keep their columns and their seals."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain as all_of
from itertools import islice

import orjson

from fullbench.ledger import schema
from fullbench.ledger.chain import Chain
from fullbench.ledger.database import Connection
from fullbench.ledger.membership import DEFAULT
from fullbench.ledger.rows import Row
from fullbench.ledger.sqlite_connection import SqliteConnection

CHUNK = 1000
SEALED = {table: ", ".join(schema.columns(table)[: schema.sealed_width(table, 1)]) for table in schema.FIRST}
"""The columns that rows of schema 3 have."""


def create(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty SQLite database, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    schema.create(connection)
    begin(SqliteConnection(connection), [])
    connection.execute("COMMIT")


def begin(connection: Connection, made: Iterable[tuple[str, list[Row]]]) -> None:
    """Give a new ledger an identity and a salt, and add rows to it; all within the transaction that is open."""
    chain = Chain.begin()
    now = time.time()
    named: list[Row] = [("identity", secrets.token_hex(16), now), ("salt", secrets.token_hex(32), now)]
    for table, rows in all_of([("settings", named)], made):
        if rows:
            connection.insert(table, chain.seal(table, rows))
    (end,) = chain.seal("commits", [(now, schema.SEALS)])
    connection.execute("INSERT INTO commits (at, seal, writer, number, link) VALUES (?, ?, ?, ?, ?)", end)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring an older ledger to `VERSION` within the transaction that is open: it is wholly new or wholly as it was."""
    for version in range(schema.version_of(connection), schema.VERSION):
        MIGRATIONS[version](connection)
    connection.execute(f"PRAGMA user_version = {schema.VERSION}")


def _keep_earlier(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE verdicts ADD COLUMN earlier TEXT NOT NULL DEFAULT '[]'")


def _seal_all(connection: sqlite3.Connection) -> None:
    """Chain every row of a ledger that had no chain, as if one writer had written them now."""
    chain = Chain.begin()
    for table in ("settings", "commits"):
        key = f", PRIMARY KEY ({', '.join(schema.KEYS[table])})" if table in schema.KEYS else ""
        connection.execute(f"CREATE TABLE {table} ({schema.FIRST[table]}, {schema.SEAL}{key}) STRICT")
    for table in schema.FIRST:
        if table in {"settings", "commits"}:
            continue
        connection.execute(f"DROP TRIGGER IF EXISTS {table}_update")
        connection.execute(f"DROP TRIGGER IF EXISTS {table}_delete")
        for column in schema.SEAL.split(", "):
            empty = "0" if "INTEGER" in column else "''"
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} DEFAULT {empty}")
        _seal_table(connection, table, chain)
    for table in schema.FIRST:
        schema.forbid(connection, table)
    end = chain.seal("commits", [(time.time(),)])
    connection.executemany("INSERT INTO commits (at, writer, number, link) VALUES (?, ?, ?, ?)", end)


def _seal_table(connection: sqlite3.Connection, table: str, chain: Chain) -> None:
    last = 0
    sql = f"SELECT rowid, {SEALED[table]} FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT {CHUNK}"
    while found := connection.execute(sql, (last,)).fetchall():
        sealed = chain.seal(table, [row[1:] for row in found])
        connection.executemany(
            f"UPDATE {table} SET writer = ?, number = ?, link = ? WHERE rowid = ?",
            [(*row[-3:], where[0]) for row, where in zip(sealed, found, strict=True)],
        )
        last = found[-1][0]


def _add_studies(connection: sqlite3.Connection) -> None:
    """Studies, raters, revisions, exchanges with models, texts apart: schema 4. Verdicts get a longer key, and so
    their table is made anew; the places of its rows stay, for others remember how far they have read."""
    for table, added in schema.ADDED.items():
        if table == "verdicts":
            schema.create_table(connection, table, "verdicts_with_raters", version=4)
            names = f"rowid, {SEALED[table]}, writer, number, link"
            connection.execute(
                f"INSERT INTO verdicts_with_raters ({names}) SELECT {names} FROM verdicts ORDER BY rowid"
            )
            connection.execute("DROP TABLE verdicts")
            connection.execute("ALTER TABLE verdicts_with_raters RENAME TO verdicts")
            schema.forbid(connection, table)
            continue
        for column in added.split(", "):
            connection.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    for table in schema.NEW:
        schema.create_table(connection, table, version=4)
    connection.execute(schema.REVISED)
    reader = SqliteConnection(connection)
    begin(reader, members(reader))
    schema.forbid_older(connection)


def _count_cached(connection: sqlite3.Connection) -> None:
    """Counts of cached tokens, unknown in all rows that are there: schema 5."""
    for statement in cached_columns():
        connection.execute(statement)


def cached_columns() -> Iterator[str]:
    """SQL that adds what schema 5 added."""
    for table, added in schema.CACHED.items():
        for column in added.split(", "):
            yield f"ALTER TABLE {table} ADD COLUMN {column}"


MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {
    1: _keep_earlier,
    2: _seal_all,
    3: _add_studies,
    4: _count_cached,
}
"""For each older version, the step that leads to the next. Version 1 kept no earlier replies, version 2 no chain,
version 3 no studies, version 4 no counts of cached tokens."""


def members(reader: Connection) -> Iterator[tuple[str, list[Row]]]:
    """Rows that make all there is members of a study: the first content of an item id of `default`, its second of
    `default~2`, and so on. Verdicts of which only the case's key is known belong to `default`."""
    study_of: dict[str, str] = {}
    contents: Counter[str] = Counter()
    named: set[str] = set()
    if any(reader.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in ("items", "verdicts")):
        named.add(DEFAULT)
        yield "studies", [(DEFAULT, time.time())]
    first = "SELECT item, key FROM items GROUP BY item, key ORDER BY min(rowid)"
    for chunk in _chunks(reader, first):
        items = []
        for item, key in chunk:
            contents[item] += 1
            study = DEFAULT if contents[item] == 1 else f"{DEFAULT}~{contents[item]}"
            if study != DEFAULT:
                study_of[key] = study
            items.append((study, key, item, 0))
        new = sorted({study for study, *_ in items} - named)
        named.update(new)
        yield "studies", [(study, time.time()) for study in new]
        yield "study_items", items
    for chunk in _chunks(reader, "SELECT key, item_key FROM cases ORDER BY rowid"):
        yield "study_cases", [(study_of.get(item_key, DEFAULT), key) for key, item_key in chunk]
    bare = "SELECT DISTINCT case_key FROM verdicts WHERE case_key NOT IN (SELECT key FROM cases) ORDER BY case_key"
    for chunk in _chunks(reader, bare):
        yield "study_cases", [(DEFAULT, key) for (key,) in chunk]
    yield from _samples(reader)


def _samples(reader: Connection) -> Iterator[tuple[str, list[Row]]]:
    """Which of several answers each case of the first release shows: its verdicts name the contestants only."""
    several = "SELECT key FROM responses WHERE trial > 0"
    numbers: dict[str, list[int]] = {}
    for key, sample in reader.execute(f"SELECT key, trial FROM responses WHERE key IN ({several}) ORDER BY trial"):
        numbers.setdefault(key, []).append(sample)
    if not numbers:
        return
    for chunk in _chunks(reader, "SELECT key, responses FROM cases ORDER BY rowid"):
        numbered = [(key, _numbered(orjson.loads(shown), numbers)) for key, shown in chunk]
        yield "case_samples", [(key, orjson.dumps(samples).decode()) for key, samples in numbered if any(samples)]


def _numbered(shown: list[str], numbers: dict[str, list[int]]) -> list[int]:
    """The sample behind each key; where a case shows one key twice, they are the answers with the same words."""
    times: Counter[str] = Counter()
    samples = []
    for key in shown:
        same = numbers.get(key, [0])
        samples.append(same[min(times[key], len(same) - 1)])
        times[key] += 1
    return samples


def _chunks(reader: Connection, sql: str) -> Iterator[list[Row]]:
    rows = reader.stream(sql)
    while chunk := list(islice(rows, CHUNK)):
        yield chunk
