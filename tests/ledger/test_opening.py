"""Old, new, foreign, read-only and contested ledgers."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from fullbench.errors import LedgerError
from fullbench.ledger import log_marks, migrations, schema
from fullbench.ledger.chain import Chain
from fullbench.ledger.sqlite_connection import SqliteConnection
from fullbench.ledger.store import Ledger
from fullbench.nouns.call import Usage
from tests.ledger.making import case, verdict
from tests.ledger.older import old_ledger

FIXTURES = Path(__file__).parent / "fixtures"
OLD = (("judge", "j"), case(1), verdict(1), verdict(2))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_older_ledger_is_brought_up_to_date_after_a_backup(tmp_path, caplog, version):
    path = tmp_path / "old.ledger"
    old_ledger(path, OLD, version)
    with Ledger(path) as ledger:
        assert ledger.record().verdicts == (verdict(1), verdict(2))
        ledger.add(verdict(3, earlier=("hm",)))
        assert ledger.record().verdicts[-1].earlier == ("hm",)
        assert ledger.verify() == []
        assert ledger.describe()["schema"] == schema.VERSION
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute("UPDATE verdicts SET marks = '[5.0]'")
    connection.close()
    backup = tmp_path / f"old.ledger.schema{version}.backup"
    assert f"from schema {version} to {schema.VERSION}; as it was before, it is in {backup}" in caplog.text
    with Ledger(backup, read_only=True) as ledger:
        assert ledger.record().verdicts == (verdict(1), verdict(2))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_older_ledger_is_read_as_it_is_and_not_changed_by_it(tmp_path, version):
    path = tmp_path / "old.ledger"
    old_ledger(path, OLD, version)
    before = path.read_bytes()
    with Ledger(path, read_only=True) as ledger:
        assert ledger.record().verdicts == (verdict(1), verdict(2))
        assert ledger.describe()["schema"] == version
        assert ledger.verify() == []
        head = ledger.head()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir() if "backup" in file.name] == []
    with Ledger(path) as ledger:
        ledger.add(verdict(3))
        assert ledger.verify(head) == []


@pytest.fixture
def of_schema_4(tmp_path) -> Path:
    """A copy of a ledger that was written then."""
    shutil.copytree(FIXTURES / "v4.ledger.pictures", tmp_path / "v4.ledger.pictures")
    return shutil.copy(FIXTURES / "v4.ledger", tmp_path / "v4.ledger")


def test_a_file_of_schema_4_is_read_in_place(of_schema_4, tmp_path, monkeypatch):
    """It may be large: nothing is copied, and indexes are used as ever."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    before = of_schema_4.read_bytes()
    with Ledger(of_schema_4, read_only=True) as ledger:
        assert ledger.describe()["schema"] == 4
        assert ledger.verify() == []
        assert {verdict.usage.cached for verdict in ledger.verdicts()} == {None}
        with ledger.reader() as reader:
            ((*_, plan),) = reader.execute("EXPLAIN QUERY PLAN SELECT cached, marks FROM verdicts WHERE case_key = ''")
            assert "USING INDEX" in plan
        assert list((tmp_path / "temporary").iterdir()) == []
        with Ledger(of_schema_4, study="default") as writer:  # another process brings it up meanwhile
            writer.add(case(3), replace(verdict(3), usage=Usage(1, 0, 9, 9, 0.1, 1.0, cached=7)))
        assert ledger.verify() == []
    assert of_schema_4.read_bytes() != before
    assert [file.name for file in tmp_path.glob("*.backup")] == ["v4.ledger.schema4.backup"]
    with Ledger(of_schema_4, read_only=True) as ledger:
        assert {verdict.usage.cached for verdict in ledger.verdicts()} == {None, 7}


