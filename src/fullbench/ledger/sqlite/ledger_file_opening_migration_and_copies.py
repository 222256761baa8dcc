"""Opening, creating, migrating and copying the SQLite file of a ledger.

Files are created completely or not at all, and other programs' files are left untouched.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import secrets
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from urllib.parse import quote

from fullbench.errors import LedgerError
from fullbench.ledger import ledger_creation_and_migrations, schema
from fullbench.ledger.database_interface import Durability
from fullbench.ledger.integrity import last_committed_rows
from fullbench.ledger.integrity.row_chain import Chain
from fullbench.ledger.sqlite import missing_write_ahead_log_marks
from fullbench.ledger.sqlite.connection import SqliteConnection

logger = logging.getLogger(__name__)


def prepare_ledger(path: Path, *, read_only: bool) -> tuple[str, ...]:
    """Create the ledger if it is missing, migrate an older one, and refuse anything that is not a ledger.
    Return the writers whose last rows were in a write-ahead log that is not next to the file.
    """
    if not path.exists():
        if read_only:
            raise LedgerError(f"{path}: no ledger at this path. `fullbench run` or `fullbench judge` creates one.")
        if _has_log(path):  # SQLite would apply it to the new file
            raise LedgerError(
                f"{path}: no ledger at this path, but the write-ahead log of a ledger that was deleted or moved "
                f"while in use ({path.name}-wal). Put the ledger back next to it, or delete the log to start again"
            )
        _create_ledger(path)
    if path.is_dir():
        raise LedgerError(f"{path}: this is a folder, not a ledger; give a file")
    _refuse_foreign_file(path)
    has_log = _has_log(path)  # checked first: the last process to close the file merges and deletes the log
    with translate_sqlite_errors(path):
        with closing(open_connection(path, read_only=True)) as connection:
            version = schema.version_of(connection)
            ledger_creation_and_migrations.refuse_other_versions(path, version, read_only=read_only)
            marks = missing_write_ahead_log_marks.open_marks(SqliteConnection(connection))
        if version < schema.VERSION:
            _upgrade_schema(path)
        return _explain_marks(path, marks, has_log, read_only)


def _explain_marks(path: Path, marks: Sequence[str], has_log: bool, read_only: bool) -> tuple[str, ...]:
    """Store why chains end with a mark: the writer was killed at that moment, or the log is missing."""
    if not marks:
        return ()
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK) and (has_log or not read_only):
        name = missing_write_ahead_log_marks.LOG_RECOVERED if has_log else missing_write_ahead_log_marks.LOG_MISSING
        with closing(open_connection(path, read_only=False)) as connection:
            missing_write_ahead_log_marks.add_marks(SqliteConnection(connection), Chain.begin(), name, marks)
    if has_log:
        return ()
    writers = tuple(map(missing_write_ahead_log_marks.writer_of, marks))
    for writer in writers:
        logger.warning("%s: %s", path, missing_write_ahead_log_marks.missing_rows_message(writer, path.name))
    return writers


def open_connection(path: Path, *, read_only: bool, durability: Durability = "power") -> sqlite3.Connection:
    """Open a connection without automatic transactions that may be passed between threads.
    A read-only one opens the file for writing if possible, only to clean up after itself; it changes no data.
    """
    if not read_only:
        return _open_with_mode(path, "rw", durability)
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        connection = _open_with_mode(path, "rw", durability)
        connection.execute("PRAGMA query_only = ON")
        return connection
    try:
        return _open_with_mode(path, "ro", durability)
    except sqlite3.OperationalError as error:
        if _has_log(path) or error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
            raise
        # In a read-only folder SQLite cannot create its -shm file; without a log the main file suffices.
        return _open_with_mode(path, "ro&immutable=1", durability)


def _open_with_mode(path: Path, mode: str, durability: Durability) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'power' else 'NORMAL'}")
        # Without this, INSERT OR REPLACE would delete rows without firing the triggers that forbid deletes.
        connection.execute("PRAGMA recursive_triggers = ON")
        # The writer runs checkpoints itself (see `incomplete_copy_marks`) and knows the log's length from its file
        # size. The log keeps its size, since overwriting it is cheaper than growing it after every checkpoint.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(f"PRAGMA journal_size_limit = {missing_write_ahead_log_marks.MAX_LOG_BYTES}")
        # SQLite opens files lazily: read once, so that errors occur here.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _create_ledger(path: Path) -> None:
    """Create the ledger under another name and link it into place; of two processes, both use the first file."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with translate_sqlite_errors(path), closing(sqlite3.connect(part, isolation_level=None)) as connection:
            ledger_creation_and_migrations.create_ledger(connection)
            connection.execute("PRAGMA journal_mode = WAL")
        _link_into_place(part, path)
    except OSError as error:
        raise LedgerError(f"{path}: no ledger can be created here ({error.strerror}); choose another path") from error
    finally:
        if os.access(path.parent, os.W_OK):
            _remove_files(part)


