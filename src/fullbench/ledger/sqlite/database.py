"""A ledger in one SQLite file."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import IO

from filelock import lock_descriptor

from fullbench.errors import LedgerError, LedgerInUse
from fullbench.ledger import schema
from fullbench.ledger.copies import backup_and_rescue
from fullbench.ledger.database_interface import Connection, Database, Durability, Position, RescuedFile
from fullbench.ledger.integrity import last_committed_rows, row_chain
from fullbench.ledger.sqlite import ledger_file_opening_migration_and_copies, missing_write_ahead_log_marks
from fullbench.ledger.sqlite.connection import SqliteConnection
from fullbench.ledger.sqlite.ledger_file_opening_migration_and_copies import translate_sqlite_errors
from fullbench.ledger.sqlite.live_file_damage_check import LiveFiles, is_damage

_FREE = ("freelist_count", "page_size")


class Sqlite(Database):
    """A ledger in a file, with its pictures in a folder next to it."""

    is_remote = False
    brings_pictures = False
    folder: Path | None = None
    errors: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: Path, durability: Durability) -> None:
        self.path = path
        self.place = str(path)
        self.folder = path.parent / f"{path.name}.pictures"
        self._durability = durability
        self._missing_logs: tuple[str, ...] = ()
        self._files: LiveFiles | None = None
        self._rescued: Path | None = None

    def prepare(self, *, read_only: bool) -> None:
        self._missing_logs = ledger_file_opening_migration_and_copies.prepare_ledger(self.path, read_only=read_only)

    def make(self) -> None:
        raise NotImplementedError("a file is brought over as a whole, by `back_up`")

    def exists(self) -> bool:
        return self.path.exists()

    def stored_version(self) -> int:
        with (
            self.translate_errors(),
            closing(ledger_file_opening_migration_and_copies.open_connection(self.path, read_only=True)) as connection,
        ):
            return schema.version_of(connection)

    def back_up(self, target: Path) -> None:
        with self.translate_errors():
            ledger_file_opening_migration_and_copies.back_up(self.path, target)

    def connect(self, *, read_only: bool) -> SqliteConnection:
        raw = ledger_file_opening_migration_and_copies.open_connection(
            self.path, read_only=read_only, durability=self._durability
        )
        if not read_only and self._files is None:
            self._files = LiveFiles(self.path, partial(self.connect, read_only=True))
        return SqliteConnection(raw, self._wal())

    def watch_files(self) -> None:
        if self._files is not None:
            self._files.watch()

    def find_damage(self, position: Position | None, *, is_last: bool = False) -> str | None:
        return None if self._files is None else self._files.find_damage(position, is_last=is_last)

    def is_damage(self, error: BaseException | None) -> bool:
        return is_damage(error)

    def is_marked(self) -> bool:
        return self._files is None or self._files.is_marked()

    def checkpoint(self, connection: Connection) -> bool:
        raw = _only_sqlite(connection)
        return raw.checkpoint() if self._files is None else self._files.checkpoint(raw)

    def rescue(self, connection: Connection) -> RescuedFile:
        """Copy the open files: a deleted file, and its log, can be read until it is closed."""
        source = _only_sqlite(connection).raw
        if self._rescued is None:
            folder = self.path.parent if self.path.parent.is_dir() else Path(tempfile.gettempdir())
            names = (f"{self.path.name}.rescued{f'-{number}' if number else ''}" for number in count())
            self._rescued = next(place for place in map(folder.joinpath, names) if not place.exists())
        if not self._copy_whole(source, self._rescued):
            self._rescued.unlink(missing_ok=True)
            backup_and_rescue.save_readable(source, self._rescued)
        copy = SqliteConnection(
            ledger_file_opening_migration_and_copies.open_connection(self._rescued, read_only=False)
        )
        return RescuedFile(self._rescued, copy, is_whole=not any(row_chain.find_chain_problems(copy)))

    @staticmethod
    def _copy_whole(source: sqlite3.Connection, target: Path) -> bool:
        try:
            ledger_file_opening_migration_and_copies.write_copy(source, target)
            with closing(ledger_file_opening_migration_and_copies.open_connection(target, read_only=True)) as copy:
                return bool(copy.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)])
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                return False
            raise

    def close(self) -> None:
        if self._files is not None:
            self._files.close()
            self._files = None

    def translate_errors(self) -> AbstractContextManager[None]:
        return translate_sqlite_errors(self.path)

    def hold_lock(self, name: str) -> AbstractContextManager[None]:
        return hold_run_lock(self.path, name)

    def digest_note(self) -> last_committed_rows.DigestFile:
        return last_committed_rows.DigestFile(self.path)

    def noted_digests(self) -> list[last_committed_rows.AcknowledgedDigest]:
        return last_committed_rows.read_acknowledged_digests(self.path)

    def missing_logs(self, reader: Connection) -> list[str]:
        return list(dict.fromkeys((*missing_write_ahead_log_marks.missing_writers(reader), *self._missing_logs)))

    def integrity_problems(self, reader: Connection) -> list[str]:
        return [text for (text,) in reader.execute("PRAGMA integrity_check") if text != "ok"]

    def vacuum(self, *, dry_run: bool) -> int:
        """Empty the write-ahead log and rewrite the file without its free pages."""
        with self.translate_errors():
            with closing(self.connect(read_only=False)) as connection:
                before = self._bytes()
                if dry_run:
                    free, page = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _FREE)
                    return int(free * page) + before - self.path.stat().st_size
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            return before - self._bytes()

    def _wal(self) -> Path:
        return self.path.with_name(self.path.name + "-wal")

    def _bytes(self) -> int:
        return self.path.stat().st_size + (self._wal().stat().st_size if self._wal().exists() else 0)

    def size(self, reader: Connection) -> int:
        return self.path.stat().st_size


def _only_sqlite(connection: Connection) -> SqliteConnection:
    if not isinstance(connection, SqliteConnection):
        raise TypeError(f"a file of SQLite is not reached by a {type(connection).__name__}")
    return connection


@contextmanager
def hold_run_lock(ledger: Path, name: str) -> Iterator[None]:
    """Hold the lock of `name` in this ledger; raise an error that names the holder if it is taken."""
    folder = ledger.with_name(ledger.name + ".locks")
    try:
        folder.mkdir(exist_ok=True)
        file = (folder / blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()).open("a+")
    except OSError as error:
        raise LedgerError(f"{folder}: {name!r} cannot be locked ({error.strerror})") from error
    with file:
        try:
            is_locked = lock_descriptor(file.fileno(), blocking=False)
        except OSError as error:
            raise LedgerError(
                f"{folder}: {name!r} cannot be locked ({error.strerror}); put the ledger on a disk of this "
                "machine, or on a PostgreSQL server"
            ) from error
        if not is_locked:
            raise LedgerInUse(_lock_message(ledger, name, _read_holder(file)))
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "since": time.strftime("%Y-%m-%d %H:%M:%S"), "name": name}))
        file.flush()
        yield


def _read_holder(file: IO[str]) -> str:
    try:
        file.seek(0)
        holder = json.loads(file.read())
        return f"process {holder['pid']} since {holder['since']}"
    except (OSError, ValueError, KeyError, TypeError):  # Windows forbids reading a locked file
        return "another process"


def _lock_message(ledger: Path, name: str, by: str) -> str:
    return f"{ledger}: {name!r} is being asked by {by}; wait for it to end or stop it, then run again"
