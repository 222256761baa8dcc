"""Checks on the files of an SQLite ledger while this process writes to them.

SQLite holds its files open. It does not notice a deleted log or overwritten pages: it continues to write, and those
writes are lost when the process ends. So after each commit the identity of all files is checked, and the commit is read
back through a second connection. The main file changes only in a checkpoint. If it changed without one of ours, another
connection checks all pages in the background.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from fullbench.ledger.database_interface import Position
from fullbench.ledger.sqlite import ledger_file_opening_migration_and_copies, missing_write_ahead_log_marks
from fullbench.ledger.sqlite.connection import SqliteConnection

PAUSE = 50
"""Seconds of pause per CPU second of a check of all pages, so that checks use 2 % of a core."""

TICK = 0.01
"""Maximum seconds between two ticks of a file system's clock. A file that changed twice within a tick keeps the same
time, so the main file is checked again when its last change is older than this."""

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}

State = tuple[int, int]
"""Size of a file and time of its last change in nanoseconds."""


class LiveFiles:
    """Files of a ledger as this process opened them."""

    def __init__(self, main: Path, connect: Callable[[], SqliteConnection]) -> None:
        """`connect` opens another connection for reading."""
        self._main = main
        self._connect = connect
        self._names = [f"{main}{suffix}" for suffix in ("", "-wal", "-shm")]
        self._read_file_states()
        self._identities = [_file_identity(file) for file in self._files]
        self._known = self._state
        self._log_size = 0
        self._marked: State | None = None
        self._is_mark_settled = False
        self._second: SqliteConnection | None = None
        self._is_suspect = False
        self._page_check: threading.Thread | None = None
        self._next_page_check = 0.0
        self._damage: str | None = None

    def watch(self) -> None:
        """Detect that the main file changed without a checkpoint of ours, or that the log was truncated.
        Call it before each commit: a commit after a truncation leaves a hole in the log and makes it long again.
        """
        self._read_file_states()
        if self._state != self._known or self._size_of_log() < self._log_size:
            self._is_suspect = True
            self._known, self._log_size = self._state, self._size_of_log()

    def find_damage(self, position: Position | None, *, is_last: bool = False) -> str | None:
        """Describe the damage to the files, or return None.

        Args:
            position: A commit to read back.
            is_last: Wait for a running check of all pages.
        """
        if is_last and self._page_check is not None:
            self._page_check.join()
        self._read_file_states()
        for name, file, identity in zip(self._names, self._files, self._identities, strict=True):
            if _file_identity(file) != identity:
                if name == self._names[0]:
                    return "the ledger was deleted or moved away"
                return f"its file {Path(name).name} was deleted or replaced"
        if self._damage is None and position is not None:
            self._damage = self._read_back(position)
        self._log_size = self._size_of_log()
        if self._is_suspect:
            self._check_pages()
        return self._damage

    def is_marked(self) -> bool:
        """True if a chain in the main file ends with a mark, as in a copy without the log.
        Call it after `watch` or `find_damage`.
        """
        state = self._state  # read before the check: a checkpoint in between is noticed next time
        is_settled = abs(self._looked_at - state[1]) > TICK * 1e9
        if state == self._marked and (self._is_mark_settled or not is_settled):
            return True
        try:
            with ledger_file_opening_migration_and_copies.open_without_log(self._main) as connection:
                has_mark = bool(missing_write_ahead_log_marks.open_marks(SqliteConnection(connection)))
        except sqlite3.DatabaseError:  # a checkpoint is halfway through
            return False
        self._marked, self._is_mark_settled = state if has_mark else None, is_settled
        return has_mark

    def checkpoint(self, connection: SqliteConnection) -> bool:
        """Copy the log into the main file as far as readers allow; False if some of it is left."""
        self.watch()
        is_complete = connection.checkpoint()
        self._read_file_states()
        self._known = self._state
        if is_complete:
            self._log_size = 0  # the next commit restarts the log, and SQLite truncates a long one
        return is_complete

    def close(self) -> None:
        if self._page_check is not None:
            self._page_check.join()
        if self._second is not None:
            self._second.close()

    def _read_back(self, position: Position) -> str | None:
        writer, number, link = position
        try:
            if self._second is None:
                self._second = self._connect()
            sql = "SELECT link FROM commits WHERE writer = ? AND number = ?"
            commit_row = self._second.execute(sql, (writer, number)).fetchone()
        except sqlite3.DatabaseError as error:
            return _describe_damage(error)
        return None if commit_row == (link,) else "its files no longer have the rows that were committed last"

    def _check_pages(self) -> None:
        is_running = self._page_check is not None and self._page_check.is_alive()
        if is_running or time.monotonic() < self._next_page_check:
            return
        self._is_suspect = False
        self._page_check = threading.Thread(target=self._read_pages, name="fullbench-ledger-pages", daemon=True)
        self._page_check.start()

    def _read_pages(self) -> None:
        start_time = time.thread_time()
        try:
            self._damage = self._damage or self._read_all_pages()
        except sqlite3.DatabaseError:  # such as a lock: nothing is known about the pages yet
            self._is_suspect = True
        # CPU time: on a busy machine the check takes long, and damage would stay unnoticed for 50 times as long.
        self._next_page_check = time.monotonic() + PAUSE * (time.thread_time() - start_time)

    def _read_all_pages(self) -> str | None:
        try:
            with closing(self._connect()) as reader:
                ((check_message,),) = reader.execute("PRAGMA quick_check(1)").fetchall()
        except sqlite3.DatabaseError as error:
            return _describe_damage(error)
        return None if check_message == "ok" else f"its pages were damaged ({check_message})"

    def _read_file_states(self) -> None:
        self._looked_at = time.time_ns()
        self._files = [_file_status(name) for name in self._names]
        main = self._files[0]
        self._state: State = (0, 0) if main is None else (main.st_size, main.st_mtime_ns)

    def _size_of_log(self) -> int:
        log = self._files[1]
        return 0 if log is None else log.st_size


def _file_status(name: str) -> os.stat_result | None:
    try:
        return os.stat(name)  # noqa: PTH116 - twice for every commit
    except OSError:
        return None


def _file_identity(file: os.stat_result | None) -> tuple[int, int] | None:
    return None if file is None else (file.st_dev, file.st_ino)


def is_damage(error: BaseException | None) -> bool:
    """True if an error means that the content of a file is damaged."""
    return isinstance(error, sqlite3.DatabaseError) and getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE


def _describe_damage(error: sqlite3.DatabaseError) -> str:
    if is_damage(error):
        return f"its pages were damaged ({error})"
    raise error
