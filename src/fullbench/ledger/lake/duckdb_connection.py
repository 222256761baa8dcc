"""A connection of DuckDB's that speaks as SQLite's does: tables are views of files of Parquet."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fullbench.errors import LedgerError, MissingExtra
from fullbench.ledger import schema
from fullbench.ledger.database_interface import BATCH, Answer
from fullbench.ledger.lake.compact_rows import INLINED, Inlined, columns
from fullbench.ledger.lake.parquet_segments import LINKED
from fullbench.ledger.row_conversion import Row

if TYPE_CHECKING:
    import duckdb
    import pyarrow


MEMORY = "512MB"
"""What a query may hold; more goes to a temporary folder."""
_CHUNK = 25_000
"""Rows that are handed over at one time: larger pieces take memory and no less work."""
_THREADS = 2
"""Each further one holds row groups of its own, and what comes of them is taken by one."""


_AT = re.compile(r"\bat\b")
_SUMS = re.compile(r"\bsum\((dollars|seconds)\)")


@lru_cache(maxsize=256)
def ours(sql: str) -> str:
    """Our SQL as DuckDB wants it, for which one of our columns is a word of its own.

    Sums of reals carry what rounding lost, as SQLite's do, so that they do not depend on the order of the rows.

    >>> ours("SELECT max(at), sum(dollars) FROM verdicts")
    'SELECT max("at"), fsum(dollars) FROM verdicts'
    """
    return _SUMS.sub(r"fsum(\1)", _AT.sub('"at"', sql))


class ParquetConnection:
    """A connection for reading. Each has a cursor of its own, so that several threads may read at once."""

    def __init__(self, raw: duckdb.DuckDBPyConnection) -> None:
        self.raw = raw

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        return _Rows(self.raw.cursor().execute(ours(sql), list(values)))

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        for batch in self.batches(sql, values):
            yield from batch

    def batches(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Sequence[Row]]:
        cursor = self.raw.cursor().execute(ours(sql), list(values))
        while batch := cursor.fetchmany(BATCH):
            yield batch

    def record_batches(self, sql: str, values: Sequence[Any] = ()) -> Iterator[pyarrow.RecordBatch]:
        """The rows of a query by columns: for millions of them."""
        import pyarrow

        yield from self.raw.cursor().sql(ours(sql), params=list(values)).to_arrow_reader(_CHUNK)
        pyarrow.default_memory_pool().release_unused()

    def together(self, *queries: tuple[str, Sequence[Any]]) -> list[list[Row]]:
        return [self.raw.cursor().execute(ours(sql), list(values)).fetchall() for sql, values in queries]

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        raise _sealed()

    def commit(self, sealed: Sequence[tuple[str, Sequence[Row]]]) -> None:
        raise _sealed()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        raise _sealed()
        yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Files that never change are always of one moment."""
        yield

    def alive(self) -> bool:
        return True

    def ping(self) -> bool:
        return True

    def log_bytes(self) -> int | None:
        return None

    def close(self) -> None:
        self.raw.close()


class _Rows:
    """Rows that came back."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor

    def fetchone(self) -> Row | None:
        return self._cursor.fetchone()

    def fetchall(self) -> list[Row]:
        return self._cursor.fetchall()

    def __iter__(self) -> Iterator[Row]:
        return iter(self._cursor.fetchall())


def opened(views: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
    """A database in memory with a view for each table; where none is named, a table without rows."""
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtra("reading a lake", "lake") from error
    connection = duckdb.connect()
    # Nothing is fetched from anywhere: buckets are read by ourselves.
    for setting in (
        "autoinstall_known_extensions = false",
        "enable_progress_bar = false",
        f"memory_limit = '{MEMORY}'",
        f"threads = {_THREADS}",
    ):
        connection.execute(f"SET {setting}")
    connection.execute(f"SET temp_directory = '{tempfile.gettempdir()}/fullbench-lake-spill'")
    for table in schema.TABLES:
        connection.execute(f"CREATE VIEW {table} AS {views[table]}" if table in views else ours(empty(table)))
    return connection


def empty(table: str) -> str:
    """SQL that makes a table without rows."""
    types = {"TEXT": "VARCHAR", "INTEGER": "BIGINT", "REAL": "DOUBLE"}
    defined = [column.split()[:2] for column in f"{schema.TABLES[table]}, {schema.SEAL}".split(", ")]
    return f"CREATE TABLE {table} (rowid BIGINT, {', '.join(f'{name} {types[kind]}' for name, kind in defined)})"


def files_sql(paths: Sequence[str]) -> str:
    """Files as DuckDB names them."""
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return f"read_parquet([{listed}])"


def _sealed() -> LedgerError:
    return LedgerError("what lies in Parquet is sealed; name a ledger to write to")


# The tables of a ledger as views of a lake's segments.


def of_segments(files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """SQL for each table, from the files of its segments and of those that its rows stand within."""
    parts: dict[str, list[str]] = {}
    for table, paths in files.items():
        source, within = files_sql(paths), INLINED.get(table)
        parts.setdefault(table, []).append(f"SELECT {_own(table, within)} FROM {source}")
        if within is not None:
            parts.setdefault(within.table, []).append(f"SELECT {_inside(within)} FROM {source} WHERE {within.present}")
    return {table: " UNION ALL ".join(selected) for table, selected in parts.items()}


def _own(table: str, within: Inlined | None) -> str:
    """The columns of a table from its own segments; what stands within its rows is not among them."""
    left_out = {} if within is None else within.listed
    named = [
        f"""coalesce("{name}", '["' || {within.stored(left_out[name])} || '"]') AS "{name}" """.strip()
        if within is not None and name in left_out
        else f'"{name}"'
        for name in columns(table)
    ]
    return ", ".join((*named, "link" if table in LINKED else "NULL AS link"))


def _inside(within: Inlined) -> str:
    """The columns of a table from the segments of its host."""
    named = ((within.same.get(name) or within.stored(name), name) for name in columns(within.table))
    return ", ".join((*(f'"{stored}" AS "{name}"' for stored, name in named), "NULL AS link"))
