"""A ledger on a PostgreSQL server, for many writers on many machines.

It has its own schema, so that the database may hold other tables. If a key already exists, the transaction is rolled
back and retried without that row. The URL is libpq's, with everything libpq supports: `PGPASSWORD`, service files,
`sslmode`.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from fullbench.errors import LedgerError, require_extra
from fullbench.ledger import ledger_creation_and_migrations, schema
from fullbench.ledger.copies import backup_and_rescue
from fullbench.ledger.database_interface import Connection, Database, RescuedFile
from fullbench.ledger.postgres.connection_with_sqlite_interface import (
    KEEPALIVE_SETTINGS,
    SPACE,
    TYPES,
    ConnectionPrefetch,
    PostgresConnection,
    lock_number,
    psycopg_sql,
)
from fullbench.ledger.postgres.judge_and_contestant_name_locks import NameLocks
from fullbench.secret_masking_and_text_escapes import mask_secrets

COMMENT = f"COMMENT ON SCHEMA {SPACE} IS 'fullbench ledger, schema {schema.VERSION}'"


def creation_statements() -> Iterator[str]:
    """Yield the statements that create the tables."""
    yield f"CREATE SCHEMA {SPACE}"
    yield f"SET LOCAL search_path TO {SPACE}"
    yield (
        "CREATE FUNCTION forbid() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{schema.APPEND_ONLY_MESSAGE}' USING ERRCODE = "
        "'integrity_constraint_violation'; END $$"
    )
    for table in schema.TABLES:
        yield from _table_statements(table)
    yield from schema.INDEXES
    yield COMMENT


def _table_statements(table: str) -> Iterator[str]:
    columns = with_postgres_types(schema.table_definition(table))
    yield f"CREATE TABLE {table} (rowid BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE, {columns})"
    yield (
        f"CREATE TRIGGER {table}_forbid BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION forbid()"
    )


def backup_space(version: int) -> str:
    """Return the name of the PostgreSQL schema that holds the copy made before a migration."""
    return f"{SPACE}_schema{version}"


def backup_statements(version: int, tables: Iterable[str]) -> Iterator[str]:
    """Yield statements that copy the tables within the server, so that no data crosses the network."""
    space = backup_space(version)
    yield f"CREATE SCHEMA {space}"
    yield f"COMMENT ON SCHEMA {space} IS 'fullbench ledger as it was in schema {version}; may be dropped'"
    for table in tables:
        yield f"CREATE TABLE {space}.{table} AS TABLE {SPACE}.{table}"


def with_postgres_types(statement: str) -> str:
    """Replace our column types by those of PostgreSQL."""
    for sqlite_type, postgres_type in TYPES.items():
        statement = statement.replace(f" {sqlite_type}", f" {postgres_type}")
    return statement


logger = logging.getLogger(__name__)

PATIENCE = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Seconds between attempts after a lost connection."""

WRITER_CONNECTIONS = 3
"""Connections of a writer: for commits, for lookups during commits, and for reads."""

LOST_CONNECTION_CODES = frozenset({"57P01", "57P02", "57P03"})
CONTENTION_CODES = frozenset({"40P01", "40001", "55P03"})


