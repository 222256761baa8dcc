"""DuckDB connection with the interface of the SQLite one; each table is a view of Parquet files."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fullbench.errors import LedgerError, require_extra
from fullbench.ledger import schema
from fullbench.ledger.database_interface import BATCH, Answer, Connection
from fullbench.ledger.lake.calls_and_memberships_inside_host_rows import INLINED_TABLES, InlinedTable, lake_columns
from fullbench.ledger.lake.parquet_segments import LINKED_TABLES
from fullbench.ledger.row_conversion import Row

if TYPE_CHECKING:
    import duckdb
    import pyarrow


MEMORY = "512MB"
"""Memory limit of a query; the rest goes to a temporary folder."""
_CHUNK = 25_000
"""Rows per record batch: larger ones take more memory and are not faster."""
_THREADS = 2
"""Each additional thread holds its own row groups, but a single consumer takes the results."""


_AT = re.compile(r"\bat\b")
_SUMS = re.compile(r"\bsum\((dollars|seconds)\)")


@lru_cache(maxsize=256)
def duckdb_sql(sql: str) -> str:
    """Translate our SQL for DuckDB: quote the column `at`, which is a keyword there, and replace `sum` by `fsum`.

    `fsum` compensates rounding errors, as SQLite's `sum` does, so the result does not depend on the order of rows.

    >>> duckdb_sql("SELECT max(at), sum(dollars) FROM verdicts")
    'SELECT max("at"), fsum(dollars) FROM verdicts'
    """
    return _SUMS.sub(r"fsum(\1)", _AT.sub('"at"', sql))


class ParquetConnection(Connection):
    """Read-only connection. Each query has its own cursor, so that several threads may read at once."""

    def __init__(self, raw: duckdb.DuckDBPyConnection) -> None:
        self.raw = raw

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        return _Rows(self.raw.cursor().execute(duckdb_sql(sql), list(values)))

    def batches(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Sequence[Row]]:
        cursor = self.raw.cursor().execute(duckdb_sql(sql), list(values))
        while batch := cursor.fetchmany(BATCH):
            yield batch

    def record_batches(self, sql: str, values: Sequence[Any] = ()) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of a query as record batches, for millions of rows."""
        import pyarrow

        yield from self.raw.cursor().sql(duckdb_sql(sql), params=list(values)).to_arrow_reader(_CHUNK)
        pyarrow.default_memory_pool().release_unused()

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        raise _read_only_error()

    def commit(self, rows_by_table: Sequence[tuple[str, Sequence[Row]]]) -> None:
        raise _read_only_error()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        raise _read_only_error()
        yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Do nothing: the files never change."""
        yield

    def close(self) -> None:
        self.raw.close()


class _Rows:
    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor

    def fetchone(self) -> Row | None:
        return self._cursor.fetchone()

    def fetchall(self) -> list[Row]:
        return self._cursor.fetchall()

    def __iter__(self) -> Iterator[Row]:
        return iter(self._cursor.fetchall())


def open_database(views: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
    """Open an in-memory database with a view for each table; tables without a view are empty."""
    with require_extra("reading a lake", "lake"):
        import duckdb
    connection = duckdb.connect()
    # No downloads by DuckDB: our own code reads buckets.
    for setting in (
        "autoinstall_known_extensions = false",
        "enable_progress_bar = false",
        f"memory_limit = '{MEMORY}'",
        f"threads = {_THREADS}",
    ):
        connection.execute(f"SET {setting}")
    connection.execute(f"SET temp_directory = '{tempfile.gettempdir()}/fullbench-lake-spill'")
    for table in schema.TABLES:
        connection.execute(
            f"CREATE VIEW {table} AS {views[table]}" if table in views else duckdb_sql(empty_table_sql(table))
        )
    return connection


def empty_table_sql(table: str) -> str:
    """Return SQL that creates a table without rows."""
    types = {"TEXT": "VARCHAR", "INTEGER": "BIGINT", "REAL": "DOUBLE"}
    column_definitions = [column.split()[:2] for column in f"{schema.TABLES[table]}, {schema.SEAL}".split(", ")]
    return (
        f"CREATE TABLE {table} (rowid BIGINT, "
        f"{', '.join(f'{name} {types[kind]}' for name, kind in column_definitions)})"
    )


def files_sql(paths: Sequence[str]) -> str:
    """Return the `read_parquet` call for these files."""
    quoted_paths = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return f"read_parquet([{quoted_paths}])"


def _read_only_error() -> LedgerError:
    return LedgerError("a Parquet lake is read-only. Give a ledger to write to")


def segment_views(files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return SQL for each ledger table, from its own segments and from rows inlined in other tables' segments."""
    parts: dict[str, list[str]] = {}
    for table, paths in files.items():
        source, within = files_sql(paths), INLINED_TABLES.get(table)
        parts.setdefault(table, []).append(f"SELECT {_own_columns_sql(table, within)} FROM {source}")
        if within is not None:
            parts.setdefault(within.table, []).append(
                f"SELECT {_inlined_columns_sql(within)} FROM {source} WHERE {within.presence_condition}"
            )
    return {table: " UNION ALL ".join(selects) for table, selects in parts.items()}


def _own_columns_sql(table: str, within: InlinedTable | None) -> str:
    left_out = {} if within is None else within.list_columns
    column_expressions = [
        f"""coalesce("{name}", '["' || {within.name_in_host(left_out[name])} || '"]') AS "{name}" """.strip()
        if within is not None and name in left_out
        else f'"{name}"'
        for name in lake_columns(table)
    ]
    return ", ".join((*column_expressions, "link" if table in LINKED_TABLES else "NULL AS link"))


def _inlined_columns_sql(within: InlinedTable) -> str:
    column_pairs = (
        (within.shared_columns.get(name) or within.name_in_host(name), name) for name in lake_columns(within.table)
    )
    return ", ".join((*(f'"{stored_name}" AS "{name}"' for stored_name, name in column_pairs), "NULL AS link"))
