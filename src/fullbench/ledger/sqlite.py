"""A ledger in one file of SQLite."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from pathlib import Path

from fullbench.ledger import heads, locks, log_marks, opening, schema
from fullbench.ledger.database import Connection, Durability
from fullbench.ledger.sqlite_connection import SqliteConnection
from fullbench.ledger.trouble import plainly

_FREE = ("freelist_count", "page_size")


class Sqlite:
    """A ledger in a file, with its pictures in a folder beside it."""

    far = False
    brings_pictures = False
    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: Path, durability: Durability) -> None:
        self.path = path
        self.place = str(path)
        self.folder: Path | None = path.parent / f"{path.name}.pictures"
        self._durability = durability
        self._opened = opening.Opened(path, schema.VERSION)
        self._file: tuple[int, int] | None = None
        self._rescued: Path | None = None

    def prepare(self, *, read_only: bool) -> None:
        self._opened = opening.prepare(self.path, read_only=read_only)
        if self._opened.path != self.path:
            weakref.finalize(self, shutil.rmtree, self._opened.path.parent, ignore_errors=True)

    @property
    def own_commits(self) -> int | None:
        return self._opened.commits

    def make(self) -> None:
        raise NotImplementedError("a file is brought over as a whole, by `back_up`")

    def exists(self) -> bool:
        return self.path.exists()

    def stored_version(self) -> int:
        with self.plainly():
            connection = opening.connect(self.path, read_only=True)
            try:
                return schema.version_of(connection)
            finally:
                connection.close()

    def back_up(self, target: Path) -> None:
        with self.plainly():
            opening.back_up(self.path, target)

    def connect(self, *, read_only: bool) -> SqliteConnection:
        raw = opening.connect(self._opened.path, read_only=read_only, durability=self._durability)
        older = schema.show_newest(raw) if read_only else None
        if not read_only and self._file is None:
            self._file = _file(self.path)
        return SqliteConnection(raw, self._wal(), older)

    def gone(self) -> bool:
        return self._file is not None and _file(self.path) != self._file

    def rescue(self, connection: Connection) -> Path:
        """An open file that was deleted can be read until it is closed, and so can its log."""
        if not isinstance(connection, SqliteConnection):
            raise TypeError(f"a file of SQLite is not reached by a {type(connection).__name__}")
        if self._rescued is None:
            folder = self.path.parent if self.path.parent.is_dir() else Path(tempfile.gettempdir())
            names = (f"{self.path.name}.rescued{f'-{number}' if number else ''}" for number in count())
            self._rescued = next(place for place in map(folder.joinpath, names) if not place.exists())
        opening.write_copy(connection.raw, self._rescued)
        return self._rescued

    def plainly(self) -> AbstractContextManager[None]:
        return plainly(self.path)

    def sole(self, name: str) -> AbstractContextManager[None]:
        return locks.sole(self.path, name)

    def sole_soon(self, names: Sequence[str]) -> AbstractContextManager[None]:
        return nullcontext()

    def pauses(self) -> Iterator[float]:
        return iter(())

    def passing(self, error: Exception) -> bool:
        return False

    def contended(self, error: Exception) -> bool:
        return False

    @contextmanager
    def settled(self, reader: Connection) -> Iterator[None]:
        yield

    def head_note(self) -> heads.HeadFile:
        return heads.HeadFile(self.path)

    def noted_heads(self) -> list[heads.Noted]:
        return heads.noted(self.path)

    def missing_logs(self, reader: Connection) -> list[str]:
        return list(dict.fromkeys((*log_marks.missing(reader), *self._opened.missing_logs)))

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
        return self._opened.version

    def size(self, reader: Connection) -> int:
        return self.path.stat().st_size


def _file(path: Path) -> tuple[int, int] | None:
    """Which file it is, whatever it is called; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
