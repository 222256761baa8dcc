"""Real processes, a real server, real signals: what was paid for is kept, and the next run asks only for the rest."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fullbench import Ledger
from tests.support.fake_chat_server import FakeServer
from tests.support.forked_command import ForkedCommand
from tests.support.wait_until import LONG, until

ITEMS = 150
CASES = ITEMS * 2


@pytest.fixture
def data(tmp_path) -> Path:
    items = [{"id": f"i{i}", "question": f"How many in #{i}?"} for i in range(ITEMS)]
    answers = [{"item": it["id"], "contestant": name, "text": f"{name} of {it['id']}"} for it in items for name in "ab"]
    for name, rows in (("items", items), ("answers", answers)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return tmp_path


def start(data: Path, server: FakeServer, **options: object) -> ForkedCommand:
    query = "&".join(f"{key}={value}" for key, value in {"mode": "direct", "concurrency": 8, **options}.items())
    spec = f"openai:judge@{server.url}?{query}"
    files = ["--items", "items.jsonl", "--responses", "answers.jsonl"]
    words = ["judge", *files, "--judge", spec, "--ballot", "score:1-5", "--all"]
    return ForkedCommand(words, folder=data, environment={**os.environ, "OPENAI_API_KEY": "sk-not-a-key"})


def kept(data: Path) -> set[tuple[str, int]]:
    with Ledger(data / "fullbench.ledger", read_only=True) as ledger:
        verdicts = list(ledger.verdicts())
    assert len({(v.judge, v.case, v.trial) for v in verdicts}) == len(verdicts)
    return {(v.case, v.trial) for v in verdicts}


def wait_for(data: Path, count: int) -> None:
    """Until the ledger holds so many verdicts."""
    until(lambda: (data / "fullbench.ledger").exists() and len(kept(data)) >= count)


def until_said(process: ForkedCommand, words: str) -> str:
    """What a process says on standard error, up to the line with these words, after which it waits."""
    said = ""
    for line in process.stderr:
        said += line
        if words in line:
            return said
    raise AssertionError(f"it ended without a word of {words!r}: {said}")


def calls(server: FakeServer) -> int:
    """How many calls the server has answered."""
    return sum(server.books()["answered"].values())


def test_ctrl_c_stops_cleanly_and_the_next_run_asks_for_the_rest(data):
    with FakeServer(says="[[4]]", answers=40) as server:
        process = start(data, server)
        wait_for(data, 30)
        process.send_signal(signal.SIGINT)
        first = until_said(process, "waiting for the running calls")
        server.more()
        out, last = process.communicate(timeout=LONG)
        err = first + last
        assert process.returncode == 130
        assert "run the same command again to continue" in err
        assert "Traceback" not in err
        assert "Leaderboard" in out
        done = kept(data)
        assert 30 <= len(done) < CASES
        assert calls(server) == len(done)
        again = start(data, server)
        _, err = again.communicate(timeout=LONG)
        assert again.returncode == 0, err
        assert done < kept(data)
        assert len(kept(data)) == CASES
        assert calls(server) == CASES


def test_kill_9_loses_nothing_kept_and_asks_again_only_what_was_in_flight(data):
    rng = random.Random(5)
    before: set[tuple[str, int]] = set()
    with FakeServer(latency=0.05, says="[[4]]", answers=0) as server:
        for kill in range(3):
            process = start(data, server)
            server.more(60)
            wait_for(data, len(before) + 20)
            time.sleep(rng.random() * 0.1)  # any moment will do
            process.kill()
            process.communicate(timeout=LONG)
            now = kept(data)
            assert before < now
            before = now
            # what was asked and is not kept was in flight, or in the group about to be committed (20 ms, some rows)
            assert calls(server) <= len(now) + (kill + 1) * (8 + 64)
        server.more()
        process = start(data, server)
        _, err = process.communicate(timeout=LONG)
        assert process.returncode == 0, err
        assert before < kept(data)
        assert len(kept(data)) == CASES


def test_faults_on_the_wire_end_as_verdicts_and_the_bill_counts_every_call(data):
    faults = {"429": 0.05, "500": 0.02, "reset": 0.01, "cut": 0.01}
    with FakeServer(faults, seed=3, says="[[4]]") as server:
        process = start(data, server, backoff=0.01, price_in=1, price_out=2)
        _, err = process.communicate(timeout=LONG)
        assert process.returncode == 0, err
        books = server.books()
        answered, attempts = sum(books["answered"].values()), sum(books["attempts"].values())
    assert len(kept(data)) == CASES
    with Ledger(data / "fullbench.ledger", read_only=True) as ledger:
        (account,) = (account for account in ledger.bill() if account.role == "judge")
    assert account.usage.calls == answered
    assert account.usage.retries == attempts - answered
    assert account.usage.retries > 0
    assert account.usage.calls > CASES
    assert account.usage.dollars == pytest.approx(answered * (100 + 2 * 20) / 1e6, rel=0.02)


def test_a_refused_key_stops_at_once_and_keeps_what_was_done(data):
    with FakeServer(says="[[4]]", answers=20) as server:
        process = start(data, server)
        wait_for(data, 20)
        process.send_signal(signal.SIGINT)
        until_said(process, "waiting for the running calls")
        server.more()
        process.communicate(timeout=LONG)
        before = kept(data)
    with FakeServer({"401": 1.0}) as server:
        process = start(data, server, key_env="OPENAI_API_KEY")
        out, err = process.communicate(timeout=LONG)
    assert process.returncode == 2
    assert err.strip().splitlines()[-1].startswith("fullbench: ")
    assert "OPENAI_API_KEY" in err
    assert "sk-not-a-key" not in err + out
    assert kept(data) == before


def test_two_runs_of_one_judge_do_not_ask_twice(data):
    with FakeServer(says="[[4]]", answers=10) as server:
        first = start(data, server)
        wait_for(data, 10)
        second = start(data, server)
        _, err = second.communicate(timeout=LONG)
        assert second.returncode == 2
        assert str(first.pid) in err
        server.more()
        first.communicate(timeout=LONG)
        assert first.returncode == 0
        assert calls(server) == CASES


INTERRUPTED_WRITE = """
import io, signal, sys
from fullbench.cli.console import print_message, stop_on_signals

class Interrupting(io.FileIO):
    left = int(sys.argv[1])
    def write(self, data):
        while self.left:
            self.left -= 1
            signal.raise_signal(signal.SIGINT)
        return super().write(data)

sys.stderr = io.TextIOWrapper(io.BufferedWriter(Interrupting(2, "w", closefd=False)), line_buffering=True)
with stop_on_signals() as stop:
    print_message("Called 7.")
sys.stdout.write(stop.reason)
"""


@pytest.mark.parametrize(("signals", "code", "reason"), [(1, 0, "interrupted"), (2, 130, "")])
def test_ctrl_c_in_the_middle_of_a_message_is_no_defect(signals, code, reason):
    """Python refuses to write to a stream while a write to it is interrupted."""
    program = [sys.executable, "-c", INTERRUPTED_WRITE, str(signals)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=LONG)
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (code, reason, False), done.stderr
