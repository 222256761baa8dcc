"""Opening a ledger: made whole or not at all, and never mistaken for another file."""

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
from fullbench.ledger.error_messages import BUSY_SECONDS, plainly
from fullbench.ledger.integrity import acknowledged_digests
from fullbench.ledger.integrity.row_chain import Chain
from fullbench.ledger.sqlite import incomplete_copy_marks
from fullbench.ledger.sqlite.connection import SqliteConnection

logger = logging.getLogger(__name__)


def prepare(path: Path, *, read_only: bool) -> tuple[str, ...]:
    """Make the ledger where there is none, bring an older one up to date, refuse what is no ledger of ours.

    Return the writers whose last rows were in a write-ahead log that is not next to the file.
    """
    if not path.exists():
        if read_only:
            raise LedgerError(f"{path}: there is no ledger here; check the path, or run something that makes one")
        if _wal(path):  # SQLite would take it for the new file's own
            raise LedgerError(
                f"{path}: there is no ledger here, but the write-ahead log of one that was deleted or moved while it "
                f"was in use ({path.name}-wal); put the ledger back beside it, or delete the log to begin anew"
            )
        _make(path)
    if path.is_dir():
        raise LedgerError(f"{path}: this is a folder, not a ledger; name a file")
    _look(path)
    log_at_hand = _wal(path)  # asked first: whoever closes the file last brings the log over and deletes it
    with plainly(path):
        connection = connect(path, read_only=True)
        try:
            version = schema.version_of(connection)
            migrations.refuse_other_versions(path, version, read_only=read_only)
            marked = incomplete_copy_marks.open_marks(SqliteConnection(connection))
        finally:
            connection.close()
        if version < schema.VERSION:
            _bring_up(path)
        return _explained(path, marked, log_at_hand, read_only)


def _explained(path: Path, marked: Sequence[str], log_at_hand: bool, read_only: bool) -> tuple[str, ...]:
    """Why chains end with a mark: a kill at that very moment, which is noted, or a log that was left behind."""
    if not marked:
        return ()
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK) and (log_at_hand or not read_only):
        connection = connect(path, read_only=False)
        try:
            name = incomplete_copy_marks.RECOVERED if log_at_hand else incomplete_copy_marks.MISSING
            incomplete_copy_marks.add(SqliteConnection(connection), Chain.begin(), name, marked)
        finally:
            connection.close()
    if log_at_hand:
        return ()
    writers = tuple(map(incomplete_copy_marks.writer_of, marked))
    for writer in writers:
        logger.warning("%s: %s", path, incomplete_copy_marks.sentence(writer, path.name))
    return writers


def connect(path: Path, *, read_only: bool, durability: Durability = "power") -> sqlite3.Connection:
    """A connection that may be handed from thread to thread, in which nothing is committed by itself.

    One for reading opens the file for writing too where it may, only to tidy up after itself; it changes nothing.
    """
    if not read_only:
        return _connect(path, "rw", durability)
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        connection = _connect(path, "rw", durability)
        connection.execute("PRAGMA query_only = ON")
        return connection
    try:
        return _connect(path, "ro", durability)
    except sqlite3.OperationalError as error:
        if _wal(path) or error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
            raise
        return _connect(path, "ro&immutable=1", durability)


