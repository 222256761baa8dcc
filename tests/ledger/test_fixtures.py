"""Ledgers that earlier code wrote, one for each schema there was: this code opens, verifies and reports them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fullbench import Ledger
from fullbench.cli.app import app
from tests.golden.layout import steady
from tests.ledger.fixtures.make import told

FIXTURES = Path(__file__).parent / "fixtures"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text(encoding="utf-8"))
VERSIONS = (1, 2, 3, 4, 5)


@pytest.fixture(params=VERSIONS)
def version(request) -> int:
    return request.param


@pytest.fixture
def path(version: int, tmp_path: Path) -> Path:
    """A copy: what is checked in stays as it was written."""
    name = f"v{version}.ledger"
    shutil.copytree(FIXTURES / f"{name}.pictures", tmp_path / f"{name}.pictures")
    return shutil.copy(FIXTURES / name, tmp_path / name)


def test_it_is_of_the_schema_that_its_name_says(version: int):
    import sqlite3

    connection = sqlite3.connect(f"file:{FIXTURES / f'v{version}.ledger'}?mode=ro&immutable=1", uri=True)
    assert connection.execute("PRAGMA user_version").fetchone() == (version,)
    connection.close()
    assert (FIXTURES / f"v{version}.ledger").stat().st_size <= 100_000


def test_it_opens_and_holds_what_was_put_in(version: int, path: Path):
    Ledger(path).close()
    assert json.loads(json.dumps(told(path))) == EXPECTED[str(version)]


def test_it_verifies(path: Path):
    with Ledger(path) as ledger:
        assert ledger.verify() == []
        assert {picture.data()[:4] for item in ledger.items() for picture in item.pictures} == {b"\x89PNG"}
    done = CliRunner().invoke(app, ["ledger", "verify", str(path)], catch_exceptions=False)
    assert done.exit_code == 0, done.output


def test_it_is_reported_with_the_same_tables_whatever_its_schema(path: Path):
    Ledger(path).close()
    done = CliRunner().invoke(
        app, ["report", "--ledger", str(path), "--study", "default", "--json"], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    frozen = json.loads((FIXTURES / "report.json").read_text(encoding="utf-8"))
    assert steady(json.loads(done.stdout)) == steady(frozen)


def test_more_can_be_added_to_it(path: Path):
    from tests.ledger.making import case, verdict

    with Ledger(path, study="default") as ledger:
        before = len(ledger.record())
        ledger.add(case(1), verdict(1))
        assert len(ledger.record()) == before + 1
        assert ledger.verify() == []


def test_counts_of_caches_stand_in_all_rows_of_schema_5(tmp_path: Path):
    path = shutil.copy(FIXTURES / "v5.ledger", tmp_path / "v5.ledger")
    judge = "claude+direct#4d3c2b1a"
    with Ledger(path, read_only=True) as ledger:
        told, untold = (verdict.usage for verdict in ledger.verdicts(judge))
        (failure,) = ledger.failures(judge)
        (exchange,) = next(ledger.verdicts(judge)).exchanges
        used = {account.name: account.usage for account in ledger.bill()}
    assert (told.cached, told.stored) == (exchange.usage.cached, exchange.usage.stored) == (600, 200)
    assert (untold.cached, untold.stored) == (None, None)
    assert (failure.usage.cached, failure.usage.stored) == (600, None)
    assert (used[judge].cached, used[judge].stored, used[judge].counted) == (1200, 200, 2000)
    assert (used["alpha"].cached, used["alpha"].stored, used["alpha"].counted) == (0, 200, 1000)
    assert used["beta"].cached is None


def test_nothing_else_lies_beside_the_fixtures():
    assert not [file.name for file in FIXTURES.iterdir() if file.name.endswith(("-wal", "-shm", "-journal"))]
