"""A ledger of schema 3 on a server, as the first release wrote it (saved by `pg_dump`): read, brought up, backed up."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from fullbench import Ledger
from fullbench.cli.app import app
from fullbench.errors import LedgerError
from fullbench.ledger.chain import Head
from fullbench.ledger.postgres import BACKUP, SPACE
from fullbench.ledger.postgres_connection import lock_number
from tests.ledger.fixtures.make import told
from tests.ledger.making import verdict
from tests.waiting import until

FIXTURES = Path(__file__).parent / "fixtures"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))["3"]
HEAD = "6-b90efe960da3f3fcafe559f54e83deff"
"""What `fullbench ledger show` of the first release printed of it."""

pytestmark = pytest.mark.parametrize("fresh", ["postgres"], indirect=True)


@pytest.fixture
def old(fresh) -> str:
    """A server with the frozen ledger, whose pictures lie beside the fixtures."""
    place = fresh()
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {BACKUP} CASCADE")
        connection.execute((FIXTURES / "v3.postgres.sql").read_text(encoding="utf-8"))
    return place


def run(*args: object) -> str:
    done = CliRunner().invoke(app, list(map(str, args)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def version(place: str) -> str:
    with psycopg.connect(place) as connection:
        sql = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s"
        return connection.execute(sql, (SPACE,)).fetchone()[0]


def test_every_command_that_reads_opens_it_and_leaves_it_as_it_is(old, tmp_path):
    assert json.loads(json.dumps(told(old))) == EXPECTED
    beside = shutil.copy(FIXTURES / "v3.ledger", tmp_path / "v3.ledger")
    reports = [json.loads(run("report", "--ledger", place, "--study", "default", "--json")) for place in (old, beside)]
    assert reports[0] == reports[1], "the same study in a file of the same schema gives the same tables"
    shown = json.loads(run("ledger", "show", old, "--json"))
    assert (shown["schema"], shown["head"]) == (3, HEAD)
    run("ledger", "export", old, "--to", tmp_path / "v.jsonl")
    run("ledger", "tables", old, "--study", "default")
    assert version(old) == "fullbench ledger, schema 3"


def test_upgrade_keeps_all_after_a_backup_within_the_server(old, tmp_path):
    assert "has schema 4 now, 3 before" in run("ledger", "upgrade", old)
    assert "nothing was changed" in run("ledger", "upgrade", old)
    assert json.loads(json.dumps(told(old))) == EXPECTED
    with Ledger(old, pictures=FIXTURES / "v3.ledger.pictures", study="default") as ledger:
        assert ledger.verify(Head.read(HEAD)) == []
        ledger.add(verdict(1))
        assert len(ledger.record()) == 24
    with psycopg.connect(old) as connection:
        assert connection.execute(f"SELECT count(*) FROM {BACKUP}.verdicts").fetchone() == (23,)
        links = "SELECT link FROM {}.commits ORDER BY rowid LIMIT 6"
        assert connection.execute(links.format(BACKUP)).fetchall() == connection.execute(links.format(SPACE)).fetchall()


def test_upgrade_waits_for_a_commit_that_is_half_way(old):
    with psycopg.connect(old) as writer:
        writer.execute("SELECT pg_advisory_xact_lock_shared(%s)", (lock_number(SPACE),))
        upgrading = threading.Thread(target=run, args=("ledger", "upgrade", old))
        upgrading.start()
        with psycopg.connect(old, autocommit=True) as onlooker:
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            until(lambda: onlooker.execute(waiting).fetchone()[0])
        assert version(old) == "fullbench ledger, schema 3"
        writer.commit()
        upgrading.join(timeout=60)
    assert version(old) == "fullbench ledger, schema 4"


def test_an_upgrade_without_room_for_its_backup_changes_nothing(old):
    with psycopg.connect(old, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {BACKUP}")
    with pytest.raises(LedgerError, match=f'schema "{BACKUP}" already exists'):
        Ledger(old)
    assert version(old) == "fullbench ledger, schema 3"
    with psycopg.connect(old, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {BACKUP}")


@pytest.mark.slow
def test_a_backup_of_the_server_is_a_file_with_the_same_head(old, tmp_path):
    for name in ("old", "new"):
        done = subprocess.run(
            [sys.executable, "-m", "fullbench", "ledger", "backup", old, "--to", f"{name}.ledger"],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert HEAD in done.stdout or name == "new"
        run("ledger", "upgrade", old)
    with Ledger(old, read_only=True) as server:
        head = server.head()
    for name, noted in (("old", Head.read(HEAD)), ("new", head)):
        with Ledger(tmp_path / f"{name}.ledger", read_only=True, pictures=FIXTURES / "v3.ledger.pictures") as copied:
            assert copied.verify(noted) == []
    assert json.loads(json.dumps(told(tmp_path / "new.ledger"))) == EXPECTED
