"""Real processes: two writers at once, a full disk, kill -9, a judge that is held."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from scripts.bench.kills import kill_and_check

from fullbench.core.errors import LedgerError
from fullbench.ledger.store import Ledger
from tests.ledger.making import case, verdict

ROOT = Path(__file__).parents[2]


def child(*args: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.ledger.children", *map(str, args)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)


def test_two_processes_write_at_once_and_each_case_has_one_verdict(tmp_path):
    path = tmp_path / "x.ledger"
    children = [child("write", path, start, 400) for start in (0, 200)]
    for one in children:
        assert one.stdout.readline() == "ready\n"
    for one in children:
        one.stdin.write("go\n")
        one.stdin.flush()
    for one in children:
        _, complaints = one.communicate(timeout=120)
        assert (one.returncode, complaints) == (0, "")
    with Ledger(path) as ledger:
        keys = [(v.judge, v.case, v.trial) for v in ledger.verdicts()]
        assert len(keys) == len(set(keys)) == 600
        judge = next(account for account in ledger.bill() if account.role == "judge")
        assert judge.usage.calls == 800, "the calls whose verdicts came second are on the bill"
        assert ledger.verify() == []


def test_many_processes_make_one_ledger(tmp_path):
    children = [child("write", tmp_path / "x.ledger", start, 5) for start in (0, 5, 10)]
    for one in children:
        _, complaints = one.communicate("go\n", timeout=120)
        assert (one.returncode, complaints) == (0, "")
    with Ledger(tmp_path / "x.ledger") as ledger:
        assert len(ledger.record()) == 15
    assert [file.name for file in tmp_path.iterdir()] == ["x.ledger"]


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
        assert ledger.acknowledged == 1
        connection.execute("PRAGMA max_page_count = 1000000")
        ledger.flush()
        assert ledger.acknowledged == 20
        assert len(ledger.record()) == 20


def test_a_judge_is_held_by_one_process_and_let_go_on_kill(tmp_path):
    path = tmp_path / "x.ledger"
    holder = child("hold", path, "j")
    assert holder.stdout.readline() == "held\n"
    with Ledger(path) as ledger:
        with ledger.sole("other"):
            pass
        with pytest.raises(LedgerError, match=f"'j' is being asked by process {holder.pid} since 20"):
            ledger.sole("j").__enter__()
        holder.kill()
        holder.communicate()
        with ledger.sole("j"), pytest.raises(LedgerError, match="wait for it to end"):
            ledger.sole("j").__enter__()


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


def test_what_is_known_of_a_case_survives_with_its_verdict(tmp_path):
    with Ledger(tmp_path / "x.ledger") as ledger:
        ledger.add(case(1), verdict(1))
    with Ledger(tmp_path / "x.ledger") as ledger:
        assert ledger.case(verdict(1).case) == case(1)
