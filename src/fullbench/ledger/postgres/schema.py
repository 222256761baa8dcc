"""SQL statements that create or copy the ledger's tables on a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fullbench.ledger import schema
from fullbench.ledger.postgres.connection import SPACE, TYPES

COMMENT = f"COMMENT ON SCHEMA {SPACE} IS 'fullbench ledger, schema {schema.VERSION}'"


def creation_statements() -> Iterator[str]:
    """Yield the statements that create the tables."""
    yield f"CREATE SCHEMA {SPACE}"
    yield f"SET LOCAL search_path TO {SPACE}"
    yield (
        "CREATE FUNCTION forbid() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{schema.APPEND_ONLY_MESSAGE}' USING ERRCODE = "
        "'integrity_constraint_violation'; END $$"
    )
    for table in schema.TABLES:
        yield from _table_statements(table)
    yield from schema.INDEXES
    yield COMMENT


def _table_statements(table: str) -> Iterator[str]:
    columns = with_postgres_types(schema.table_definition(table))
    yield f"CREATE TABLE {table} (rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE, {columns})"
    yield (
        f"CREATE TRIGGER {table}_forbid BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION forbid()"
    )


def backup_space(version: int) -> str:
    """Return the name of the PostgreSQL schema that holds the copy made before a migration."""
    return f"{SPACE}_schema{version}"


def backup_statements(version: int, tables: Iterable[str]) -> Iterator[str]:
    """Yield statements that copy the tables within the server, so that no data crosses the network."""
    space = backup_space(version)
    yield f"CREATE SCHEMA {space}"
    yield f"COMMENT ON SCHEMA {space} IS 'fullbench ledger as it was in schema {version}; may be dropped'"
    for table in tables:
        yield f"CREATE TABLE {space}.{table} AS TABLE {SPACE}.{table}"


def with_postgres_types(statement: str) -> str:
    """Replace our column types by those of PostgreSQL."""
    for sqlite_type, postgres_type in TYPES.items():
        statement = statement.replace(f" {sqlite_type}", f" {postgres_type}")
    return statement
