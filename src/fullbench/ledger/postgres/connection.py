"""A connection to PostgreSQL that speaks as SQLite's does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Any

from fullbench.ledger import schema
from fullbench.ledger.database_interface import BATCH, Answer, Taken
from fullbench.ledger.row_conversion import Row

if TYPE_CHECKING:
    import psycopg


# Columns as array literals of PostgreSQL.
#
# psycopg writes a list out value by value in Python, which cost three times what all the rest of a commit did; a column
# of one type is joined and escaped as a whole.

MARK = "\ufdd0"
"""PostgreSQL holds no zero character: it is kept as this one, which is none, and a 0."""

_BETWEEN = "\x1e"
"""Stands between values while they are escaped; where a value has it, each is escaped by itself."""


def storable(text: str) -> str:
    """The text without zero characters."""
    if "\0" in text or MARK in text:
        return text.replace(MARK, MARK + "1").replace("\0", MARK + "0")
    return text


def texts(column: Sequence[str | None]) -> str:
    r"""
    >>> print(texts(["plain", 'a "b" \\', ""]))
    {"plain","a \"b\" \\",""}
    >>> print(texts(["NULL", None]))
    {"NULL",NULL}
    """
    if None not in column:
        joined = _BETWEEN.join(column)  # type: ignore[arg-type]
        if joined.count(_BETWEEN) == len(column) - 1:
            return '{"' + _escaped(joined).replace(_BETWEEN, '","') + '"}'
    return "{" + ",".join("NULL" if text is None else f'"{_escaped(text)}"' for text in column) + "}"


def numbers(kind: Callable[[Any], float]) -> Callable[[Sequence[float | None]], str]:
    """Writes out a column of such numbers.

    >>> numbers(float)([1, 0.1, None, float("nan")])
    '{1.0,0.1,NULL,nan}'
    """

    def literal(column: Sequence[float | None]) -> str:
        # repr is the shortest text that is read as the same number, here and by PostgreSQL
        return "{" + ",".join("NULL" if number is None else repr(kind(number)) for number in column) + "}"

    return literal


def _escaped(text: str) -> str:
    return storable(text).replace("\\", "\\\\").replace('"', '\\"')


SPACE = "fullbench_ledger"
"""The schema in the database that holds a ledger's tables; its comment tells their version."""

SIGNS_OF_LIFE = {
    "tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3", "tcp_user_timeout": "25s",
}  # fmt: skip
"""What the server is told for each connection: a machine that lost its power says no goodbye, and Linux would let it
hold its names, and what it had not yet committed, for two hours."""
LET_GO = 25
"""The seconds after which these settings give up a machine that is silent."""


