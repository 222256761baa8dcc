"""PostgreSQL connection with the interface of the SQLite one, and a prefetch of connections.

psycopg serializes a list value by value in Python, which cost three times the rest of a commit. So each column is
joined and escaped as one array literal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, Any

from fullbench.ledger import schema
from fullbench.ledger.database_interface import BATCH, Answer, Connection, DuplicateKeyError
from fullbench.ledger.row_conversion import Row

if TYPE_CHECKING:
    import psycopg


MARK = "\ufdd0"
"""PostgreSQL cannot store NUL: it is stored as this noncharacter and a 0."""

_SEPARATOR = "\x1e"
"""Separates values while they are escaped; if a value contains it, each is escaped separately."""


def replace_zero_characters(text: str) -> str:
    """Encode NUL characters, which PostgreSQL cannot store."""
    if "\0" in text or MARK in text:
        return text.replace(MARK, MARK + "1").replace("\0", MARK + "0")
    return text


def text_array_literal(column: Sequence[str | None]) -> str:
    r"""Return a column of texts as an array literal of PostgreSQL.

    >>> print(text_array_literal(["plain", 'a "b" \\', ""]))
    {"plain","a \"b\" \\",""}
    >>> print(text_array_literal(["NULL", None]))
    {"NULL",NULL}
    """
    if None not in column:
        joined_text = _SEPARATOR.join(column)  # type: ignore[arg-type]
        if joined_text.count(_SEPARATOR) == len(column) - 1:
            return '{"' + _escape_text(joined_text).replace(_SEPARATOR, '","') + '"}'
    return "{" + ",".join("NULL" if text is None else f'"{_escape_text(text)}"' for text in column) + "}"


def number_array_writer(kind: Callable[[Any], float]) -> Callable[[Sequence[float | None]], str]:
    """Return a function that formats a column of numbers as an array literal.

    >>> number_array_writer(float)([1, 0.1, None, float("nan")])
    '{1.0,0.1,NULL,nan}'
    """

    def literal(column: Sequence[float | None]) -> str:
        # repr is the shortest text that Python and PostgreSQL read back as the same number
        return "{" + ",".join("NULL" if number is None else repr(kind(number)) for number in column) + "}"

    return literal


def _escape_text(text: str) -> str:
    return replace_zero_characters(text).replace("\\", "\\\\").replace('"', '\\"')


SPACE = "fullbench_ledger"
"""PostgreSQL schema with the ledger's tables; its comment contains their version."""

KEEPALIVE_SETTINGS = {
    "tcp_keepalives_idle": "10", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3", "tcp_user_timeout": "25s",
}  # fmt: skip
"""Server settings of each connection. A machine that lost power does not close its connections, and by default Linux
would keep its locks and open transactions for two hours."""
KEEPALIVE_SECONDS = 25
"""Seconds after which these settings give up a silent machine."""


def lock_number(text: str) -> int:
    """Return the number of an advisory lock."""
    # 63 bits, since PostgreSQL's bigint is signed.
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1


_SHARED_LOCK = f"SELECT pg_advisory_xact_lock_shared({lock_number(SPACE)})"
# COLLATE "C" sorts by bytes, as SQLite does.
TYPES = {"TEXT": 'TEXT COLLATE "C"', "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION"}


_Literal = Callable[[Sequence[Any]], str]
_LITERALS: dict[str, _Literal] = {
    "TEXT": text_array_literal,
    "INTEGER": number_array_writer(int),
    "REAL": number_array_writer(float),
}


def _insert_statement(table: str) -> tuple[str, tuple[_Literal, ...]]:
    """Return the INSERT statement of a table with one array per column, and the functions that format the arrays."""
    column_definitions = [column.split()[:2] for column in f"{schema.TABLES[table]}, {schema.SEAL}".split(", ")]
    lists = ", ".join(f"unnest(%s::{TYPES[kind].split(' COLLATE')[0]}[])" for _, kind in column_definitions)
    names = ", ".join(name for name, _ in column_definitions)
    statement = f"INSERT INTO {table} ({names}) SELECT {lists}"
    return statement, tuple(_LITERALS[kind] for _, kind in column_definitions)


_INSERTS = {table: _insert_statement(table) for table in schema.TABLES}


def _encode_value(value: Any) -> Any:
    return replace_zero_characters(value) if isinstance(value, str) else value


def _decode_row(row: Row) -> Row:
    if any(isinstance(value, str) and MARK in value for value in row):
        return tuple(
            value.replace(MARK + "0", "\0").replace(MARK + "1", MARK) if isinstance(value, str) else value
            for value in row
        )
    return row


def psycopg_sql(sql: str) -> str:
    """Translate our SQL for psycopg."""
    return sql.replace("?", "%s").replace("json_array(", "json_build_array(")


class _Rows:
    """Rows returned by a query, with NUL characters decoded."""

    def __init__(self, cursor: psycopg.Cursor[Row]) -> None:
        self._cursor = cursor

    def fetchone(self) -> Row | None:
        row = self._cursor.fetchone()
        return None if row is None else _decode_row(row)

    def fetchall(self) -> list[Row]:
        return list(map(_decode_row, self._cursor.fetchall()))

    def __iter__(self) -> Iterator[Row]:
        return map(_decode_row, self._cursor)