def test_a_log_that_was_there_at_the_upgrade_is_not_missed_afterwards(of_schema_4, tmp_path):
    """A writer was killed after its mark, with the log beside the file: upgrading brings the log over."""
    connection = sqlite3.connect(of_schema_4, isolation_level=None)
    log_marks.add(SqliteConnection(connection), Chain.begin(), log_marks.BEGUN, ["somebody"])
    killed = tmp_path / "killed"
    killed.mkdir()
    shutil.copytree(tmp_path / "v4.ledger.pictures", killed / "v4.ledger.pictures")
    for name in ("v4.ledger", "v4.ledger-wal"):
        shutil.copy(tmp_path / name, killed / name)
    connection.close()
    Ledger(killed / "v4.ledger", study="default").close()
    assert not (killed / "v4.ledger-wal").exists()
    with Ledger(killed / "v4.ledger", read_only=True) as ledger:
        assert ledger.verify() == []


def test_a_migration_that_fails_leaves_the_ledger_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "old.ledger"
    old_ledger(path, OLD, 1)
    monkeypatch.setitem(
        migrations.MIGRATIONS, 2, lambda connection: connection.execute("INSERT INTO nowhere VALUES (1)")
    )
    with pytest.raises(LedgerError, match="nowhere"):
        Ledger(path)
    monkeypatch.undo()
    connection = sqlite3.connect(path)
    assert schema.version_of(connection) == 1
    assert "earlier" not in [row[1] for row in connection.execute("PRAGMA table_info(verdicts)")]
    connection.close()
    with Ledger(path) as ledger:
        assert len(ledger.record()) == 2


def newer(path: Path) -> None:
    Ledger(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    connection.close()


def foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (newer, "install a newer fullbench"),
        (foreign, "another program's database"),
        (lambda path: path.write_text("id,question\n" * 1000), "a file of another kind"),
        (lambda path: path.write_bytes(b""), "an empty file"),
    ],
)
@pytest.mark.parametrize("read_only", [True, False])
def test_what_is_no_ledger_of_ours_is_refused_and_left_untouched(tmp_path, make, said, read_only):
    path = tmp_path / "x.ledger"
    make(path)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=said):
        Ledger(path, read_only=read_only)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["x.ledger"]


def test_a_folder_is_no_ledger_and_reading_makes_none(tmp_path):
    with pytest.raises(LedgerError, match="this is a folder"):
        Ledger(tmp_path)
    with pytest.raises(LedgerError, match="there is no ledger here"):
        Ledger(tmp_path / "x.ledger", read_only=True)
    assert list(tmp_path.iterdir()) == []


AS_NOBODY = """
import sys
from fullbench.errors import LedgerError
from fullbench.ledger.store import Ledger
from tests.ledger.making import verdict
with Ledger(sys.argv[1], read_only=True) as ledger:
    print(len(ledger.record()), ledger.verify())
try:
    with Ledger(sys.argv[1]) as ledger:
        ledger.add(verdict(9))
except LedgerError as error:
    print(error)
try:
    Ledger(sys.argv[1] + ".new")
except LedgerError as error:
    print(error)
"""


def test_a_ledger_where_nothing_may_be_written_can_be_read():
    folder = Path(tempfile.mkdtemp())
    try:
        with Ledger(folder / "x.ledger") as ledger:
            ledger.add(verdict(1))
        (folder / "x.ledger").chmod(0o444)
        folder.chmod(0o555)
        who = {"user": 65534, "group": 65534} if os.getuid() == 0 else {}
        code = [sys.executable, "-c", AS_NOBODY, str(folder / "x.ledger")]
        done = subprocess.run(code, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2], **who)
        if "PermissionError" in done.stderr or "Permission denied" in done.stderr:
            pytest.skip("another user cannot run Python here")
        assert done.returncode == 0, done.stderr
        read, written, made = done.stdout.splitlines()
        assert read == "1 []"
        assert "read-only" in written
        assert "its folder writable" in made
        assert sorted(file.name for file in folder.iterdir()) == ["x.ledger", "x.ledger.heads"]
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)
