"""A ledger of an older version is refused, or migrated after a backup if there is a step."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from fullbench.core.model_call import Call, Usage
from fullbench.errors import LedgerError
from fullbench.ledger import ledger_creation_and_migrations, schema
from fullbench.ledger.database_from_path import database_at, is_url
from fullbench.ledger.integrity.row_chain import Chain
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.postgres.connection_with_sqlite_interface import SPACE, lock_number
from fullbench.ledger.postgres.database import backup_space
from fullbench.ledger.sqlite import missing_write_ahead_log_marks
from fullbench.ledger.sqlite.connection import SqliteConnection
from tests.ledger.making import case, verdict
from tests.ledger.older import OLDER, add_column, make_older
from tests.support.commands import call, cli
from tests.support.wait_until import until

REFUSED = f"the ledger has version {OLDER}, and this fullbench reads version {schema.VERSION}. Judge again into a new "


@pytest.fixture
def older(place: str) -> str:
    """A ledger of an older version; on a server, without the copy that another test left."""
    make_older(place)
    if is_url(place):
        with psycopg.connect(place) as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS {backup_space(OLDER)} CASCADE")
    return place


@pytest.fixture
def step(monkeypatch) -> None:
    """A made-up step from the older version."""
    monkeypatch.setitem(ledger_creation_and_migrations.MIGRATIONS, OLDER, add_column)


on_server = pytest.mark.parametrize("fresh", ["postgres"], indirect=True)
in_file = pytest.mark.parametrize("fresh", ["sqlite"], indirect=True)


def test_an_older_ledger_without_a_step_is_refused_by_every_command(older, tmp_path):
    before = None if is_url(older) else Path(older).read_bytes()
    for command in (
        ("ledger", "show", older),
        ("ledger", "verify", older),
        ("ledger", "upgrade", older),
        ("ledger", "backup", older, "--to", tmp_path / "safe.ledger"),
        ("ledger", "copy", older, tmp_path / "copy.ledger"),
        ("report", "--ledger", older),
    ):
        code, done = call(*command)
        assert code == 2, done.output
        assert REFUSED in " ".join(done.stderr.split())
        assert "or use the build that wrote it." in " ".join(done.stderr.split())
    assert database_at(older).stored_version() == OLDER
    if before is not None:
        assert Path(older).read_bytes() == before
        assert [file.name for file in tmp_path.iterdir()] == [Path(older).name]


@pytest.mark.usefixtures("step")
def test_an_older_ledger_with_a_step_is_migrated_after_a_backup(older, caplog):
    with pytest.raises(LedgerError, match="Run `fullbench ledger upgrade` first"):
        Ledger(older, read_only=True)
    assert f"has schema {schema.VERSION} now; it had {OLDER} before" in cli("ledger", "upgrade", older).stdout
    assert "nothing was changed" in cli("ledger", "upgrade", older).stdout
    used = Usage(1, 0, 900, 8, 0.5, 1.0, cached=300, stored=2**40)
    with Ledger(older) as ledger:
        ledger.add(case(1), verdict(1, exchanges=(Call("x", "because 1", usage=used, at=5.0),)))
        ledger.flush()
        assert next(ledger.verdicts()).exchanges[0].usage.stored == 2**40
        assert ledger.verify() == []
    count = "SELECT count(*) FROM {}settings"
    if is_url(older):
        with psycopg.connect(older) as connection:
            assert connection.execute(count.format(f"{backup_space(OLDER)}.")).fetchone() == (2,)
        return
    backup = Path(f"{older}.schema{OLDER}.backup")
    assert f"from schema {OLDER} to {schema.VERSION}; as it was before, it is in {backup}" in caplog.text
    with closing(sqlite3.connect(backup)) as connection:
        assert schema.version_of(connection) == OLDER
        assert connection.execute(count.format("")).fetchone() == (2,)


def test_a_step_that_fails_leaves_the_ledger_as_it_was(older, monkeypatch):
    def failing(connection):
        yield from add_column(connection)
        yield "INSERT INTO nowhere VALUES (1)"

    monkeypatch.setitem(ledger_creation_and_migrations.MIGRATIONS, OLDER, failing)
    with pytest.raises(LedgerError, match="nowhere"):
        Ledger(older)
    assert database_at(older).stored_version() == OLDER
    monkeypatch.setitem(ledger_creation_and_migrations.MIGRATIONS, OLDER, add_column)
    with Ledger(older) as ledger:
        assert ledger.verify() == []


@in_file
@pytest.mark.usefixtures("step")
def test_a_log_that_was_there_at_the_migration_is_not_missed_afterwards(older, tmp_path):
    """A writer was killed after its mark, with the log next to the file: the migration brings the log over."""
    connection = sqlite3.connect(older, isolation_level=None)
    missing_write_ahead_log_marks.add_marks(
        SqliteConnection(connection), Chain.begin(), missing_write_ahead_log_marks.LOG_BEGUN, ["somebody"]
    )
    killed = tmp_path / "killed"
    killed.mkdir()
    for name in (Path(older).name, f"{Path(older).name}-wal"):
        shutil.copy(tmp_path / name, killed / name)
    connection.close()
    path = killed / Path(older).name
    Ledger(path).close()
    assert not path.with_name(f"{path.name}-wal").exists()
    with Ledger(path, read_only=True) as ledger:
        assert ledger.verify() == []


@on_server
@pytest.mark.usefixtures("step")
def test_a_migration_waits_for_a_commit_that_is_half_way(older):
    with psycopg.connect(older) as writer:
        writer.execute("SELECT pg_advisory_xact_lock_shared(%s)", (lock_number(SPACE),))
        upgrading = threading.Thread(target=lambda: Ledger(older).close())
        upgrading.start()
        with psycopg.connect(older, autocommit=True) as onlooker:
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            until(lambda: onlooker.execute(waiting).fetchone()[0])
        assert database_at(older).stored_version() == OLDER
        writer.commit()
        upgrading.join(timeout=60)
    assert database_at(older).stored_version() == schema.VERSION


@on_server
@pytest.mark.usefixtures("step")
def test_a_migration_without_room_for_its_backup_changes_nothing(older):
    with psycopg.connect(older, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {backup_space(OLDER)}")
    with pytest.raises(LedgerError, match=f'schema "{backup_space(OLDER)}" already exists'):
        Ledger(older)
    assert database_at(older).stored_version() == OLDER