def _link_into_place(part: Path, path: Path) -> None:
    try:
        os.link(part, path)
    except FileExistsError:
        return
    except OSError:  # no hard links on this file system
        part.rename(path)
    sync_folder(path.parent)
    last_committed_rows.digest_file_path(path).unlink(missing_ok=True)  # digests of a ledger that was deleted here


def sync_folder(folder: Path) -> None:
    """Wait until the new name is on disk; ignore file systems that cannot do this."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _refuse_foreign_file(path: Path) -> None:
    """Refuse a file that is not a ledger, without changing anything.

    The check goes through SQLite, as every access must. Closing any other descriptor of the file would drop this
    process's locks on it (https://www.sqlite.org/howtocorrupt.html, 2.2). The next process to close the ledger would
    then delete the write-ahead log while we use it. `immutable` prevents SQLite from creating its own files next to
    what may be somebody else's database.
    """
    if not os.access(path, os.R_OK):
        raise LedgerError(f"{path}: the ledger cannot be read (permission denied)")
    size = path.stat().st_size
    if not path.is_file() or size == 0:
        kind = "an empty file" if path.is_file() else "no regular file"
        raise LedgerError(f"{path}: this is {kind}, not a ledger; it was not changed; choose another path")
    has_log = _has_log(path)  # before the file is read: the end of a checkpoint may delete it
    try:
        application, version = _read_header(path)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_NOTADB:
            raise LedgerError(
                f"{path}: this is a file of another kind, not a ledger; it was not changed; choose another path"
            ) from error
        # With a log, the main file may be in the middle of a checkpoint: the real opening decides.
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT or has_log or _has_log(path):
            return
        raise LedgerError(
            f"{path}: the ledger is cut short or damaged ({size:,} bytes are there); take a copy from a backup, or "
            "rescue what can be read with `sqlite3 DAMAGED .recover | sqlite3 NEW`"
        ) from error
    if application != schema.APPLICATION:
        raise LedgerError(
            f"{path}: this is another program's database, not a ledger; it was not changed; choose another path"
        )
    ledger_creation_and_migrations.refuse_other_versions(path, version)


def _read_header(path: Path) -> tuple[int, int]:
    with open_without_log(path) as connection:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        return int(application), schema.version_of(connection)


def open_without_log(path: Path) -> AbstractContextManager[sqlite3.Connection]:
    """Open the main file alone, as a copy without its log would be read."""
    uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    return closing(sqlite3.connect(uri, uri=True, isolation_level=None))


def _upgrade_schema(path: Path) -> None:
    """Migrate an older ledger after a backup, while nobody else can write."""
    with closing(open_connection(path, read_only=False)) as connection:  # closing also rolls back
        connection.execute("BEGIN IMMEDIATE")
        version = schema.version_of(connection)
        if version == schema.VERSION:  # another process was faster
            return
        backup = _back_up(path, version)
        for statement in ledger_creation_and_migrations.migration_statements(SqliteConnection(connection), version):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {schema.VERSION}")
        connection.execute("COMMIT")
    logger.warning(
        "%s: the ledger was brought from schema %d to %d; as it was before, it is in %s",
        path, version, schema.VERSION, backup,
    )  # fmt: skip


def _back_up(path: Path, version: int) -> Path:
    names = (f"{path.name}.schema{version}{f'-{number}' if number else ''}.backup" for number in count())
    target = next(place for place in map(path.with_name, names) if not place.exists())
    try:
        back_up(path, target)
    except (sqlite3.Error, OSError) as error:
        raise LedgerError(
            f"{path}: the ledger has the older schema {version} and no backup of it could be made ({error}), so it "
            f"was not changed; free some disk space there and run again"
        ) from error
    return target


def back_up(path: Path, target: Path) -> None:
    """Write a consistent copy, completely or not at all, while others may write to the ledger."""
    with closing(open_connection(path, read_only=True)) as source:
        for _ in range(_MARK_TRIES):
            source.execute("BEGIN")  # the copy is of this moment
            if not missing_write_ahead_log_marks.open_marks(SqliteConnection(source)):
                break
            source.execute("ROLLBACK")
            time.sleep(0.05)
        write_copy(source, target)


_MARK_TRIES = 20
"""A mark is the end of a chain for some milliseconds, until its writer commits its next rows."""


def write_copy(source: sqlite3.Connection, target: Path) -> None:
    """Copy a connection's file through SQLite, including its log."""
    with write_sqlite_file(target) as copy_connection:
        source.backup(copy_connection)
        connection = SqliteConnection(copy_connection)
        if marks := missing_write_ahead_log_marks.open_marks(connection):  # nothing followed them in the log
            recovered = missing_write_ahead_log_marks.LOG_RECOVERED
            missing_write_ahead_log_marks.add_marks(connection, Chain.begin(), recovered, marks)