def _connect(path: Path, mode: str, durability: Durability) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        connection.execute(f"PRAGMA synchronous = {'FULL' if durability == 'power' else 'NORMAL'}")
        connection.execute("PRAGMA recursive_triggers = ON")
        # The writer sees to checkpoints itself (see `log_marks`), and knows by the file's size how long the log is: it
        # keeps that size, for a log that is written over costs less than one that grows anew after every checkpoint.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(f"PRAGMA journal_size_limit = {incomplete_copy_marks.LONG}")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _make(path: Path) -> None:
    """Make the ledger under another name and link it into place: two processes that do so at once share the first."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with plainly(path):
            connection = sqlite3.connect(part, isolation_level=None)
            try:
                migrations.create(connection)
                connection.execute("PRAGMA journal_mode = WAL")
            finally:
                connection.close()
        _link(part, path)
    except OSError as error:
        raise LedgerError(f"{path}: no ledger can be made here ({error.strerror}); name another path") from error
    finally:
        if os.access(path.parent, os.W_OK):
            for suffix in ("", "-journal", "-wal", "-shm"):
                part.with_name(part.name + suffix).unlink(missing_ok=True)


def _link(part: Path, path: Path) -> None:
    try:
        os.link(part, path)
    except FileExistsError:
        return
    except OSError:
        part.rename(path)
    _sync_folder(path.parent)
    acknowledged_digests.path_of(path).unlink(missing_ok=True)  # what a ledger that was deleted here had acknowledged


def _sync_folder(folder: Path) -> None:
    """Wait until the disk knows the new name; a file system that cannot do that is none that loses it."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _look(path: Path) -> None:
    """Refuse what is no ledger of ours, after a look that changes nothing.

    The look goes through SQLite, as every access must: closing any other descriptor of the file would drop the locks
    that this process holds on it (https://www.sqlite.org/howtocorrupt.html, 2.2), and the next process to close the
    ledger would delete the write-ahead log under us. `immutable` keeps SQLite from making files of its own beside
    what may be somebody else's database.
    """
    if not os.access(path, os.R_OK):
        raise LedgerError(f"{path}: the ledger cannot be read (permission denied)")
    size = path.stat().st_size
    if not path.is_file() or size == 0:
        kind = "an empty file" if path.is_file() else "no regular file"
        raise LedgerError(f"{path}: this is {kind}, not a ledger; it was left untouched: name another path")
    try:
        application, version = _marks(path)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_NOTADB:
            raise LedgerError(
                f"{path}: this is a file of another kind, not a ledger; it was left untouched: name another path"
            ) from error
        # Where a log exists, the main file alone may be half-way through a checkpoint: the real opening decides.
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT or _wal(path):
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


def _marks(path: Path) -> tuple[int, int]:
    """The application's mark and the schema's version, from the main file alone."""
    with without_log(path) as connection:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        return int(application), schema.version_of(connection)


@contextmanager
def without_log(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the main file alone, as a copy without its log would be read."""
    uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def _bring_up(path: Path) -> None:
    """Bring an older ledger to the newest schema, after a backup, while nobody else can write."""
    connection = connect(path, read_only=False)
    try:
        connection.execute("BEGIN IMMEDIATE")
        version = schema.version_of(connection)
        if version == schema.VERSION:  # another process was quicker
            connection.execute("ROLLBACK")
            return
        backup = _back_up(path, version)
        for statement in migrations.statements(SqliteConnection(connection), version):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {schema.VERSION}")
        connection.execute("COMMIT")
    finally:
        connection.close()  # which undoes what is not committed
    logger.warning(
        "%s: the ledger was brought from schema %d to %d; as it was before, it is in %s",
        path, version, schema.VERSION, backup,
    )  # fmt: skip


def _back_up(path: Path, version: int) -> Path:
    """Copy a ledger to a file beside it, through SQLite."""
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
    """Copy a ledger as it is at one moment, whole or not at all, while others may write to it."""
    source = connect(path, read_only=True)
    try:
        write_copy(source, target)
    finally:
        source.close()


def write_copy(source: sqlite3.Connection, target: Path) -> None:
    """Copy the file that a connection has open through SQLite, its log included."""
    with written_whole(target) as copied:
        source.backup(copied)


@contextmanager
def written_whole(target: Path) -> Iterator[sqlite3.Connection]:
    """A new SQLite file that is there under its name when all of it is written, or not at all."""
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


def _wal(path: Path) -> bool:
    """Whether there are commits that are not in the main file yet."""
    wal = path.with_name(path.name + "-wal")
    return wal.exists() and wal.stat().st_size > 0