class Postgres(Database):
    """A ledger on a server. It has no default place for pictures, so the user names one."""

    is_remote = True
    brings_pictures = False
    folder: Path | None = None
    errors: tuple[type[Exception], ...] = ()

    def __init__(self, url: str) -> None:
        with require_extra("a ledger on a PostgreSQL server", "postgres"):
            import psycopg
        # psycopg would log a line for every commit with an existing key, which is rolled back and retried.
        logging.getLogger("psycopg").setLevel(logging.ERROR)
        self.errors = (psycopg.Error,)
        self._url = url
        self.place = url_without_password(url)
        self._ahead = ConnectionPrefetch(self._connect)
        self._holds = NameLocks(self.place, self._connect_bare, self.translate_errors)
        self.path = Path(f"{self.place.rpartition('/')[2] or 'server'}.ledger")

    def prepare(self, *, read_only: bool) -> None:
        try:
            if not read_only:
                self._ahead.open_ahead(WRITER_CONNECTIONS)
            self._prepare(read_only=read_only)
        except BaseException:
            self._ahead.close()
            raise

    def _prepare(self, *, read_only: bool) -> None:
        with self._open_connection() as connection:
            version = self._version_there(connection)
            if version == 0:
                if read_only:
                    raise LedgerError(
                        f"{self.place}: no ledger at this address. `fullbench run` or `fullbench judge` creates one."
                    )
                version = self._create(connection)
            ledger_creation_and_migrations.refuse_other_versions(self.place, version, read_only=read_only)
            if version < schema.VERSION:
                self._upgrade_schema(connection)

    def make(self) -> None:
        with self._open_connection() as connection:
            self._create(connection, bare=True)

    def _create(self, connection: PostgresConnection, *, bare: bool = False) -> int:
        """Create the tables once, even if several processes try; `bare` omits the identity."""
        with self._exclusive_transaction(connection):
            if version := self._version_there(connection):
                return version
            for statement in creation_statements():
                connection.raw.execute(psycopg_sql(statement))
            if not bare:
                ledger_creation_and_migrations.add_identity(connection)
        return schema.VERSION

    def _upgrade_schema(self, connection: PostgresConnection) -> None:
        """Migrate an older ledger in one transaction, after a copy within the server."""
        with self._exclusive_transaction(connection):
            version = self._version_there(connection)
            if version == schema.VERSION:  # another process was faster
                return
            there = connection.raw.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (SPACE,)).fetchall()
            for statement in backup_statements(version, [table for (table,) in there]):
                connection.raw.execute(psycopg_sql(statement))
            for statement in ledger_creation_and_migrations.migration_statements(connection, version):
                connection.raw.execute(psycopg_sql(with_postgres_types(statement)))
            connection.raw.execute(psycopg_sql(COMMENT))
        logger.warning(
            "%s: the ledger was brought from schema %d to %d; as it was before, it is in the schema %s of the same "
            "database", self.place, version, schema.VERSION, backup_space(version),
        )  # fmt: skip

    @contextmanager
    def _exclusive_transaction(self, connection: PostgresConnection) -> Iterator[None]:
        with connection.raw.transaction():
            connection.raw.execute("SELECT pg_advisory_xact_lock(%s)", (lock_number(SPACE),))
            yield

    def exists(self) -> bool:
        return self.stored_version() > 0

    def stored_version(self) -> int:
        with self._open_connection() as connection:
            return self._version_there(connection)

    def back_up(self, target: Path) -> None:
        with self._open_connection() as connection:
            backup_and_rescue.save_snapshot(connection, target)

    def connect(self, *, read_only: bool) -> Connection:
        if not read_only:
            self._holds.renew_locks()
        connection = self._ahead.take_connection()
        if read_only:
            connection.raw.execute("SET default_transaction_read_only = on")
        return connection

    @contextmanager
    def _open_connection(self) -> Iterator[PostgresConnection]:
        with self.translate_errors(), closing(self._connect()) as connection:
            yield connection

    def rescue(self, connection: Connection) -> RescuedFile:
        raise LedgerError(f"{self.place}: the ledger's tables were deleted from the server")

    def _connect(self) -> PostgresConnection:
        connection = self._connect_bare()
        settings = {"search_path": SPACE, **KEEPALIVE_SETTINGS}
        connection.raw.execute("; ".join(f"SET {name} = '{value}'" for name, value in settings.items()))
        return connection

    def _connect_bare(self) -> PostgresConnection:
        """Open a connection without a search path for the ledger's tables, which saves a network round trip."""
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        url_options = conninfo_to_dict(self._url)
        default_options: dict[str, Any] = {
            "connect_timeout": 10, "application_name": "fullbench", "keepalives_idle": 30, "client_encoding": "utf8",
        }  # fmt: skip
        # No prepared statements: after an error, the server skips the rest of a pipeline, but psycopg would treat
        # the skipped statements as prepared.
        return PostgresConnection(
            psycopg.connect(**{**default_options, **url_options}, autocommit=True, prepare_threshold=None)
        )

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        try:
            yield
        except self.errors as error:
            raise LedgerError(self._describe_error(error)) from error
        except json.JSONDecodeError as error:
            raise LedgerError(f"{self.place}: a row is damaged ({error}); run `fullbench ledger verify`") from error

    def _describe_error(self, error: Exception) -> str:
        import psycopg
        from psycopg import errors

        lines = str(error).strip().splitlines()
        # libpq repeats the URL, or parts of it, if it cannot parse it.
        what = (
            mask_secrets(lines[0].replace(self._url, self.place), secrets_of(self._url))
            if lines
            else type(error).__name__
        )
        if isinstance(error, errors.InsufficientPrivilege | errors.ReadOnlySqlTransaction):
            return f"{self.place}: this user may not do that here ({what}); grant it, or name another user"
        if isinstance(error, errors.UndefinedTable):
            hint = f"grant it USAGE on the schema {SPACE} and SELECT on its tables, or name another user"
            return f"{self.place}: this user does not see the ledger's tables ({what}); {hint}"
        if isinstance(error, errors.DiskFull):
            return f"{self.place}: the server's disk is full; all that was committed is kept: free some space there"
        if isinstance(error, psycopg.OperationalError) and error.sqlstate in {None, *LOST_CONNECTION_CODES}:
            return (
                f"{self.place}: the server cannot be reached ({what}); all that was acknowledged is kept: see that it "
                "runs, check address, user and password, and run again"
            )
        if isinstance(error, errors.InvalidCatalogName):
            return f"{self.place}: there is no such database ({what}); make it with createdb"
        return f"{self.place}: the ledger could not be used ({what})"

    def pauses(self) -> Iterator[float]:
        """Yield pauses until the attempts themselves take too long, as when nothing answers."""
        start_time = time.monotonic()
        for pause in PATIENCE:
            if time.monotonic() - start_time > sum(PATIENCE):
                return
            yield pause

    def is_transient(self, error: Exception) -> bool:
        """True for a lost connection or a restarting server."""
        import psycopg

        if not isinstance(error, psycopg.OperationalError):
            return False
        return error.sqlstate is None or error.sqlstate in LOST_CONNECTION_CODES or error.sqlstate.startswith("08")

    def is_contention(self, error: Exception) -> bool:
        """True for deadlocks and similar conflicts: the server is up and the other transaction has continued."""
        import psycopg

        return isinstance(error, psycopg.OperationalError) and error.sqlstate in CONTENTION_CODES

    def hold_lock(self, name: str) -> AbstractContextManager[None]:
        return self._holds.hold_lock(name)

    def request_locks(self, names: Sequence[str]) -> AbstractContextManager[None]:
        return self._holds.request_locks(names)

    @contextmanager
    def hold_back_commits(self, reader: Connection) -> Iterator[None]:
        key = lock_number(SPACE)
        reader.execute("SELECT pg_advisory_lock(?)", (key,))
        try:
            yield
        finally:
            reader.execute("SELECT pg_advisory_unlock(?)", (key,))

    def integrity_problems(self, reader: Connection) -> list[str]:
        """Return invalid indexes; a server checks its own files."""
        sql = (
            "SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON pg_class.oid = indrelid "
            "WHERE relnamespace = ?::regnamespace AND NOT indisvalid"
        )
        return [f"the index {name} is not valid" for (name,) in reader.execute(sql, (SPACE,))]

    def _version_there(self, reader: Connection) -> int:
        sql = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = ?"
        comment_row = reader.execute(sql, (SPACE,)).fetchone()
        if comment_row is None:
            return 0
        words = (comment_row[0] or "").split()
        if words[:3] != ["fullbench", "ledger,", "schema"]:
            raise LedgerError(f"{self.place}: the schema {SPACE} there is not a ledger's; it was left untouched")
        return int(words[3])

    def vacuum(self, *, dry_run: bool) -> int:
        """Make space of rolled-back transactions reusable while others write; the bytes are the server's estimate."""
        dead = "n_dead_tup * pg_relation_size(relid) / greatest(n_live_tup + n_dead_tup, 1)"
        sql = f"SELECT coalesce(sum({dead}), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = ?"
        with self._open_connection() as connection:
            freed_bytes = int(connection.execute(sql, (SPACE,)).fetchone()[0])
            for table in () if dry_run else schema.TABLES:
                connection.raw.execute(psycopg_sql(f"VACUUM (ANALYZE) {table}"))
        return freed_bytes

    def size(self, reader: Connection) -> int:
        sql = "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relnamespace = ?::regnamespace"
        return int(reader.execute(f"{sql} AND relkind = 'r'", (SPACE,)).fetchone()[0])


def url_without_password(url: str) -> str:
    """Return a URL without password and options, for messages.

    >>> url_without_password("postgresql://me:secret@server:5433/db?password=secret")
    'postgresql://me@server:5433/db'
    """
    before, _, after = url.partition("://")[2].rpartition("@")
    user = re.split(r"[:/?#]", before)[0]
    return f"postgresql://{user}{'@' if user else ''}{re.split(r'[?#]', after)[0]}"


def secrets_of(url: str) -> list[str]:
    """Return the passwords in a URL and the environment, both as written and decoded.

    >>> secrets_of("postgresql://me:pass%20word@server/db?password=other")
    ['pass%20word', 'pass word', 'other', 'other']
    """
    before, _, after = url.partition("://")[2].rpartition("@")
    query = parse_qs(after.partition("?")[2]).get("password", [])
    spelt = [before.partition(":")[2], *query, os.environ.get("PGPASSWORD", "")]
    pieces = [piece for password in spelt if " " in password for piece in password.split()]
    return [form for password in filter(None, (*spelt, *pieces)) for form in (password, unquote(password))]
