"""Real processes: two writers, a full disk, kill -9, a locked judge."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scripts.bench.kills import kill_and_check

from fullbench.errors import LedgerError
from fullbench.ledger.ledger import Ledger
from fullbench.ledger.sqlite import ledger_file_opening_migration_and_copies
from tests.ledger.making import case, verdict

ROOT = Path(__file__).parents[2]


def child(*args: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.ledger.children", *map(str, args)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)


def test_two_processes_write_at_once_and_each_case_has_one_verdict(place):
    children = [child("write", place, start, 400) for start in (0, 200)]
    for one in children:
        assert one.stdout.readline() == "ready\n"
    for one in children:
        one.stdin.write("go\n")
        one.stdin.flush()
    for one in children:
        _, complaints = one.communicate(timeout=120)
        assert (one.returncode, complaints) == (0, "")
    with Ledger(place) as ledger:
        keys = [(v.judge, v.case, v.trial) for v in ledger.verdicts()]
        assert len(keys) == len(set(keys)) == 600
        judge = next(account for account in ledger.bill() if account.role == "judge")
        assert judge.usage.calls == 800, "the calls whose verdicts came second are on the bill"
        assert ledger.verify() == []


def test_a_writer_that_waits_in_vain_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger_file_opening_migration_and_copies, "BUSY_SECONDS", 0.05)
    with Ledger(tmp_path / "x.ledger") as ledger:
        other = sqlite3.connect(tmp_path / "x.ledger", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        ledger.add(verdict(1))
        with pytest.raises(LedgerError, match="another process has been writing") as caught:
            ledger.flush()
        assert "locked" not in str(caught.value)
        other.execute("ROLLBACK")
        other.close()
        ledger.flush()
        assert ledger.acknowledged_count == 1


def test_many_processes_make_one_ledger(place, tmp_path):
    children = [child("write", place, start, 5) for start in (0, 5, 10)]
    for one in children:
        _, complaints = one.communicate("go\n", timeout=120)
        assert (one.returncode, complaints) == (0, "")
    with Ledger(place) as ledger:
        assert len(ledger.record()) == 15
    assert sorted(file.name for file in tmp_path.iterdir()) in (["x.ledger"], ["x.ledger", "x.ledger.digests"], [])


def test_a_full_disk_keeps_what_was_acknowledged(tmp_path):
    path = tmp_path / "x.ledger"
    one = child("fill", path, 600_000)
    said, complaints = one.communicate(timeout=120)
    assert (one.returncode, complaints) == (0, "")
    acknowledged, sentence, at_last = said.splitlines()
    assert "the disk is full; all that was committed is kept" in sentence
    assert "entries were not written" in at_last
    with Ledger(path) as ledger:
        assert [v.item for v in ledger.verdicts()] == [f"item-{n}" for n in range(int(acknowledged) + 1)]
        assert int(acknowledged) > 50
        assert ledger.verify() == []
        ledger.add(verdict(99_999))
        assert len(ledger.record()) == int(acknowledged) + 2


def test_a_real_disk_that_is_full_and_then_is_not(tmp_path):
    small = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=4m tmpfs "$0" && exec "$@"', str(tmp_path)]
    if shutil.which("unshare") is None or subprocess.run([*small, "true"], capture_output=True).returncode:
        pytest.skip("no small disk can be mounted here")
    command = [*small, sys.executable, "-m", "tests.ledger.children", "refill", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    sentence, kept, problems, all_there = done.stdout.splitlines()
    assert "the disk is full; all that was committed is kept" in sentence
    assert (kept, problems, all_there) == ("True", "[]", "True")


def test_a_full_database_says_so_and_goes_on_when_there_is_room(tmp_path):
    with Ledger(tmp_path / "x.ledger") as ledger:
        ledger.add(verdict(0))
        ledger.flush()
        connection = ledger._writer.connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        ledger.add(*(verdict(number, text="x" * 2000) for number in range(1, 20)))
        with pytest.raises(LedgerError, match="the disk is full"):
            ledger.flush()
        assert ledger.acknowledged_count == 1
        connection.execute("PRAGMA max_page_count = 1000000")
        ledger.flush()
        assert ledger.acknowledged_count == 20
        assert len(ledger.record()) == 20


def test_a_commit_that_fails_in_the_background_is_told_to_the_next_who_adds(tmp_path):
    with Ledger(tmp_path / "x.ledger") as ledger:
        connection = ledger._writer.connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        ledger.add(verdict(1, text="x" * 10_000))
        for _ in range(6000):
            if ledger._writer._trouble is not None:
                break
            time.sleep(0.01)
        with pytest.raises(LedgerError, match="the disk is full"):
            ledger.add(verdict(2))
        connection.execute("PRAGMA max_page_count = 1000000")
        ledger.add(verdict(2))
    with Ledger(tmp_path / "x.ledger") as ledger:
        assert [v.item for v in ledger.verdicts()] == ["item-1", "item-2"]


@pytest.mark.parametrize(("durability", "level"), [("process", 1), ("power", 2)])
def test_the_disk_is_waited_for_when_asked(tmp_path, durability, level):
    with Ledger(tmp_path / "x.ledger", durability=durability) as ledger:
        assert ledger._writer.connection.execute("PRAGMA synchronous").fetchone() == (level,)
        assert ledger._writer.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_judge_is_held_by_one_process_and_let_go_on_kill(place):
    holder = child("hold", place, "j")
    assert holder.stdout.readline() == "held\n"
    with Ledger(place) as ledger:
        with ledger.hold_lock("other"):
            pass
        with pytest.raises(LedgerError, match=f"'j' is being asked by process {holder.pid} (on .+ )?since 20"):
            ledger.hold_lock("j").__enter__()
        holder.kill()
        holder.communicate()
        with ledger.hold_lock("j"), pytest.raises(LedgerError, match="wait for it to end"):
            ledger.hold_lock("j").__enter__()


def test_kill_at_any_moment_loses_nothing_that_was_acknowledged(tmp_path):
    found = kill_and_check(tmp_path, kills=5, seed=1)
    assert found.lost == 0
    assert found.twice == 0
    assert found.acknowledged > 0
    assert found.asked_again <= found.in_flight


@pytest.mark.slow
def test_twenty_kills(tmp_path):
    found = kill_and_check(tmp_path, kills=20, seed=2)
    assert (found.lost, found.twice) == (0, 0)
    assert found.asked_again <= found.in_flight


def test_what_is_known_of_a_case_survives_with_its_verdict(place):
    with Ledger(place) as ledger:
        ledger.add(case(1), verdict(1))
    with Ledger(place) as ledger:
        assert ledger.case(verdict(1).case) == case(1)