def lock_number(text: str) -> int:
    """The number of an advisory lock."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1


_SHARED_LOCK = f"SELECT pg_advisory_xact_lock_shared({lock_number(SPACE)})"
TYPES = {"TEXT": 'TEXT COLLATE "C"', "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION"}
"""What our types are called on a server."""


_Literal = Callable[[Sequence[Any]], str]
_LITERALS: dict[str, _Literal] = {"TEXT": texts, "INTEGER": numbers(int), "REAL": numbers(float)}


def _insert(table: str) -> tuple[str, tuple[_Literal, ...]]:
    """The statement that adds rows to a table from an array for each column, and what writes out the arrays."""
    defined = [column.split()[:2] for column in f"{schema.TABLES[table]}, {schema.SEAL}".split(", ")]
    lists = ", ".join(f"unnest(%s::{TYPES[kind].split(' COLLATE')[0]}[])" for _, kind in defined)
    names = ", ".join(name for name, _ in defined)
    statement = f"INSERT INTO {table} ({names}) SELECT {lists}"
    return statement, tuple(_LITERALS[kind] for _, kind in defined)


_INSERTING = {table: _insert(table) for table in schema.TABLES}


def _in(value: Any) -> Any:
    return storable(value) if isinstance(value, str) else value


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

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        return _Rows(self.raw.execute(ours(sql), list(map(_in, values))))

    def stream(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        for batch in self.batches(sql, values):
            yield from batch

    def batches(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Sequence[Row]]:
        """By a cursor on the server, in a transaction, or the one that is open; it is opened and first read from in one
        way over the network."""
        from psycopg.pq import TransactionStatus

        name = f"fullbench_{next(self._names)}"
        idle = self.raw.info.transaction_status == TransactionStatus.IDLE
        more = f"FETCH FORWARD {BATCH} FROM {name}"
        try:
            with self.raw.pipeline():
                if idle:
                    self.raw.execute("BEGIN")
                declared = f"DECLARE {name} NO SCROLL CURSOR FOR {ours(sql)}"
                self.raw.execute(declared, list(map(_in, values)), prepare=False)
                fetched = self.raw.execute(more, prepare=False)
            while batch := fetched.fetchall():
                yield list(map(_out, batch))
                if len(batch) < BATCH:
                    break
                fetched = self.raw.execute(more, prepare=False)
        finally:
            if self.alive() and self.raw.info.transaction_status != TransactionStatus.IDLE:
                failed = self.raw.info.transaction_status == TransactionStatus.INERROR
                if idle:
                    self.raw.execute("ROLLBACK" if failed else "COMMIT")
                elif not failed:
                    self.raw.execute(f"CLOSE {name}")

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        """Whole rows in one statement, an array for each column: what fits into a pipeline, as COPY does not."""
        statement, literals = _INSERTING[table]
        columns = zip(*rows, strict=True)
        self.raw.execute(statement, [literal(column) for literal, column in zip(literals, columns, strict=True)])

    def commit(self, sealed: Sequence[tuple[str, Sequence[Row]]]) -> None:
        """A transaction whose words are all sent before the first answer is waited for."""
        with self._undone_by_errors(), self.raw.pipeline():
            self.raw.execute("BEGIN")
            self.raw.execute(_SHARED_LOCK)
            for table, rows in sealed:
                self.insert(table, rows)
            self.raw.execute("COMMIT")

    def together(self, *queries: tuple[str, Sequence[Any]]) -> list[list[Row]]:
        if not queries:
            return []
        with self.raw.pipeline():
            cursors = [self.raw.execute(ours(sql), list(map(_in, values))) for sql, values in queries]
        return [list(map(_out, cursor.fetchall())) for cursor in cursors]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, while `settled` waits."""
        with self._undone_by_errors():
            self.raw.execute(f"BEGIN; {_SHARED_LOCK}")
            yield
            self.raw.execute("COMMIT")

    @contextmanager
    def _undone_by_errors(self) -> Iterator[None]:
        from psycopg import errors, pq

        try:
            yield
        except BaseException as error:
            if self.alive() and self.raw.info.transaction_status != pq.TransactionStatus.IDLE:
                self.raw.execute("ROLLBACK")
            if isinstance(error, errors.UniqueViolation):
                raise Taken from error
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._undone_by_errors():
            self.raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
            self.raw.execute("COMMIT")

    def alive(self) -> bool:
        return not self.raw.closed and not self.raw.broken

    def ping(self) -> bool:
        """Asked of the server only where something came that nobody waits for, as when it ends the connection."""
        from select import select

        from psycopg import OperationalError

        if not self.alive():
            return False
        if not select([self.raw.fileno()], [], [], 0)[0]:
            return True
        try:
            self.raw.execute("SELECT 1")
        except OperationalError:
            return False
        return True

    def log_bytes(self) -> None:
        """A server keeps its log to itself."""

    def close(self) -> None:
        self.raw.close()


# Connections to a server that are opened before they are asked for, side by side: each takes several ways there.


class Ahead:
    """Connections on their way, each for whoever asks for one next."""

    def __init__(self, connect: Callable[[], PostgresConnection]) -> None:
        self._connect = connect
        self._coming: list[Future[PostgresConnection]] = []

    def expect(self, count: int) -> None:
        """Begin to open so many."""
        pool = ThreadPoolExecutor(max_workers=count, thread_name_prefix="fullbench-connect")
        self._coming += [pool.submit(self._connect) for _ in range(count)]
        pool.shutdown(wait=False)

    def taken(self) -> PostgresConnection:
        """One that is open: it was expected, or is opened now. What went wrong meanwhile is raised here."""
        try:
            while self._coming:
                connection = self._coming.pop().result()
                if connection.ping():
                    return connection
                connection.close()
        except BaseException:
            self.close()
            raise
        return self._connect()

    def close(self) -> None:
        """Let go of those that nobody asked for."""
        while self._coming:
            coming = self._coming.pop()
            if coming.exception() is None:
                coming.result().close()
