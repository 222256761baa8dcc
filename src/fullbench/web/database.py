"""Database of the web app: engine, transactions, locks, schema upgrades (SQLite or PostgreSQL).

Get a connection from `read_transaction` or `write_transaction`. On SQLite a write transaction takes the write lock
at its start (`BEGIN IMMEDIATE`). So a transaction that reads first and writes later never fails half-way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Connection, Engine, Integer, MetaData, Table, create_engine, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError

from fullbench.errors import InputError, require_extra

if TYPE_CHECKING:
    from alembic.config import Config

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

RowId = BigInteger().with_variant(Integer, "sqlite")
"""Autoincrement key."""

MIGRATIONS = Path(__file__).parent / "migrations"
_TABLE_MODULES = (
    "accounts.account_and_shared_site_tables",
    "campaigns.campaign_tables",
    "results.catalogue.catalogue_tables",
)
"""Importing these modules adds their tables to the metadata."""
_WRITE = "fullbench_write"
# Longer than any write of ours takes: only a stuck process makes a request fail.
_BUSY_MS = 15_000
_LOCK = 0x46424C47  # first key of our PostgreSQL advisory locks; the second is a hash of the name


def engine_for(url: str) -> Engine:
    """Create an engine for `sqlite:///FILE` or `postgresql://...`."""
    try:
        database_url = make_url(url)
    except ArgumentError as error:
        raise InputError(
            f"{url!r} is not a database URL; write sqlite:///FILE or postgresql://USER@HOST/NAME"
        ) from error
    kind = database_url.get_backend_name()
    if kind == "sqlite":
        if database_url.database not in {None, "", ":memory:"}:
            _create_private_file(Path(str(database_url.database)))
        return _sqlite_engine(url)
    if kind in {"postgresql", "postgres"}:
        with require_extra("a PostgreSQL database", "postgres"):
            return create_engine(
                database_url.set(drivername="postgresql+psycopg"), pool_size=10, max_overflow=10, pool_pre_ping=True
            )
    raise InputError(f"unknown database {kind!r}; write sqlite:///FILE or postgresql://USER@HOST/NAME")


def _create_private_file(path: Path) -> None:
    """Create a database that only its owner can read: it has password digests. SQLite's other files get its mode."""
    with suppress(OSError):  # it exists, or SQLite says why it cannot be created
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _sqlite_engine(url: str) -> Engine:
    engine = create_engine(url, connect_args={"timeout": _BUSY_MS / 1000})

    @event.listens_for(engine, "connect")
    def configure_connection(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver must not BEGIN: `begin_transaction` does
        for pragma in ("journal_mode = WAL", "foreign_keys = ON", "synchronous = FULL", f"busy_timeout = {_BUSY_MS}"):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begin_transaction(connection: Connection) -> None:
        write = connection.get_execution_options().get(_WRITE, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


@contextmanager
def read_transaction(engine: Engine) -> Iterator[Connection]:
    """Open a connection that sees one snapshot of the database and changes nothing."""
    # By default PostgreSQL takes a new snapshot per statement, so counts and lists of one page could disagree.
    level = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with engine.connect().execution_options(**level) as connection:
        try:
            yield connection
        finally:
            connection.rollback()


@contextmanager
def write_transaction(engine: Engine) -> Iterator[Connection]:
    """Open a connection in one transaction: committed on success, rolled back on an exception."""
    with engine.connect().execution_options(**{_WRITE: True}) as connection, connection.begin():
        yield connection


def acquire_lock(connection: Connection, lock_name: str) -> None:
    """Hold a named lock until this transaction ends. SQLite needs none because it has one writer."""
    if connection.dialect.name == "postgresql":
        connection.execute(
            text("SELECT pg_advisory_xact_lock(:lock, hashtext(:what))"), {"lock": _LOCK, "what": lock_name}
        )


def upgrade_schema(engine: Engine) -> None:
    """Upgrade the database to the newest schema. Processes that start together take turns.

    A new database is created by the first step. An existing one gets its missing steps, then its missing tables.
    """
    from alembic import command

    config = _alembic_config()
    try:
        with write_transaction(engine) as connection:
            acquire_lock(connection, "upgrade")
            version, steps = _current_revision(connection), _schema_revisions()
            if version == steps[-1]:
                return
            _refuse_unknown_version(engine, version, steps)
            for module_name in _TABLE_MODULES:
                import_module(f"fullbench.web.{module_name}")
            config.attributes["connection"] = connection
            if version is None:
                # The first step creates today's tables, so all later steps are only marked as done.
                command.upgrade(config, steps[0])
                command.stamp(config, "head")
            else:
                command.upgrade(config, "head")
                metadata.create_all(connection)
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        what = "opened" if isinstance(error, OperationalError) else "brought up to date"
        raise InputError(
            f"the database {url_without_password(engine)} cannot be {what} ({reason}); check the URL"
        ) from error


def _refuse_unknown_version(engine: Engine, version: str | None, steps: Sequence[str]) -> None:
    if version is None or version in steps:
        return
    action = (
        "Export its votes with the build that wrote it, then start with an empty database."
        if version < steps[0]
        else "Open it with the version of fullbench that wrote it."
    )
    raise InputError(
        f"the database {url_without_password(engine)} has the schema {version}; this version reads "
        f"{', '.join(steps)}. {action}"
    )


def execute_after_create(table: Table, statements: Mapping[str, Sequence[str]]) -> None:
    """Run SQL statements of the current dialect right after a table is created."""

    def execute_statements(_table: Table, connection: Connection, **_more: Any) -> None:
        for statement in statements[connection.dialect.name]:
            connection.exec_driver_sql(statement)

    event.listen(table, "after_create", execute_statements)


def _alembic_config() -> Config:
    from alembic.config import Config

    config = Config()
    # ConfigParser would interpolate a % in the path.
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


@cache
def _schema_revisions() -> tuple[str, ...]:
    from alembic.script import ScriptDirectory

    # Alembic walks from the newest revision to the oldest.
    return tuple(step.revision for step in ScriptDirectory.from_config(_alembic_config()).walk_revisions())[::-1]


def _current_revision(connection: Connection) -> str | None:
    from alembic.migration import MigrationContext

    return MigrationContext.configure(connection).get_current_revision()


def url_without_password(engine: Engine) -> str:
    """Return the database URL without its password."""
    return engine.url.render_as_string(hide_password=True)


def dialect_insert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """Return an INSERT of the current dialect that supports `ON CONFLICT`."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)