class PostgresConnection(Connection):
    """psycopg connection with the interface of the SQLite one."""

    def __init__(self, raw: psycopg.Connection[Row]) -> None:
        self.raw = raw
        self._names = count()

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Answer:
        return _Rows(self.raw.execute(psycopg_sql(sql), list(map(_encode_value, values))))

    def batches(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Sequence[Row]]:
        """Read through a server-side cursor, in the open transaction or a new one.
        Opening the cursor and the first read take one network round trip.
        """
        from psycopg.pq import TransactionStatus

        name = f"fullbench_{next(self._names)}"
        idle = self.raw.info.transaction_status == TransactionStatus.IDLE
        more = f"FETCH FORWARD {BATCH} FROM {name}"
        try:
            with self.raw.pipeline():
                if idle:
                    self.raw.execute("BEGIN")
                declare_sql = f"DECLARE {name} NO SCROLL CURSOR FOR {psycopg_sql(sql)}"
                self.raw.execute(declare_sql, list(map(_encode_value, values)), prepare=False)
                cursor = self.raw.execute(more, prepare=False)
            while batch := cursor.fetchall():
                yield list(map(_decode_row, batch))
                if len(batch) < BATCH:
                    break
                cursor = self.raw.execute(more, prepare=False)
        finally:
            if self.alive() and self.raw.info.transaction_status != TransactionStatus.IDLE:
                has_failed = self.raw.info.transaction_status == TransactionStatus.INERROR
                if idle:
                    self.raw.execute("ROLLBACK" if has_failed else "COMMIT")
                elif not has_failed:
                    self.raw.execute(f"CLOSE {name}")

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        """Insert whole rows in one statement with an array per column; unlike COPY, this works in a pipeline."""
        statement, literals = _INSERTS[table]
        columns = zip(*rows, strict=True)
        self.raw.execute(statement, [literal(column) for literal, column in zip(literals, columns, strict=True)])

    def commit(self, rows_by_table: Sequence[tuple[str, Sequence[Row]]]) -> None:
        """Run a transaction whose statements are all sent before the first reply is awaited."""
        with self._roll_back_on_error(), self.raw.pipeline():
            self.raw.execute("BEGIN")
            self.raw.execute(_SHARED_LOCK)
            for table, rows in rows_by_table:
                self.insert(table, rows)
            self.raw.execute("COMMIT")

    def together(self, *queries: tuple[str, Sequence[Any]]) -> list[list[Row]]:
        if not queries:
            return []
        with self.raw.pipeline():
            cursors = [self.raw.execute(psycopg_sql(sql), list(map(_encode_value, values))) for sql, values in queries]
        return [list(map(_decode_row, cursor.fetchall())) for cursor in cursors]

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Open a transaction for which `Postgres.hold_back_commits` waits."""
        with self._roll_back_on_error():
            self.raw.execute(f"BEGIN; {_SHARED_LOCK}")
            yield
            self.raw.execute("COMMIT")

    @contextmanager
    def _roll_back_on_error(self) -> Iterator[None]:
        from psycopg import errors, pq

        try:
            yield
        except BaseException as error:
            if self.alive() and self.raw.info.transaction_status != pq.TransactionStatus.IDLE:
                self.raw.execute("ROLLBACK")
            if isinstance(error, errors.UniqueViolation):
                raise DuplicateKeyError from error
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._roll_back_on_error():
            self.raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield
            self.raw.execute("COMMIT")

    def alive(self) -> bool:
        return not self.raw.closed and not self.raw.broken

    def ping(self) -> bool:
        """Query the server only if unexpected data arrived, as when it ends the connection."""
        from select import POLLIN, poll

        from psycopg import OperationalError

        if not self.alive():
            return False
        # poll instead of select(), which refuses descriptors above 1023.
        poller = poll()
        poller.register(self.raw.fileno(), POLLIN)
        if not poller.poll(0):
            return True
        try:
            self.raw.execute("SELECT 1")
        except OperationalError:
            return False
        return True

    def close(self) -> None:
        self.raw.close()


class ConnectionPrefetch:
    """Connections opened in parallel before they are needed, since opening one takes several round trips."""

    def __init__(self, connect: Callable[[], PostgresConnection]) -> None:
        self._connect = connect
        self._coming: list[Future[PostgresConnection]] = []

    def open_ahead(self, count: int) -> None:
        """Start opening `count` connections."""
        pool = ThreadPoolExecutor(max_workers=count, thread_name_prefix="fullbench-connect")
        self._coming += [pool.submit(self._connect) for _ in range(count)]
        pool.shutdown(wait=False)

    def take_connection(self) -> PostgresConnection:
        """Return a prefetched connection, or open one. Errors of the prefetch are raised here."""
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
        """Close the connections that were not taken."""
        while self._coming:
            coming = self._coming.pop()
            if coming.exception() is None:
                coming.result().close()
