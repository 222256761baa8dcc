"""Protocols of a database that can hold a ledger: an SQLite file, a PostgreSQL server or a Parquet lake.

SQL is written once, with `?` for values. These calls hide what differs between the databases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from fullbench.ledger.row_conversion import Row

BATCH = 500
"""Rows per fetch: few enough to stay in the processor's cache, which matters for millions of rows."""

KEYS_PER_QUERY = 500
"""Keys per lookup: old builds of SQLite accept 999 values in a statement."""

T = TypeVar("T")

Position = tuple[str, int, str]
"""End of a chain: its writer, and the number and digest of its last row."""

Durability = Literal["process", "power"]
"""Survival of acknowledged rows: the end of the process, or also a loss of power."""


@dataclass(frozen=True)
class RescuedFile:
    """File to which a ledger was saved when its own files were gone or damaged."""

    path: Path
    connection: Connection
    """Open for writing, for rows that are not committed yet."""
    is_whole: bool


def chunks(values: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the values in lists of at most `size`.

    >>> list(chunks("abc", 2))
    [['a', 'b'], ['c']]
    """
    remaining = iter(values)
    while chunk := list(islice(remaining, size)):
        yield chunk


def lookup(reader: Connection, sql: str, keys: Iterable[Any]) -> Iterator[Any]:
    """Yield the rows of a query for many keys, whose `{}` is a list of keys. Equal keys are looked up once."""
    for chunk in chunks(dict.fromkeys(keys), KEYS_PER_QUERY):
        yield from reader.execute(sql.format(", ".join("?" * len(chunk))), chunk)


class DuplicateKeyError(Exception):
    """A row's key already exists; nothing of the transaction is kept."""


class Answer(Protocol):
    """Rows returned by a query."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """Database connection that commits automatically only after single statements."""

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        """Run one statement whose rows fit in memory."""
        ...

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """Yield the rows of a query one by one."""
        for batch in self.batches(sql, values):
            yield from batch

    def batches(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Sequence[Row]]:
        """Yield the rows of a query, `BATCH` at a time."""
        ...

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        """Add whole rows, or raise `DuplicateKeyError`. Call it within a transaction."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Open a transaction: commit on success, roll back on an error."""
        ...

    def commit(self, rows_by_table: Sequence[tuple[str, Sequence[Row]]]) -> None:
        """Add whole rows by table in their own transaction, or raise `DuplicateKeyError`.
        It takes one network round trip.
        """
        ...

    def together(self, *queries: tuple[str, Sequence[Any]]) -> list[list[Row]]:
        """Return the rows of several queries in one network round trip."""
        return [self.execute(sql, values).fetchall() for sql, values in queries]

    def snapshot(self) -> AbstractContextManager[None]:
        """Give all reads within one consistent state; damaged texts are read as far as possible."""
        ...

    def alive(self) -> bool:
        """True if the connection seems usable, without a query."""
        return True

    def ping(self) -> bool:
        """True if the connection is usable, checked by a query."""
        return True

    def log_bytes(self) -> int | None:
        """Return the bytes of the write-ahead log, which copies of the main file lack, or None if there is no log."""
        return None

    def close(self) -> None: ...


@runtime_checkable
class ByColumns(Connection, Protocol):
    """Connection that can also return the rows of a query as columns."""

    def record_batches(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """Yield pyarrow record batches."""
        ...


class DigestNote(Protocol):
    """File in which a writer notes the end of its chain after each commit."""

    def note(self, writer: str, number: int, link: str) -> None: ...

    def close(self) -> None: ...


class Database(Protocol):
    """Database that holds a ledger. The defaults are for one whose files this process does not write."""

    is_remote: bool
    """True if the database is reached over a network: commits are slow, and callers should not wait for them."""

    place: str
    """Name in messages: a path, or a URL without its password."""

    path: Path
    """Path after which local files next to the ledger are named: the file, or the name of the database."""

    @property
    def folder(self) -> Path | str | None:
        """Default place for pictures, or None if there is none."""
        ...

    @property
    def brings_pictures(self) -> bool:
        """True if pictures are in `folder` even if the ledger's settings name another place, as in a lake."""
        ...

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """Exceptions that the database driver raises."""
        ...

    def prepare(self, *, read_only: bool) -> None:
        """Create the ledger if it is missing, migrate an older one, and refuse anything that is not a ledger."""
        ...

    def make(self) -> None:
        """Create the tables without any row, not even the identity; an exact copy adds all rows."""
        ...

    def exists(self) -> bool:
        """True if there is a ledger; this check creates none."""
        ...

    def stored_version(self) -> int:
        """Return the schema version of the existing ledger."""
        ...

    def back_up(self, target: Path) -> None:
        """Write a consistent copy to a file, completely or not at all, while others may write to the ledger."""
        ...

    def connect(self, *, read_only: bool) -> Connection: ...

    def watch_files(self) -> None:
        """Detect what other processes did to the open ledger's files. Call it before each commit."""
        return

    def find_damage(self, position: Position | None, *, is_last: bool = False) -> str | None:
        """Describe the damage to the open ledger's files, or return None if they are as this process wrote them. With
        `position`, also read that commit back through a second connection. With `is_last`, wait for running checks.
        """
        return None

    def is_damage(self, error: BaseException | None) -> bool:
        """True if an error means that the database's files are damaged."""
        return False

    def is_marked(self) -> bool:
        """True if a copy without the write-ahead log would show that rows are missing (see `incomplete_copy_marks`)."""
        return True

    def checkpoint(self, connection: Connection) -> bool:
        """Copy the write-ahead log into the main file as far as readers allow; False if some of it is left."""
        return True

    def rescue(self, connection: Connection) -> RescuedFile:
        """Save everything that an open connection can still read, after the ledger's files were lost or damaged."""
        ...

    def close(self) -> None:
        """Close the connections that check the files."""
        return

    def translate_errors(self) -> AbstractContextManager[None]:
        """Turn database errors into a `LedgerError` of one sentence."""
        ...

    def hold_lock(self, name: str) -> AbstractContextManager[None]:
        """Lock a judge's or contestant's name for this process."""
        ...

    def request_locks(self, names: Sequence[str]) -> AbstractContextManager[None]:
        """Start acquiring locks if that takes long, so that `hold_lock` waits less."""
        return nullcontext()

    def pauses(self) -> Iterator[float]:
        """Yield the seconds to wait before each retry; nothing if retries cannot help."""
        return iter(())

    def is_transient(self, error: Exception) -> bool:
        """True if the same transaction may succeed when retried."""
        return False

    def is_contention(self, error: Exception) -> bool:
        """True if two transactions collided, so that a quick retry succeeds."""
        return False

    def hold_back_commits(self, reader: Connection) -> AbstractContextManager[None]:
        """Wait until no commit is in progress, and block new ones meanwhile."""
        return nullcontext()

    def digest_note(self) -> DigestNote | None:
        """Return the file for acknowledged digests, or None if the database guarantees durability itself."""
        return None

    def noted_digests(self) -> list[Position]:
        """Return the last acknowledged position of each writer: writer, row number, row digest."""
        return []

    def missing_logs(self, reader: Connection) -> list[str]:
        """Return the writers whose last rows were in a write-ahead log that is missing here."""
        return []

    def integrity_problems(self, reader: Connection) -> list[str]:
        """Return the problems that the database itself finds in its files."""
        ...

    def vacuum(self, *, dry_run: bool) -> int:
        """Release free space and return the bytes freed (with `dry_run`, the bytes that would be)."""
        ...

    def size(self, reader: Connection) -> int:
        """Return the bytes on disk."""
        ...
