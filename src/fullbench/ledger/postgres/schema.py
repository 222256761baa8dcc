"""The tables of a ledger on a PostgreSQL server, made or copied: statements in SQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fullbench.ledger import schema
from fullbench.ledger.postgres.connection import SPACE, TYPES

COMMENT = f"COMMENT ON SCHEMA {SPACE} IS 'fullbench ledger, schema {schema.VERSION}'"


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
    yield COMMENT


def _table(table: str) -> Iterator[str]:
    columns = typed(schema.definition(table))
    yield f"CREATE TABLE {table} (rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE, {columns})"
    yield (
        f"CREATE TRIGGER {table}_forbid BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION forbid()"
    )


def backup_space(version: int) -> str:
    """The schema of the database into which a ledger is copied before it is brought up to date."""
    return f"{SPACE}_schema{version}"


def backup(version: int, tables: Iterable[str]) -> Iterator[str]:
    """What the ledger holds, copied within the server: as safe as the rest of the database, and no way over a net."""
    space = backup_space(version)
    yield f"CREATE SCHEMA {space}"
    yield f"COMMENT ON SCHEMA {space} IS 'fullbench ledger as it was in schema {version}; may be dropped'"
    for table in tables:
        yield f"CREATE TABLE {space}.{table} AS TABLE {SPACE}.{table}"


def typed(statement: str) -> str:
    """Return SQL with the names that a server has for our types."""
    for mine, theirs in TYPES.items():
        statement = statement.replace(f" {mine}", f" {theirs}")
    return statement
