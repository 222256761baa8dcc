"""One process opens a ledger several times while others read, write and close it.

A server keeps a ledger open and opens it again for each vote; closing one of several descriptors of a file drops all
POSIX locks of the process, and whoever closes the ledger next would delete the write-ahead log under the server.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fullbench.ledger.integrity.last_committed_rows import digest_file_path
from fullbench.ledger.ledger import Ledger
from tests.ledger.making import verdict

ROOT = Path(__file__).parents[2]

NEIGHBOUR = """
import sys, time
from fullbench.ledger.ledger import Ledger
from tests.ledger.making import verdict

path, judge, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
acknowledged, end = 0, time.monotonic() + seconds
while time.monotonic() < end:
    with Ledger(path, read_only=True) as ledger:
        sum(1 for _ in ledger.verdicts())
    with Ledger(path) as ledger:
        for _ in range(20):
            ledger.add(verdict(acknowledged, judge))
            acknowledged += 1
print(acknowledged)
"""


def soak(path: Path, seconds: float) -> None:
    """Votes through short openings beside one long opening, in two threads, with two neighbours."""
    with Ledger(path):
        pass
    neighbours = [
        subprocess.Popen(
            [sys.executable, "-c", NEIGHBOUR, str(path), f"neighbour-{number}", str(seconds)],
            stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )
        for number in range(2)
    ]  # fmt: skip
    votes = dict.fromkeys(("voter-0", "voter-1"), 0)
    end = time.monotonic() + seconds

    def vote(judge: str) -> None:
        while time.monotonic() < end:
            with Ledger(path) as opened:
                opened.add(verdict(votes[judge], judge))
                opened.flush()
            votes[judge] += 1

    kept_open = 0
    with Ledger(path) as ledger:
        voters = [threading.Thread(target=vote, args=(judge,)) for judge in votes]
        for voter in voters:
            voter.start()
        while time.monotonic() < end:
            ledger.add(verdict(kept_open, "long"))
            ledger.flush()
            kept_open += 1
            with Ledger(path, read_only=True) as looked:
                assert sum(1 for _ in looked.verdicts("long")) == kept_open
        for voter in voters:
            voter.join()
        acknowledged = {"long": kept_open, **votes}
        for number, neighbour in enumerate(neighbours):
            said, _ = neighbour.communicate(timeout=120)
            assert neighbour.returncode == 0
            acknowledged[f"neighbour-{number}"] = int(said)
    with Ledger(path, read_only=True) as ledger:
        assert {judge: sum(1 for _ in ledger.verdicts(judge)) for judge in acknowledged} == acknowledged
        assert ledger.verify() == []


def test_several_openings_beside_other_processes_lose_nothing(tmp_path):
    soak(tmp_path / "x.ledger", 4)


@pytest.mark.slow
def test_several_openings_beside_other_processes_lose_nothing_for_minutes(tmp_path):
    soak(tmp_path / "x.ledger", 150)


def test_another_process_that_only_looks_leaves_the_log_alone(tmp_path):
    path = tmp_path / "x.ledger"
    look = "import sys; from fullbench.ledger.ledger import Ledger; Ledger(sys.argv[1], read_only=True).close()"
    with Ledger(path) as ledger:
        ledger.add(verdict(0))
        ledger.flush()
        Ledger(path).close()
        Ledger(path, read_only=True).close()
        subprocess.run([sys.executable, "-c", look, str(path)], check=True, cwd=ROOT, timeout=60)
        assert path.with_name("x.ledger-wal").exists()
        ledger.add(verdict(1))
    with Ledger(path, read_only=True) as ledger:
        assert sum(1 for _ in ledger.verdicts()) == 2


def test_a_lost_tail_is_found(tmp_path):
    path = tmp_path / "x.ledger"
    with Ledger(path) as ledger:
        ledger.add(verdict(0))
    early = path.read_bytes()
    with Ledger(path) as ledger:
        ledger.add(verdict(1), verdict(2))
        ledger.flush()
        ledger.add(verdict(3))
    path.write_bytes(early)
    with Ledger(path, read_only=True) as ledger:
        problems = ledger.verify()
    assert len(problems) == 1
    assert "acknowledged rows are lost" in problems[0]
    digest_file_path(path).unlink()
    with Ledger(path, read_only=True) as ledger:
        assert ledger.verify() == []


def test_a_ledger_made_anew_is_not_blamed_for_what_was_there_before(tmp_path):
    path = tmp_path / "x.ledger"
    with Ledger(path) as ledger:
        ledger.add(verdict(0))
    path.unlink()
    with Ledger(path) as ledger:
        ledger.add(verdict(1))
        assert ledger.verify() == []
