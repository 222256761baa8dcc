"""What a ledger asks of the database it lies in: a file of SQLite, or a PostgreSQL server.

SQL is written once, with `?` where a value stands; what differs between the two is behind these few calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from fullbench.ledger.row_conversion import Row

BATCH = 500
"""Rows that are fetched at one time: few enough to stay in the processor's cache, which counts for millions of them."""

Position = tuple[str, int, str]
"""Where a chain ends: its writer, and the number and link of its last row."""

Durability = Literal["process", "power"]
"""What an acknowledged row survives: the end of the process, or a loss of power too."""


@dataclass(frozen=True)
class Rescued:
    """The file to which a ledger was saved when its own files were gone or damaged."""

    path: Path
    connection: Connection
    """Open for writing, for rows that are not committed yet."""
    is_whole: bool


class Taken(Exception):
    """A row whose key is there already: nothing of this transaction is kept."""


class Answer(Protocol):
    """The rows that came back."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A connection in which nothing is committed by itself but single statements."""

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        """One statement whose rows fit in memory."""
        ...

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """The rows of a query, one after the other."""
        ...

    def batches(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Sequence[Row]]:
        """The rows of a query, `BATCH` at a time."""
        ...

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        """Add whole rows, or raise `Taken`. To be called within a transaction."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing."""
        ...

    def commit(self, sealed: Sequence[tuple[str, Sequence[Row]]]) -> None:
        """Add whole rows by table in a transaction of their own, in one way over the network, or raise `Taken`."""
        ...

    def together(self, *queries: tuple[str, Sequence[Any]]) -> list[list[Row]]:
        """The rows of several queries, in one way over the network."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """All reads within see one moment; texts that are damaged are read as far as they go."""
        ...

    def alive(self) -> bool:
        """Whether it can still be used, as far as is known without asking."""
        ...

    def ping(self) -> bool:
        """Whether it can still be used, asked."""
        ...

    def log_bytes(self) -> int | None:
        """How long the write-ahead log is that copies of the main file would lack; None where there is none such."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class ByColumns(Connection, Protocol):
    """A connection that gives the rows of a query by columns too."""

    def record_batches(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """Batches as pyarrow has them."""
        ...


class HeadNote(Protocol):
    """Where a writer notes, after each commit, how far its chain has come."""

    def note(self, writer: str, number: int, link: str) -> None: ...

    def close(self) -> None: ...


class Database(Protocol):
    """Where a ledger lies."""

    far: bool
    """Whether a network lies between: commits then take their time, and nobody should wait for them."""

    place: str
    """How it is called in sentences: a path, or a URL without its password."""

    path: Path
    """What is kept beside it on this machine has its name from this path: the file, or one named as the database."""

    @property
    def folder(self) -> Path | str | None:
        """Where pictures lie unless the user says otherwise; None where there is no such place."""
        ...

    @property
    def brings_pictures(self) -> bool:
        """Whether pictures lie there even where the ledger remembers another place, as one that was sealed may."""
        ...

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What its driver raises."""
        ...

    def prepare(self, *, read_only: bool) -> None:
        """Make the ledger where there is none, bring an older one up to date, refuse what is no ledger of ours."""
        ...

    def make(self) -> None:
        """Make the tables of a ledger without any row, not even its identity: for one that is brought here whole."""
        ...

    def exists(self) -> bool:
        """Whether there is a ledger; looking makes none."""
        ...

    def stored_version(self) -> int:
        """Return the version of the ledger that is there."""
        ...

    def back_up(self, target: Path) -> None:
        """Write the ledger of one moment to a file, whole or not at all, while others may write to it."""
        ...

    def connect(self, *, read_only: bool) -> Connection: ...

    def watch_files(self) -> None:
        """Notice what other processes did to the open ledger's files; to be called before each commit."""
        ...

    def find_damage(self, position: Position | None, *, is_last: bool = False) -> str | None:
        """Return what happened to the open ledger's files, or None if they are as this process wrote them.

        With `position`, also read that commit back through a second connection; with `is_last`, wait for checks that
        are under way.
        """
        ...

    def is_damage(self, error: BaseException | None) -> bool:
        """Check whether an error says that the database's files are damaged."""
        ...

    def is_marked(self) -> bool:
        """Check that a copy without the write-ahead log would show that rows are missing (see `log_marks`)."""
        ...

    def checkpoint(self, connection: Connection) -> bool:
        """Copy the write-ahead log into the main file as far as readers allow; False if some of it is left."""
        ...

    def rescue(self, connection: Connection) -> Rescued:
        """Save all that an open connection still reaches, when the ledger is gone or damaged."""
        ...

    def close(self) -> None:
        """Close what was opened to check the files."""
        ...

    def plainly(self) -> AbstractContextManager[None]:
        """Turn what the database complains about into one sentence."""
        ...

    def sole(self, name: str) -> AbstractContextManager[None]:
        """Hold a judge's or contestant's name for this process alone."""
        ...

    def sole_soon(self, names: Sequence[str]) -> AbstractContextManager[None]:
        """Begin to hold names, where that takes long: whoever calls `sole` then waits for the rest of it only."""
        ...

    def pauses(self) -> Iterator[float]:
        """How long to wait before each further try, when trouble may pass; none where trying again is of no use."""
        ...

    def passing(self, error: Exception) -> bool:
        """Whether the same transaction may succeed when it is tried again."""
        ...

    def contended(self, error: Exception) -> bool:
        """Whether two stood in each other's way, so that a try soon after goes through."""
        ...

    def settled(self, reader: Connection) -> AbstractContextManager[None]:
        """Wait until no commit is half-way, and hold back new ones meanwhile."""
        ...

    def head_note(self) -> HeadNote | None:
        """Where a writer notes what was acknowledged; None where the database sees to that itself."""
        ...

    def noted_heads(self) -> list[Position]:
        """What all writers noted: writer, number and link of the last row that was acknowledged."""
        ...

    def missing_logs(self, reader: Connection) -> list[str]:
        """The writers whose last rows were in a write-ahead log that is not here."""
        ...

    def integrity(self, reader: Connection) -> list[str]:
        """What the database itself finds wrong with its files."""
        ...

    def vacuum(self, *, dry_run: bool) -> int:
        """Give free space back; the bytes that were freed, or would be."""
        ...

    def size(self, reader: Connection) -> int:
        """Bytes on disk."""
        ...


class FilesOfOthers:
    """A database whose files this process does not write: those of a server, or of a lake, which is read-only."""

    def watch_files(self) -> None:
        """Do nothing."""

    def find_damage(self, position: Position | None, *, is_last: bool = False) -> None:
        """Find nothing."""

    def is_damage(self, error: BaseException | None) -> bool:
        return False

    def is_marked(self) -> bool:
        return True

    def checkpoint(self, connection: Connection) -> bool:
        return True

    def close(self) -> None:
        """Do nothing."""
