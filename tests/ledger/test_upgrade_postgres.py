"""Ledgers of former schemas on a server, as code of their time wrote them (by `pg_dump`): read, brought up, saved."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from fullbench import Ledger, Usage
from fullbench.cli.app import app
from fullbench.errors import LedgerError
from fullbench.ledger.chain import Head
from fullbench.ledger.postgres import SPACE
from fullbench.ledger.postgres_connection import lock_number
from fullbench.ledger.postgres_schema import OLDER, backup_space
from tests.ledger.fixtures.make import told
from tests.ledger.making import verdict
from tests.waiting import until

FIXTURES = Path(__file__).parent / "fixtures"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))
HEADS = {3: "6-b90efe960da3f3fcafe559f54e83deff", 4: "11-a4ae6193a4d8faeabe026c377d4b1df8"}
"""What `fullbench ledger show` of the time printed of each."""
HELD = {3: 23, 4: 29}
"""How many verdicts each holds, votes that were revised included."""

pytestmark = pytest.mark.parametrize("fresh", ["postgres"], indirect=True)


@pytest.fixture(params=sorted(HEADS))
def before(request) -> int:
    """The schema that the ledger has."""
    return request.param


@pytest.fixture
def old(fresh, before: int) -> str:
    """A server with a frozen ledger, whose pictures lie beside the fixtures."""
    place = fresh()
    with psycopg.connect(place, autocommit=True) as connection:
        for schema in OLDER:
            connection.execute(f"DROP SCHEMA IF EXISTS {backup_space(schema)} CASCADE")
        connection.execute((FIXTURES / f"v{before}.postgres.sql").read_text(encoding="utf-8"))
    return place


def run(*args: object) -> str:
    done = CliRunner().invoke(app, list(map(str, args)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def version(place: str) -> str:
    with psycopg.connect(place) as connection:
        sql = "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = %s"
        return connection.execute(sql, (SPACE,)).fetchone()[0]


def test_every_command_that_reads_opens_it_and_leaves_it_as_it_is(old, before, tmp_path):
    assert json.loads(json.dumps(told(old))) == EXPECTED[str(before)]
    beside = shutil.copy(FIXTURES / f"v{before}.ledger", tmp_path / "beside.ledger")
    reports = [json.loads(run("report", "--ledger", place, "--study", "default", "--json")) for place in (old, beside)]
    assert reports[0] == reports[1], "the same study in a file of the same schema gives the same tables"
    shown = json.loads(run("ledger", "show", old, "--json"))
    assert (shown["schema"], shown["head"]) == (before, HEADS[before])
    run("ledger", "export", old, "--to", tmp_path / "v.jsonl")
    run("ledger", "tables", old, "--study", "default")
    assert version(old) == f"fullbench ledger, schema {before}"


def test_upgrade_keeps_all_after_a_backup_within_the_server(old, before, tmp_path):
    noted = Head.read(HEADS[before])
    assert f"has schema 5 now, {before} before" in run("ledger", "upgrade", old)
    assert "nothing was changed" in run("ledger", "upgrade", old)
    assert json.loads(json.dumps(told(old))) == EXPECTED[str(before)]
    with Ledger(old, pictures=FIXTURES / f"v{before}.ledger.pictures", study="default") as ledger:
        assert ledger.verify(noted) == []
        ruled = len(ledger.record())
        ledger.add(replace(verdict(1), usage=Usage(1, 0, 900, 8, 0.5, 1.0, cached=800, stored=0)))
        assert len(ledger.record()) == ruled + 1
        (account,) = [account for account in ledger.bill() if account.usage.cached is not None]
        assert (account.usage.cached, account.usage.stored, account.usage.counted) == (800, 0, 900)
        assert ledger.verify(noted) == []
    backup = backup_space(before)
    with psycopg.connect(old) as connection:
        assert connection.execute(f"SELECT count(*) FROM {backup}.verdicts").fetchone() == (HELD[before],)
        links = f"SELECT link FROM {{}}.commits ORDER BY rowid LIMIT {noted.commits}"
        assert connection.execute(links.format(backup)).fetchall() == connection.execute(links.format(SPACE)).fetchall()


def test_upgrade_waits_for_a_commit_that_is_half_way(old, before):
    with psycopg.connect(old) as writer:
        writer.execute("SELECT pg_advisory_xact_lock_shared(%s)", (lock_number(SPACE),))
        upgrading = threading.Thread(target=run, args=("ledger", "upgrade", old))
        upgrading.start()
        with psycopg.connect(old, autocommit=True) as onlooker:
            waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            until(lambda: onlooker.execute(waiting).fetchone()[0])
        assert version(old) == f"fullbench ledger, schema {before}"
        writer.commit()
        upgrading.join(timeout=60)
    assert version(old) == "fullbench ledger, schema 5"


def test_an_upgrade_without_room_for_its_backup_changes_nothing(old, before):
    backup = backup_space(before)
    with psycopg.connect(old, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {backup}")
    with pytest.raises(LedgerError, match=f'schema "{backup}" already exists'):
        Ledger(old)
    assert version(old) == f"fullbench ledger, schema {before}"
    with psycopg.connect(old, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {backup}")


@pytest.mark.slow
def test_a_backup_of_the_server_is_a_file_with_the_same_head(old, before, tmp_path):
    for name in ("old", "new"):
        done = subprocess.run(
            [sys.executable, "-m", "fullbench", "ledger", "backup", old, "--to", f"{name}.ledger"],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert HEADS[before] in done.stdout or name == "new"
        run("ledger", "upgrade", old)
    with Ledger(old, read_only=True) as server:
        head = server.head()
    pictures = FIXTURES / f"v{before}.ledger.pictures"
    for name, noted in (("old", Head.read(HEADS[before])), ("new", head)):
        with Ledger(tmp_path / f"{name}.ledger", read_only=True, pictures=pictures) as copied:
            assert copied.verify(noted) == []
    assert json.loads(json.dumps(told(tmp_path / "new.ledger"))) == EXPECTED[str(before)]
