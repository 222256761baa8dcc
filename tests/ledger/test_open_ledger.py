"""Newer, foreign, read-only and locked ledgers."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fullbench.errors import LedgerError
from fullbench.ledger import schema
from fullbench.ledger.ledger import Ledger
from tests.ledger.making import verdict


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
        (newer, "Install a newer fullbench"),
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
    with pytest.raises(LedgerError, match="no ledger at this"):
        Ledger(tmp_path / "x.ledger", read_only=True)
    assert list(tmp_path.iterdir()) == []


AS_NOBODY = """
import sys
from fullbench.errors import LedgerError
from fullbench.ledger.ledger import Ledger
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
        assert sorted(file.name for file in folder.iterdir()) == ["x.ledger", "x.ledger.digests"]
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)
