"""A ledger in one file of SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from fullbench.ledger import heads, locks, opening, schema
from fullbench.ledger.database import Answer, Connection, Durability, Taken
from fullbench.ledger.rows import Row
from fullbench.ledger.trouble import plainly

INSERTS = {
    table: f"INSERT INTO {table} ({', '.join(schema.columns(table))}, writer, number, link) "
    f"VALUES ({', '.join('?' * (len(schema.columns(table)) + 3))}) ON CONFLICT DO NOTHING"
    for table in schema.TABLES
}


_FREE = ("freelist_count", "page_size")


class SqliteConnection:
    """A connection that may be handed from thread to thread."""

    def __init__(self, raw: sqlite3.Connection) -> None:
        self.raw = raw

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        return self.raw.execute(sql, values)

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        cursor = self.raw.execute(sql, values)
        while batch := cursor.fetchmany(1000):
            yield from batch

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        if self.raw.executemany(INSERTS[table], rows).rowcount < len(rows):
            raise Taken

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

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self.raw.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        self.raw.execute("BEGIN")
        try:
            yield
        finally:
            self.raw.text_factory = str
            if self.raw.in_transaction:
                self.raw.execute("ROLLBACK")

    def alive(self) -> bool:
        return True

    def ping(self) -> bool:
        return True

    def close(self) -> None:
        self.raw.close()


class Sqlite:
    """A ledger in a file, with its pictures in a folder beside it."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: Path, durability: Durability) -> None:
        self.path = path
        self.place = str(path)
        self.folder: Path | None = path.with_name(path.name + ".pictures")
        self._durability = durability

    def prepare(self, *, read_only: bool) -> None:
        opening.prepare(self.path, read_only=read_only)

    def exists(self) -> bool:
        return self.path.exists()

    def connect(self, *, read_only: bool) -> SqliteConnection:
        return SqliteConnection(opening.connect(self.path, read_only=read_only, durability=self._durability))

    def plainly(self) -> AbstractContextManager[None]:
        return plainly(self.path)

    def sole(self, name: str) -> AbstractContextManager[None]:
        return locks.sole(self.path, name)

    def pauses(self) -> Iterator[float]:
        return iter(())

    def passing(self, error: Exception) -> bool:
        return False

    @contextmanager
    def settled(self, reader: Connection) -> Iterator[None]:
        yield

    def head_note(self) -> heads.HeadFile:
        return heads.HeadFile(self.path)

    def noted_heads(self) -> list[heads.Noted]:
        return heads.noted(self.path)

    def integrity(self, reader: Connection) -> list[str]:
        return [text for (text,) in reader.execute("PRAGMA integrity_check") if text != "ok"]

    def vacuum(self, *, dry_run: bool) -> int:
        """Empty the write-ahead log and write the file anew without its free pages."""
        with self.plainly():
            connection = self.connect(read_only=False)
            try:
                before = self._bytes()
                if dry_run:
                    free, page = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _FREE)
                    return int(free * page) + before - self.path.stat().st_size
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                connection.close()
            return before - self._bytes()

    def _wal(self) -> Path:
        return self.path.with_name(self.path.name + "-wal")

    def _bytes(self) -> int:
        return self.path.stat().st_size + (self._wal().stat().st_size if self._wal().exists() else 0)

    def version(self, reader: Connection) -> int:
        return int(reader.execute("PRAGMA user_version").fetchone()[0])

    def size(self, reader: Connection) -> int:
        return self.path.stat().st_size
