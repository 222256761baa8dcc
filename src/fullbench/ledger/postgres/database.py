"""A ledger on a PostgreSQL server, for many writers on many machines.

It has a schema of its own in its database, so that other tables may stand beside it. Rows go in by COPY: where a key
is taken the transaction is undone and tried again without that row. The URL is libpq's, with all that libpq
knows: `PGPASSWORD`, service files, `sslmode`.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from fullbench.errors import LedgerError, MissingExtra
from fullbench.ledger import migrations, schema
from fullbench.ledger.copies import backup
from fullbench.ledger.database_interface import Connection, FilesOfOthers, Rescued
from fullbench.ledger.postgres import schema as postgres_schema
from fullbench.ledger.postgres.connection import SIGNS_OF_LIFE, SPACE, Ahead, PostgresConnection, lock_number, ours
from fullbench.ledger.postgres.locks import Holds
from fullbench.text_safety import masked

logger = logging.getLogger(__name__)

PATIENCE = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Seconds between tries when the connection is lost."""

OPENED = 3
"""The connections of whoever writes: one for commits, one to look beside them, one to read."""

LOST = frozenset({"57P01", "57P02", "57P03"})
AGAIN = frozenset({"40P01", "40001", "55P03"})


class Postgres(FilesOfOthers):
    """A ledger on a server; pictures have no place there, so the user names one."""

    far = True
    brings_pictures = False
    folder: Path | None = None

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtra("a ledger on a PostgreSQL server", "postgres") from error
        # It would print a line for every commit that meets a key which is taken: that is undone and done again.
        logging.getLogger("psycopg").setLevel(logging.ERROR)
        self.errors: tuple[type[Exception], ...] = (psycopg.Error,)
        self._url = url
        self.place = shown(url)
        self._ahead = Ahead(self._connect)
        self._holds = Holds(self.place, self._connect_bare, self.plainly)
        self.path = Path(f"{self.place.rpartition('/')[2] or 'server'}.ledger")

    def prepare(self, *, read_only: bool) -> None:
        try:
            if not read_only:
                self._ahead.expect(OPENED)
            self._prepare(read_only=read_only)
        except BaseException:
            self._ahead.close()
            raise

    def _prepare(self, *, read_only: bool) -> None:
        with self._connected() as connection:
            version = self._version_there(connection)
            if version == 0:
                if read_only:
                    raise LedgerError(f"{self.place}: there is no ledger here; check the address")
                version = self._create(connection)
            migrations.refuse_other_versions(self.place, version, read_only=read_only)
            if version < schema.VERSION:
                self._bring_up(connection)

    def make(self) -> None:
        with self._connected() as connection:
            self._create(connection, bare=True)

    def _create(self, connection: PostgresConnection, *, bare: bool = False) -> int:
        """Make the tables, once, however many processes try; `bare` without an identity."""
        with self._alone(connection):
            if version := self._version_there(connection):
                return version
            for statement in postgres_schema.made():
                connection.raw.execute(ours(statement))
            if not bare:
                migrations.begin(connection)
        return schema.VERSION

    def _bring_up(self, connection: PostgresConnection) -> None:
        """Bring an older ledger to the newest schema, once, in one transaction, after a copy within the server."""
        with self._alone(connection):
            version = self._version_there(connection)
            if version == schema.VERSION:  # another process was quicker
                return
            there = connection.raw.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (SPACE,)).fetchall()
            for statement in postgres_schema.backup(version, [table for (table,) in there]):
                connection.raw.execute(ours(statement))
            for statement in migrations.statements(connection, version):
                connection.raw.execute(ours(postgres_schema.typed(statement)))
            connection.raw.execute(ours(postgres_schema.COMMENT))
        logger.warning(
            "%s: the ledger was brought from schema %d to %d; as it was before, it is in the schema %s of the same "
            "database", self.place, version, schema.VERSION, postgres_schema.backup_space(version),
        )  # fmt: skip

    @contextmanager
    def _alone(self, connection: PostgresConnection) -> Iterator[None]:
        """A transaction while which nobody else commits to the ledger."""
        with connection.raw.transaction():
            connection.raw.execute("SELECT pg_advisory_xact_lock(%s)", (lock_number(SPACE),))
            yield

    def exists(self) -> bool:
        return self.stored_version() > 0

    def stored_version(self) -> int:
        with self._connected() as connection:
            return self._version_there(connection)

    def back_up(self, target: Path) -> None:
        with self._connected() as connection:
            backup.save(connection, target)

    def connect(self, *, read_only: bool) -> Connection:
        if not read_only:
            self._holds.again()
        connection = self._ahead.taken()
        if read_only:
            connection.raw.execute("SET default_transaction_read_only = on")
        return connection

    @contextmanager
    def _connected(self) -> Iterator[PostgresConnection]:
        """A connection for a moment."""
        with self.plainly(), closing(self._connect()) as connection:
            yield connection

    def rescue(self, connection: Connection) -> Rescued:
        raise LedgerError(f"{self.place}: the ledger's tables are gone from the server")

    def _connect(self) -> PostgresConnection:
        connection = self._connect_bare()
        settings = {"search_path": SPACE, **SIGNS_OF_LIFE}
        connection.raw.execute("; ".join(f"SET {name} = '{value}'" for name, value in settings.items()))
        return connection

    def _connect_bare(self) -> PostgresConnection:
        """A connection that does not know where the ledger's tables are: a way less over the network."""
        import psycopg
        from psycopg.conninfo import conninfo_to_dict

        given = conninfo_to_dict(self._url)
        usual: dict[str, Any] = {
            "connect_timeout": 10, "application_name": "fullbench", "keepalives_idle": 30, "client_encoding": "utf8",
        }  # fmt: skip
        # Nothing is prepared: where a pipeline ends in an error, the server has skipped statements that psycopg takes
        # for prepared from then on.
        return PostgresConnection(psycopg.connect(**{**usual, **given}, autocommit=True, prepare_threshold=None))

    @contextmanager
    def plainly(self) -> Iterator[None]:
        try:
            yield
        except self.errors as error:
            raise LedgerError(self._sentence(error)) from error
        except json.JSONDecodeError as error:
            raise LedgerError(f"{self.place}: a row is damaged ({error}); run `fullbench ledger verify`") from error

    def _sentence(self, error: Exception) -> str:
        import psycopg
        from psycopg import errors

        told = str(error).strip().splitlines()
        # libpq repeats the URL, or pieces of it, where it cannot make sense of it.
        what = masked(told[0].replace(self._url, self.place), secrets_of(self._url)) if told else type(error).__name__
        if isinstance(error, errors.InsufficientPrivilege | errors.ReadOnlySqlTransaction):
            return f"{self.place}: this user may not do that here ({what}); grant it, or name another user"
        if isinstance(error, errors.UndefinedTable):
            hint = f"grant it USAGE on the schema {SPACE} and SELECT on its tables, or name another user"
            return f"{self.place}: this user does not see the ledger's tables ({what}); {hint}"
        if isinstance(error, errors.DiskFull):
            return f"{self.place}: the server's disk is full; all that was committed is kept: free some space there"
        if isinstance(error, psycopg.OperationalError) and error.sqlstate in {None, *LOST}:
            return (
                f"{self.place}: the server cannot be reached ({what}); all that was acknowledged is kept: see that it "
                "runs, check address, user and password, and run again"
            )
        if isinstance(error, errors.InvalidCatalogName):
            return f"{self.place}: there is no such database ({what}); make it with createdb"
        return f"{self.place}: the ledger could not be used ({what})"

    def pauses(self) -> Iterator[float]:
        """As long as the tries themselves do not take long, as where nothing answers at all."""
        started = time.monotonic()
        for pause in PATIENCE:
            if time.monotonic() - started > sum(PATIENCE):
                return
            yield pause

    def passing(self, error: Exception) -> bool:
        """A lost connection, a server that starts again."""
        import psycopg

        if not isinstance(error, psycopg.OperationalError):
            return False
        return error.sqlstate is None or error.sqlstate in LOST or error.sqlstate.startswith("08")

    def contended(self, error: Exception) -> bool:
        """A deadlock and its like: the server is there, and who was in the way has gone on."""
        import psycopg

        return isinstance(error, psycopg.OperationalError) and error.sqlstate in AGAIN

    def sole(self, name: str) -> AbstractContextManager[None]:
        return self._holds.sole(name)

    def sole_soon(self, names: Sequence[str]) -> AbstractContextManager[None]:
        return self._holds.soon(names)

    @contextmanager
    def settled(self, reader: Connection) -> Iterator[None]:
        key = lock_number(SPACE)
        reader.execute("SELECT pg_advisory_lock(?)", (key,))
        try:
            yield
        finally:
            reader.execute("SELECT pg_advisory_unlock(?)", (key,))

    def head_note(self) -> None:
        """A server keeps what it acknowledged, or says that it lost it."""

    def noted_heads(self) -> list[tuple[str, int, str]]:
        return []

    def missing_logs(self, reader: Connection) -> list[str]:
        return []

    def integrity(self, reader: Connection) -> list[str]:
        """Servers check their own files; indexes that are not valid are told."""
        sql = (
            "SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON pg_class.oid = indrelid "
            "WHERE relnamespace = ?::regnamespace AND NOT indisvalid"
        )
        return [f"the index {name} is not valid" for (name,) in reader.execute(sql, (SPACE,))]

    def _version_there(self, reader: Connection) -> int:
        sql = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = ?"
        found = reader.execute(sql, (SPACE,)).fetchone()
        if found is None:
            return 0
        words = (found[0] or "").split()
        if words[:3] != ["fullbench", "ledger,", "schema"]:
            raise LedgerError(f"{self.place}: the schema {SPACE} there is not a ledger's; it was left untouched")
        return int(words[3])

    def vacuum(self, *, dry_run: bool) -> int:
        """Let what undone transactions left behind be used again, while others write; bytes as the server guesses."""
        dead = "n_dead_tup * pg_relation_size(relid) / greatest(n_live_tup + n_dead_tup, 1)"
        sql = f"SELECT coalesce(sum({dead}), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = ?"
        with self._connected() as connection:
            freed = int(connection.execute(sql, (SPACE,)).fetchone()[0])
            for table in () if dry_run else schema.TABLES:
                connection.raw.execute(ours(f"VACUUM (ANALYZE) {table}"))
        return freed

    def size(self, reader: Connection) -> int:
        sql = "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relnamespace = ?::regnamespace"
        return int(reader.execute(f"{sql} AND relkind = 'r'", (SPACE,)).fetchone()[0])


def shown(url: str) -> str:
    """A URL as it may be shown: without password and options.

    >>> shown("postgresql://me:secret@server:5433/db?password=secret")
    'postgresql://me@server:5433/db'
    """
    before, _, after = url.partition("://")[2].rpartition("@")
    user = re.split(r"[:/?#]", before)[0]
    return f"postgresql://{user}{'@' if user else ''}{re.split(r'[?#]', after)[0]}"


def secrets_of(url: str) -> list[str]:
    """What a URL, or the environment, holds that must not be shown, as it is spelt there and as it is meant.

    >>> secrets_of("postgresql://me:pass%20word@server/db?password=other")
    ['pass%20word', 'pass word', 'other', 'other']
    """
    before, _, after = url.partition("://")[2].rpartition("@")
    query = parse_qs(after.partition("?")[2]).get("password", [])
    spelt = [before.partition(":")[2], *query, os.environ.get("PGPASSWORD", "")]
    pieces = [piece for password in spelt if " " in password for piece in password.split()]
    return [form for password in filter(None, (*spelt, *pieces)) for form in (password, unquote(password))]
