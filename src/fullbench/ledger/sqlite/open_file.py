"""Opening, creating, migrating and copying the SQLite file of a ledger.

Files are created completely or not at all, and other programs' files are left untouched.
"""

from __future__ import annotations

import logging
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from urllib.parse import quote

from fullbench.errors import LedgerError
from fullbench.ledger import migrations, schema
from fullbench.ledger.database_interface import Durability
from fullbench.ledger.error_messages import BUSY_SECONDS, translate_sqlite_errors
from fullbench.ledger.integrity import acknowledged_digests
from fullbench.ledger.integrity.row_chain import Chain
from fullbench.ledger.sqlite import incomplete_copy_marks
from fullbench.ledger.sqlite.connection import SqliteConnection

logger = logging.getLogger(__name__)


def prepare_ledger(path: Path, *, read_only: bool) -> tuple[str, ...]:
    """Create the ledger if it is missing, migrate an older one, and refuse anything that is not a ledger.
    Return the writers whose last rows were in a write-ahead log that is not next to the file.
    """
    if not path.exists():
        if read_only:
            raise LedgerError(f"{path}: there is no ledger here; check the path, or run something that makes one")
        if _has_log(path):  # SQLite would apply it to the new file
            raise LedgerError(
                f"{path}: there is no ledger here, but the write-ahead log of one that was deleted or moved while it "
                f"was in use ({path.name}-wal); put the ledger back beside it, or delete the log to begin anew"
            )
        _create_ledger(path)
    if path.is_dir():
        raise LedgerError(f"{path}: this is a folder, not a ledger; name a file")
    _refuse_foreign_file(path)
    has_log = _has_log(path)  # checked first: the last process to close the file merges and deletes the log
    with translate_sqlite_errors(path):
        connection = open_connection(path, read_only=True)
        try:
            version = schema.version_of(connection)
            migrations.refuse_other_versions(path, version, read_only=read_only)
            marks = incomplete_copy_marks.open_marks(SqliteConnection(connection))
        finally:
            connection.close()
        if version < schema.VERSION:
            _upgrade_schema(path)
        return _explain_marks(path, marks, has_log, read_only)


def _explain_marks(path: Path, marks: Sequence[str], has_log: bool, read_only: bool) -> tuple[str, ...]:
    """Store why chains end with a mark: the writer was killed at that moment, or the log is missing."""
    if not marks:
        return ()
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK) and (has_log or not read_only):
        connection = open_connection(path, read_only=False)
        try:
            name = incomplete_copy_marks.LOG_RECOVERED if has_log else incomplete_copy_marks.LOG_MISSING
            incomplete_copy_marks.add_marks(SqliteConnection(connection), Chain.begin(), name, marks)
        finally:
            connection.close()
    if has_log:
        return ()
    writers = tuple(map(incomplete_copy_marks.writer_of, marks))
    for writer in writers:
        logger.warning("%s: %s", path, incomplete_copy_marks.missing_rows_message(writer, path.name))
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
        connection.execute(f"PRAGMA journal_size_limit = {incomplete_copy_marks.MAX_LOG_BYTES}")
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
        with translate_sqlite_errors(path):
            connection = sqlite3.connect(part, isolation_level=None)
            try:
                migrations.create_ledger(connection)
                connection.execute("PRAGMA journal_mode = WAL")
            finally:
                connection.close()
        _link_into_place(part, path)
    except OSError as error:
        raise LedgerError(f"{path}: no ledger can be made here ({error.strerror}); name another path") from error
    finally:
        if os.access(path.parent, os.W_OK):
            for suffix in ("", "-journal", "-wal", "-shm"):
                part.with_name(part.name + suffix).unlink(missing_ok=True)


def _link_into_place(part: Path, path: Path) -> None:
    try:
        os.link(part, path)
    except FileExistsError:
        return
    except OSError:  # no hard links on this file system
        part.rename(path)
    _sync_folder(path.parent)
    acknowledged_digests.digest_file_path(path).unlink(missing_ok=True)  # digests of a ledger that was deleted here


def _sync_folder(folder: Path) -> None:
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
        raise LedgerError(f"{path}: this is {kind}, not a ledger; it was left untouched: name another path")
    try:
        application, version = _read_header(path)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_NOTADB:
            raise LedgerError(
                f"{path}: this is a file of another kind, not a ledger; it was left untouched: name another path"
            ) from error
        # With a log, the main file may be in the middle of a checkpoint: the real opening decides.
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT or _has_log(path):
            return
        raise LedgerError(
            f"{path}: the ledger is cut short or damaged ({size:,} bytes are there); take a copy from a backup, or "
            "rescue what can be read with `sqlite3 DAMAGED .recover | sqlite3 NEW`"
        ) from error
    if application != schema.APPLICATION:
        raise LedgerError(
            f"{path}: this is another program's database, not a ledger; it was left untouched: name another path"
        )
    migrations.refuse_other_versions(path, version)


def _read_header(path: Path) -> tuple[int, int]:
    with open_without_log(path) as connection:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        return int(application), schema.version_of(connection)


@contextmanager
def open_without_log(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the main file alone, as a copy without its log would be read."""
    uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def _upgrade_schema(path: Path) -> None:
    """Migrate an older ledger after a backup, while nobody else can write."""
    connection = open_connection(path, read_only=False)
    try:
        connection.execute("BEGIN IMMEDIATE")
        version = schema.version_of(connection)
        if version == schema.VERSION:  # another process was faster
            connection.execute("ROLLBACK")
            return
        backup = _back_up(path, version)
        for statement in migrations.migration_statements(SqliteConnection(connection), version):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {schema.VERSION}")
        connection.execute("COMMIT")
    finally:
        connection.close()  # also rolls back
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
            f"{path}: the ledger has the older schema {version} and no backup of it could be made ({error}), so it was "
            "left as it is; free some space beside it and run again"
        ) from error
    return target


def back_up(path: Path, target: Path) -> None:
    """Write a consistent copy, completely or not at all, while others may write to the ledger."""
    source = open_connection(path, read_only=True)
    try:
        write_copy(source, target)
    finally:
        source.close()


def write_copy(source: sqlite3.Connection, target: Path) -> None:
    """Copy a connection's file through SQLite, including its log."""
    with write_sqlite_file(target) as copy_connection:
        source.backup(copy_connection)


@contextmanager
def write_sqlite_file(target: Path) -> Iterator[sqlite3.Connection]:
    """Yield a new SQLite file that gets its name only when it is complete."""
    part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    try:
        connection = sqlite3.connect(part, isolation_level=None)
        try:
            yield connection
        finally:
            connection.close()
        part.rename(target)
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            part.with_name(part.name + suffix).unlink(missing_ok=True)


def _has_log(path: Path) -> bool:
    """True if there may be commits that are not in the main file yet."""
    wal = path.with_name(path.name + "-wal")
    return wal.exists() and wal.stat().st_size > 0
