"""Connection to an SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from fullbench.ledger import schema
from fullbench.ledger.database_interface import BATCH, Answer, Connection, DuplicateKeyError
from fullbench.ledger.row_conversion import Row


def _insert_statement(table: str, names: Sequence[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) ON CONFLICT DO NOTHING"


_COLUMNS = {table: (*schema.table_columns(table), "writer", "number", "link") for table in schema.TABLES}
_DECODE = partial(str, encoding="utf-8", errors="surrogateescape")
"""Damaged text must not end a check. It takes three times as long as `str`, so it waits for the first damaged text."""
INSERTS = {table: _insert_statement(table, names) for table, names in _COLUMNS.items()}

_RARE_COLUMNS = (
    "samples",
    "rater",
    "revision",
    "confidence",
    "blind",
    "guideline",
    "probability",
    "variant",
    "strength",
    "canary",
)
"""Columns that most verdicts leave at their default: SQLite fills them in faster than Python can pass them."""


class _NarrowInsert:
    """INSERT of verdicts without columns that hold their default."""

    def __init__(self, *left_out: str) -> None:
        names = _COLUMNS["verdicts"]
        stored_columns = [name for name in names if name not in left_out]
        self.statement = _insert_statement("verdicts", stored_columns)
        self.stored_values, self.omitted_values = (
            itemgetter(*map(names.index, some)) for some in (stored_columns, left_out)
        )
        self.defaults = tuple(map(schema.column_defaults("verdicts").__getitem__, left_out))

    def fits(self, rows: Sequence[Row]) -> bool:
        left_out, defaults = self.omitted_values, self.defaults
        return all(left_out(row) == defaults for row in rows)


_NARROW = (_NarrowInsert(*_RARE_COLUMNS, *schema.CACHED_COUNTS), _NarrowInsert(*_RARE_COLUMNS))
"""The second is for servers that report cached tokens."""


class _FetchedRows(list[Any]):
    """Rows of a query that were all fetched, as `Answer`."""

    def fetchone(self) -> Any:
        return self.pop(0) if self else None

    def fetchall(self) -> list[Any]:
        return self


class SqliteConnection(Connection):
    """SQLite connection that may be passed between threads."""

    def __init__(self, raw: sqlite3.Connection, log: Path | None = None) -> None:
        self.raw = raw
        self._log = log
        self._accepts_damaged_texts = False

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        if not self._accepts_damaged_texts:
            return self.raw.execute(sql, values)
        return _FetchedRows(row for batch in self.batches(sql, values) for row in batch)

    def batches(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Sequence[Row]]:
        count = 0
        try:
            for batch in self._fetch_batches(sql, values):
                count += len(batch)
                yield batch
        except sqlite3.OperationalError as error:
            if not self._accepts_damaged_texts or "decode" not in str(error) or self.raw.text_factory is _DECODE:
                raise
        else:
            return
        # The rows of a snapshot come in the same order again.
        self.raw.text_factory = _DECODE
        for batch in self._fetch_batches(sql, values):
            if new_rows := batch[count:]:
                yield new_rows
            count = max(0, count - len(batch))

    def _fetch_batches(self, sql: str, values: Sequence[Any]) -> Iterator[Sequence[Row]]:
        cursor = self.raw.execute(sql, values)
        while batch := cursor.fetchmany(BATCH):
            yield batch

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        narrow = next((form for form in _NARROW if form.fits(rows)), None) if table == "verdicts" else None
        if narrow is None:
            cursor = self.raw.executemany(INSERTS[table], rows)
        else:
            cursor = self.raw.executemany(narrow.statement, map(narrow.stored_values, rows))
        # ON CONFLICT DO NOTHING skips rows whose key exists.
        if cursor.rowcount < len(rows):
            raise DuplicateKeyError

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.raw.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.raw.execute("COMMIT")
        except BaseException:
            if self.raw.in_transaction:
                self.raw.execute("ROLLBACK")
            raise

    def commit(self, rows_by_table: Sequence[tuple[str, Sequence[Row]]]) -> None:
        with self.transaction():
            for table, rows in rows_by_table:
                self.insert(table, rows)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self.raw.execute("BEGIN")
        self._accepts_damaged_texts = True
        try:
            yield
        finally:
            self._accepts_damaged_texts = False
            self.raw.text_factory = str
            if self.raw.in_transaction:
                self.raw.execute("ROLLBACK")

    def log_bytes(self) -> int | None:
        if self._log is None:
            return None
        try:
            return self._log.stat().st_size
        except OSError:
            return 0

    def checkpoint(self) -> bool:
        busy, frames, copied_frames = self.raw.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        return not busy and frames == copied_frames

    def close(self) -> None:
        self.raw.close()
