"""A connection to PostgreSQL that speaks as SQLite's does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Any

from fullbench.ledger import schema
from fullbench.ledger.database import BATCH, Answer, Taken
from fullbench.ledger.rows import Row

if TYPE_CHECKING:
    import psycopg
    from psycopg import sql

SPACE = "fullbench_ledger"
"""The schema in the database that holds a ledger's tables; its comment tells their version."""

MARK = "\ufdd0"
"""PostgreSQL holds no zero character: it is kept as this one, which is none, and a 0."""


def _in(value: Any) -> Any:
    if isinstance(value, str) and ("\0" in value or MARK in value):
        return value.replace(MARK, MARK + "1").replace("\0", MARK + "0")
    return value


def _out(row: Row) -> Row:
    if any(isinstance(value, str) and MARK in value for value in row):
        return tuple(
            value.replace(MARK + "0", "\0").replace(MARK + "1", MARK) if isinstance(value, str) else value
            for value in row
        )
    return row


def ours(sql: str) -> str:
    """Our SQL as psycopg wants it."""
    return sql.replace("?", "%s").replace("json_array(", "json_build_array(")


class _Rows:
    """Rows that came back, their texts as they were."""

    def __init__(self, cursor: psycopg.Cursor[Row]) -> None:
        self._cursor = cursor

    def fetchone(self) -> Row | None:
        row = self._cursor.fetchone()
        return None if row is None else _out(row)

    def fetchall(self) -> list[Row]:
        return list(map(_out, self._cursor.fetchall()))

    def __iter__(self) -> Iterator[Row]:
        return map(_out, self._cursor)


class PostgresConnection:
    """A connection of psycopg that speaks as SQLite's does."""

    def __init__(self, raw: psycopg.Connection[Row]) -> None:
        self.raw = raw
        self._names = count()
        self._last: sql.Composed

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        return _Rows(self.raw.execute(ours(sql), list(map(_in, values))))

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        for batch in self.batches(sql, values):
            yield from batch

    def batches(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Sequence[Row]]:
        with self._within(), self.raw.cursor(f"fullbench_{next(self._names)}") as cursor:
            cursor.execute(ours(sql), list(map(_in, values)))
            while batch := cursor.fetchmany(BATCH):
                yield list(map(_out, batch))

    def _within(self) -> AbstractContextManager[object]:
        """A transaction, which a cursor on the server needs; the one that is open, where there is one."""
        from psycopg.pq import TransactionStatus

        idle = self.raw.info.transaction_status == TransactionStatus.IDLE
        return self.raw.transaction() if idle else nullcontext()

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        """By COPY; the row that ends a commit goes with the word COMMIT."""
        from psycopg import sql

        names = ", ".join((*schema.columns(table), "writer", "number", "link"))
        if table == "commits":
            values = sql.SQL(", ").join(map(sql.Literal, rows[0]))
            self._last = sql.SQL(ours(f"INSERT INTO commits ({names}) VALUES ({{}}); ")).format(values)
            return
        with self.raw.cursor() as cursor, cursor.copy(ours(f"COPY {table} ({names}) FROM STDIN")) as copy:
            for row in rows:
                copy.write_row(tuple(map(_in, row)))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, while `settled` waits. What can be said together is, to spare the network's ways."""
        from psycopg import errors, pq, sql

        self._last = sql.SQL("").format()
        self.raw.execute(ours(f"BEGIN; SELECT pg_advisory_xact_lock_shared({lock_number(SPACE)})"))
        try:
            yield
            self.raw.execute(self._last + sql.SQL("COMMIT"))
        except BaseException as error:
            if self.alive() and self.raw.info.transaction_status != pq.TransactionStatus.IDLE:
                self.raw.execute("ROLLBACK")
            if isinstance(error, errors.UniqueViolation):
                raise Taken from error
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self.raw.transaction():
            self.raw.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield

    def alive(self) -> bool:
        return not self.raw.closed and not self.raw.broken

    def ping(self) -> bool:
        from psycopg import OperationalError

        try:
            self.raw.execute("SELECT 1")
        except OperationalError:
            return False
        return True

    def log_bytes(self) -> None:
        """A server keeps its log to itself."""

    def checkpoint(self) -> None:
        """A server does that by itself."""

    def close(self) -> None:
        self.raw.close()


def lock_number(text: str) -> int:
    """The number of an advisory lock."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1
