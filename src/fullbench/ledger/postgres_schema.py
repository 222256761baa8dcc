"""The tables of a ledger on a PostgreSQL server, made or brought up to date: statements in SQL."""

from __future__ import annotations

from collections.abc import Iterator

from fullbench.ledger import migrations, schema
from fullbench.ledger.postgres_connection import SPACE, TYPES

OLDER = range(3, schema.VERSION)
"""The schemas that ledgers on servers had before this one."""
_COMMENT = f"COMMENT ON SCHEMA {SPACE} IS 'fullbench ledger, schema {schema.VERSION}'"
FORBID_OLDER = f"ALTER TABLE commits ADD CONSTRAINT commits_outdated CHECK (seal >= {schema.OLDEST_WRITER}) NOT VALID"


def made() -> Iterator[str]:
    """What makes the tables where there are none."""
    yield f"CREATE SCHEMA {SPACE}"
    yield f"SET LOCAL search_path TO {SPACE}"
    yield (
        "CREATE FUNCTION forbid() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{schema.NO}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
    )
    for table in schema.TABLES:
        yield from _table(table)
    yield from schema.INDEXES
    yield schema.REVISED
    yield _COMMENT


def _table(table: str, version: int = schema.VERSION) -> Iterator[str]:
    columns = _typed(schema.definition(table, version))
    yield f"CREATE TABLE {table} (rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE, {columns})"
    yield (
        f"CREATE TRIGGER {table}_forbid BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION forbid()"
    )


def steps_up(version: int) -> Iterator[str]:
    """What brings a ledger of an older schema to this one, but for rows that make members of all there is."""
    if version == 3:
        for table, added in schema.ADDED.items():
            for column in added.split(", "):
                yield f"ALTER TABLE {table} ADD COLUMN {_typed(column)}"
        yield "ALTER TABLE verdicts DROP CONSTRAINT verdicts_pkey"
        yield f"ALTER TABLE verdicts ADD PRIMARY KEY ({', '.join(schema.KEYS['verdicts'])})"
        for table in schema.NEW:
            yield from _table(table, 4)
        yield schema.REVISED
    yield from map(_typed, migrations.cached_columns())
    yield _COMMENT


def backup_space(version: int) -> str:
    """The schema of the database into which a ledger is copied before it is brought up to date."""
    return f"{SPACE}_schema{version}"


def backup(version: int) -> Iterator[str]:
    """What the ledger holds, copied within the server: as safe as the rest of the database, and no way over a net."""
    space = backup_space(version)
    yield f"CREATE SCHEMA {space}"
    yield f"COMMENT ON SCHEMA {space} IS 'fullbench ledger as it was in schema {version}; may be dropped'"
    for table in schema.tables_of(version):
        yield f"CREATE TABLE {space}.{table} AS TABLE {SPACE}.{table}"


def _typed(columns: str) -> str:
    for mine, theirs in TYPES.items():
        columns = columns.replace(f" {mine}", f" {theirs}")
    return columns
