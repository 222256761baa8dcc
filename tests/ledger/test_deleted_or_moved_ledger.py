"""A ledger that is deleted or moved during a run: the run notices, stops and saves its rows."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fullbench import Ledger
from fullbench.errors import LedgerError
from tests.cli.test_interrupt import CASES, calls, data, start, wait_for  # noqa: F401  (`data` is a fixture)
from tests.ledger.making import verdict
from tests.support.fake_chat_server import FakeServer
from tests.support.wait_until import LONG


def _take_away(folder: Path, how: str) -> None:
    if how == "deleted":
        subprocess.run("rm fullbench.ledger*", shell=True, cwd=folder, check=False, capture_output=True)
    else:
        (folder / "fullbench.ledger").rename(folder / "elsewhere.ledger")


@pytest.mark.parametrize("how", ["deleted", pytest.param("moved", marks=pytest.mark.slow)])
def test_a_run_whose_ledger_goes_away_stops_and_says_where_its_verdicts_are(data, how):  # noqa: F811
    with FakeServer(says="[[4]]", answers=100) as server:
        process = start(data, server)
        wait_for(data, 60)
        _take_away(data, how)
        server.more(150)
        _, err = process.communicate(timeout=LONG)
        assert process.returncode == 2, err
        assert "Traceback" not in err
        assert "the ledger was deleted or moved away" in err
        assert "fullbench.ledger.rescued" in err
        asked = calls(server)
        assert asked < CASES, "it went on asking"
        server.more()
        assert not (data / "fullbench.ledger").exists()
        (data / "fullbench.ledger.rescued").rename(data / "fullbench.ledger")
        with Ledger(data / "fullbench.ledger", read_only=True) as ledger:
            kept = {(v.case, v.trial) for v in ledger.verdicts()}
            assert ledger.verify() == []
        assert asked - 8 <= len(kept) <= asked, "but for the eight in flight, all that was paid for is there"
        again = start(data, server)
        _, err = again.communicate(timeout=LONG)
        assert again.returncode == 0, err
        assert calls(server) == CASES + asked - len(kept)


def test_a_commit_into_a_file_that_was_replaced_is_saved_apart(tmp_path):
    path, other = tmp_path / "x.ledger", tmp_path / "other.ledger"
    Ledger(other).close()
    ledger = Ledger(path)
    ledger.add(verdict(1))
    ledger.flush()
    other.replace(path)
    ledger.add(verdict(2))
    with pytest.raises(LedgerError, match=r"with the new entries of this run, is saved in .*x\.ledger\.rescued"):
        ledger.flush()
    with pytest.raises(LedgerError, match="deleted or moved away"):
        ledger.close()
    with Ledger(tmp_path / "x.ledger.rescued", read_only=True) as rescued:
        assert [v.item for v in rescued.verdicts()] == ["item-1", "item-2"]
        assert rescued.verify() == []


def test_no_new_ledger_is_made_beside_the_log_of_one_that_was_moved(tmp_path):
    path = tmp_path / "x.ledger"
    ledger = Ledger(path)
    ledger.add(verdict(1))
    ledger.flush()
    path.rename(tmp_path / "old.ledger")
    with pytest.raises(LedgerError, match=r"write-ahead log of a ledger that was deleted or moved .*\(x\.ledger-wal\)"):
        Ledger(path)
    (tmp_path / "old.ledger").rename(path)
    ledger.add(verdict(2))
    ledger.close()
    with Ledger(path, read_only=True) as back:
        assert len(back.record()) == 2
        assert back.verify() == []


def test_where_the_whole_folder_is_gone_the_copy_lies_among_the_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    folder = tmp_path / "study"
    ledger = Ledger(folder / "x.ledger")
    ledger.add(verdict(1))
    ledger.flush()
    shutil.rmtree(folder)
    with pytest.raises(LedgerError, match="deleted or moved away"):
        ledger.close()
    with Ledger(tmp_path / "temporary" / "x.ledger.rescued", read_only=True) as rescued:
        assert [v.item for v in rescued.verdicts()] == ["item-1"]
