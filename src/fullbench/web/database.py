"""The database of the web app: SQLite out of the box, PostgreSQL by URL, one schema, migrations inside the package.

`reading` and `writing` are the two ways to a connection. On SQLite a write takes its turn from the start
(`BEGIN IMMEDIATE`), so that reading first and writing later in one transaction never fails half-way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Connection, Engine, Integer, MetaData, Table, create_engine, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError

from fullbench.errors import InputError, MissingExtra

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

Counter = BigInteger().with_variant(Integer, "sqlite")
"""The type of a key that the database counts up."""

MIGRATIONS = Path(__file__).parent / "migrations"
_ROOMS = ("accounts.account_tables", "campaigns.campaign_tables", "results.catalogue.catalogue_tables")
"""Whose tables are in the metadata once they are imported."""
_WRITE = "fullbench_write"
_BUSY_MS = 15_000
_LOCK = 0x46424C47


def engine_for(url: str) -> Engine:
    """An engine for `sqlite:///FILE` or `postgresql://...`."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise InputError(f"{url!r} is no database URL; write sqlite:///FILE or postgresql://USER@HOST/NAME") from error
    kind = parsed.get_backend_name()
    if kind == "sqlite":
        return _sqlite(url)
    if kind in {"postgresql", "postgres"}:
        try:
            return create_engine(
                parsed.set(drivername="postgresql+psycopg"), pool_size=10, max_overflow=10, pool_pre_ping=True
            )
        except ModuleNotFoundError as error:
            raise MissingExtra("a PostgreSQL database", "postgres") from error
    raise InputError(f"the database {kind!r} is not known; write sqlite:///FILE or postgresql://USER@HOST/NAME")


def _sqlite(url: str) -> Engine:
    engine = create_engine(url, connect_args={"timeout": _BUSY_MS / 1000})

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves
        for pragma in ("journal_mode = WAL", "foreign_keys = ON", "synchronous = FULL", f"busy_timeout = {_BUSY_MS}"):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        write = connection.get_execution_options().get(_WRITE, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection that sees one state of the database and changes nothing."""
    # PostgreSQL would show each statement the state of its own moment: counts and lists of one page would disagree.
    level = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    with engine.connect().execution_options(**level) as connection:
        try:
            yield connection
        finally:
            connection.rollback()


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A connection in one transaction: committed when the block ends well, undone when it does not."""
    with engine.connect().execution_options(**{_WRITE: True}) as connection, connection.begin():
        yield connection


def alone(connection: Connection, what: str) -> None:
    """Until this transaction ends, nobody else gets past here with the same words. SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock, hashtext(:what))"), {"lock": _LOCK, "what": what})


def upgrade(engine: Engine) -> None:
    """Bring the database to the newest schema; several starts at once take turns.

    A new database is created by the first step. An existing one gets the steps that it lacks, and then the tables that
    it lacks.
    """
    from alembic import command

    config = _config()
    try:
        with writing(engine) as connection:
            alone(connection, "upgrade")
            version, steps = _version(connection), _steps()
            if version == steps[-1]:
                return
            _refuse_unknown_version(engine, version, steps)
            for room in _ROOMS:
                import_module(f"fullbench.web.{room}")
            config.attributes["connection"] = connection
            if version is None:
                # The first step creates the tables of today, which need no later step.
                command.upgrade(config, steps[0])
                command.stamp(config, "head")
            else:
                command.upgrade(config, "head")
                metadata.create_all(connection)
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        what = "opened" if isinstance(error, OperationalError) else "brought up to date"
        raise InputError(f"the database {shown(engine)} cannot be {what} ({reason}); check the URL") from error


def _refuse_unknown_version(engine: Engine, version: str | None, steps: Sequence[str]) -> None:
    """Raise `InputError` if the schema of a database is older than the first step, or newer than the last."""
    if version is None or version in steps:
        return
    action = (
        "Export its votes with the build that wrote it, then start with an empty database."
        if version < steps[0]
        else "Open it with the version of fullbench that wrote it."
    )
    raise InputError(
        f"the database {shown(engine)} has the schema {version}; this version reads {', '.join(steps)}. {action}"
    )


def made_with(table: Table, statements: Mapping[str, Sequence[str]]) -> None:
    """What is each database's own kind of thing, by the name of its dialect: made right after the table, by SQL."""

    def make(_table: Table, connection: Connection, **_more: Any) -> None:
        for statement in statements[connection.dialect.name]:
            connection.exec_driver_sql(statement)

    event.listen(table, "after_create", make)


def _config() -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


@cache
def _steps() -> tuple[str, ...]:
    """The revisions of the schema, the oldest first."""
    from alembic.script import ScriptDirectory

    return tuple(step.revision for step in ScriptDirectory.from_config(_config()).walk_revisions())[::-1]


def _version(connection: Connection) -> str | None:
    from alembic.migration import MigrationContext

    return MigrationContext.configure(connection).get_current_revision()


def shown(engine: Engine) -> str:
    """The database's URL without its password."""
    return engine.url.render_as_string(hide_password=True)


def insert_here(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An insert that can say what happens to a row that is there already, which each database spells its own way."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)