@contextmanager
def write_sqlite_file(target: Path) -> Iterator[sqlite3.Connection]:
    """Yield a new SQLite file that gets its name only when it is complete."""
    part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    try:
        with closing(sqlite3.connect(part, isolation_level=None)) as connection:
            yield connection
        part.rename(target)
    finally:
        _remove_files(part)


def _remove_files(part: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        part.with_name(part.name + suffix).unlink(missing_ok=True)


def _has_log(path: Path) -> bool:
    """True if there may be commits that are not in the main file yet."""
    wal = path.with_name(path.name + "-wal")
    return wal.exists() and wal.stat().st_size > 0


BUSY_SECONDS = 30.0
"""Seconds that a writer waits for another process's commit before it gives up."""


@contextmanager
def translate_sqlite_errors(path: Path) -> Iterator[None]:
    """Turn SQLite errors and unreadable rows of this ledger into a `LedgerError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise LedgerError(_describe_error(path, error)) from error
    except json.JSONDecodeError as error:
        raise LedgerError(f"{path}: a row is damaged ({error}); run `fullbench ledger verify`") from error


def missing_locks_reason(folder: Path) -> str | None:
    """Return why files of a folder cannot be locked, or None if they can. SQLite reports both as a busy file."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        # A file of its own: closing the ledger's file would release SQLite's locks on it.
        with tempfile.TemporaryFile(dir=folder) as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        is_lock_error = error.errno in {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EIO}
        return str(error.strerror) if is_lock_error else None
    return None


def _describe_error(path: Path, error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    # The low byte of SQLite's extended error code is the primary code.
    primary = code & 0xFF if isinstance(code, int) else None
    if primary in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        if (reason := missing_locks_reason(path.parent)) is not None:
            return (
                f"{path}: this disk has no working file locks ({reason}), as with NFS without a lock service; put the "
                "ledger on a disk of this machine, or on a PostgreSQL server"
            )
        return f"{path}: another process has been writing for {BUSY_SECONDS:.0f} s; wait for it to end and run again"
    if primary == sqlite3.SQLITE_FULL or code in {sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE}:
        return f"{path}: the disk is full; all that was committed is kept: free some space and run again to go on"
    if primary in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}:
        return f"{path}: the ledger or its folder is read-only; make both writable or copy the ledger elsewhere"
    if primary == sqlite3.SQLITE_CANTOPEN:
        return f"{path}: the ledger cannot be opened; the file must be readable and its folder writable"
    if primary == sqlite3.SQLITE_NOTADB:
        return f"{path}: this file is not a ledger; it was not changed; choose another path"
    if primary == sqlite3.SQLITE_CORRUPT:
        return (
            f"{path}: the ledger is damaged ({error}); take a copy from a backup, or rescue what can be read with "
            "`sqlite3 DAMAGED .recover | sqlite3 NEW`"
        )
    if primary == sqlite3.SQLITE_IOERR:
        return f"{path}: the disk failed to read or write ({error}); all that was committed before is kept"
    return f"{path}: the ledger could not be used ({error})"
