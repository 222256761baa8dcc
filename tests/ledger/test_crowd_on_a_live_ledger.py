"""Two runs, a site, exports, backups, checks, vacuums and reports on one ledger at once, for minutes."""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from fullbench import Ledger
from tests.cli.test_interrupt import calls
from tests.support.fake_chat_server import FakeServer
from tests.support.forked_command import ForkedCommand
from tests.support.ports import free_port
from tests.support.wait_until import LONG, until

SECONDS = float(os.environ.get("FULLBENCH_CROWD_SECONDS", "600"))
ITEMS = 40


class Crowd:
    """Commands on one ledger, each repeated by a thread of its own until the time is over."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.end = folder, time.monotonic() + SECONDS
        self.done: Counter[str] = Counter()
        self.problems: list[str] = []
        self.threads: list[threading.Thread] = []

    def run(self, name: str, *words: object) -> None:
        """Run a command; note its words if it fails."""
        log = self.folder / f"{name}.log"
        log.unlink(missing_ok=True)
        code = ForkedCommand(list(map(str, words)), log).wait(10 * LONG)
        said = log.read_text(encoding="utf-8", errors="replace")
        if code or "Traceback" in said:
            self.problems.append(f"{name} ended with {code}: {said[-2000:]}")
        self.done[name] += 1

    def repeat(self, work: Callable[[int], None], pause: float = 0.0) -> None:
        def loop() -> None:
            for turn in count(1):
                if time.monotonic() > self.end or self.problems:
                    return
                work(turn)
                time.sleep(pause)

        self.threads.append(threading.Thread(target=loop))
        self.threads[-1].start()

    def wait(self) -> None:
        for thread in self.threads:
            thread.join()


def write_study(folder: Path) -> None:
    items = [{"id": f"i{number}", "question": f"How many in #{number}?"} for number in range(ITEMS)]
    answers = [{"item": item["id"], "contestant": name, "text": f"{name}: two."} for item in items for name in "ab"]
    for name, rows in (("items", items), ("answers", answers)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


@pytest.mark.slow
def test_a_crowd_on_one_ledger_loses_nothing_and_disturbs_nobody(tmp_path):
    write_study(tmp_path)
    path, backups, port = tmp_path / "x.ledger", tmp_path / "backups", free_port()
    backups.mkdir()
    Ledger(path).close()
    crowd = Crowd(tmp_path)
    with FakeServer(says="[[4]]", latency=0.2, spread=0.5) as server:

        def judge(name: str) -> list[object]:
            files = ["--items", tmp_path / "items.jsonl", "--responses", tmp_path / "answers.jsonl", "--ledger", path]
            spec = f"openai:{name}@{server.url}?mode=direct&concurrency=2"
            options = ["--ballot", "score:1-5", "--quiet", "--judge", spec]
            return [*files, *options]

        def visit(turn: int) -> None:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=LONG) as reply:
                reply.read()
            crowd.done["visits"] += 1

        site_words = ["serve", "--ledger", str(path), "--data", str(tmp_path / "web"), "--port", str(port), "--public"]
        site = ForkedCommand(site_words, tmp_path / "site.log")

        def is_up() -> bool:
            assert site.poll() is None
            with suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/").close()
                return True
            return False

        until(is_up)
        crowd.run("one", "judge", *judge("one"), "--trials", 1)
        crowd.run("two", "judge", *judge("two"), "--trials", 1)
        for name in ("one", "two"):
            crowd.repeat(lambda turn, name=name: crowd.run(name, "judge", *judge(name), "--trials", turn + 1))
        crowd.repeat(visit, 1)
        for name in ("export", "verify", "vacuum", "report", "backup"):
            words: dict[str, Callable[[int], list[object]]] = {
                "export": lambda turn: ["ledger", "export", path, "--to", tmp_path / f"{turn}.jsonl"],
                "verify": lambda turn: ["ledger", "verify", path],
                "vacuum": lambda turn: ["ledger", "vacuum", path],
                "report": lambda turn: ["report", "--ledger", path],
                "backup": lambda turn: ["ledger", "backup", path, "--to", backups / f"{turn}.ledger"],
            }
            crowd.repeat(lambda turn, name=name, words=words[name]: crowd.run(name, *words(turn)), 1)
        crowd.wait()
        paid = calls(server)
        site.terminate()
        site.wait(LONG)
    print(dict(crowd.done), paid)  # noqa: T201
    assert crowd.problems == []
    assert "Traceback" not in (tmp_path / "site.log").read_text(encoding="utf-8")
    assert min(crowd.done[name] for name in ("one", "two", "export", "verify", "vacuum", "report", "backup")) >= 2
    with Ledger(path, read_only=True) as ledger:
        keys = [(verdict.judge, verdict.case, verdict.trial) for verdict in ledger.verdicts()]
        assert len(keys) == len(set(keys)) == paid
        assert ledger.verify() == []
    for copy in backups.glob("*.ledger"):
        with Ledger(copy, read_only=True) as ledger:
            assert ledger.verify() == []
