"""Random damage to the files of a ledger while a run judges: it never ends with exit code 0 and verdicts missing."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from fullbench import Ledger
from tests.cli.test_interrupt import calls
from tests.ledger.making import png
from tests.support.fake_chat_server import FakeServer
from tests.support.forked_command import ForkedCommand
from tests.support.wait_until import LONG, until

ITEMS, IN_FLIGHT = 30, 8
CASES = 2 * ITEMS
NAME = "study.ledger"


def write_study(folder: Path) -> None:
    (folder / "photos").mkdir()
    items, answers = [], []
    for number in range(ITEMS):
        (folder / "photos" / f"{number}.png").write_bytes(png(number))
        items.append({"id": f"i{number}", "question": f"How many in #{number}?", "picture": f"photos/{number}.png"})
        answers += [{"item": f"i{number}", "contestant": name, "text": f"{name} {number} " * 40} for name in "ab"]
    for name, rows in (("items", items), ("answers", answers)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def start_run(folder: Path, server: FakeServer) -> ForkedCommand:
    files = ["--items", f"{folder}/items.jsonl", "--responses", f"{folder}/answers.jsonl"]
    words = ["judge", *files, "--ballot", "score:1-5", "--ledger", f"{folder}/{NAME}", "--judge",
             f"openai:judge@{server.url}?mode=direct&concurrency={IN_FLIGHT}"]  # fmt: skip
    return ForkedCommand(words, folder / "log.txt")


def kept(path: Path) -> int:
    with Ledger(path, read_only=True) as ledger:
        return len({(verdict.judge, verdict.case, verdict.trial) for verdict in ledger.verdicts()})


def problems(path: Path) -> list[str]:
    with Ledger(path, read_only=True) as ledger:
        return list(ledger.verify())


def delete(path: Path, draw: random.Random) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def move(path: Path, draw: random.Random) -> None:
    path.rename(path.with_name(f"{path.name}.moved"))


def replace(path: Path, draw: random.Random) -> None:
    """Put a copy with other bytes, or none, in its place."""
    if path.is_dir():
        delete(path, draw)
        path.mkdir()
        return
    other = path.with_name("other")
    other.write_bytes(draw.choice((b"", draw.randbytes(8192), path.read_bytes())))
    other.replace(path)


def truncate(path: Path, draw: random.Random) -> None:
    os.truncate(path, draw.randrange(path.stat().st_size + 1))


def overwrite(path: Path, draw: random.Random) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        for _ in range(draw.choice((1, 1, 3, 20))):
            file.seek(draw.randrange(max(1, size)) // 4096 * 4096)
            file.write(draw.randbytes(draw.choice((16, 512, 4096))))


FAULTS: dict[str, tuple[Callable[[Path, random.Random], None], ...]] = {
    "": (delete, move, replace, truncate, overwrite),
    "-wal": (delete, move, replace, truncate, overwrite),
    "-shm": (delete, move, replace),  # SQLite maps it: to cut it kills any process, as kill -9 does
    ".digests": (delete, move, replace, truncate, overwrite),
    ".pictures": (delete, move, replace),
    ".pictures/*/*": (delete, move, replace, truncate, overwrite),
    ".locks": (delete, move, replace),
}
KEEPS_CONTENT = {delete, move, replace}


def chosen_file(folder: Path, suffix: str, draw: random.Random) -> Path | None:
    found = sorted(path for path in folder.glob(f"{NAME}{suffix}") if not path.name.endswith((".moved", "other")))
    return draw.choice(found) if found else None


HARM = """
import importlib, pathlib, random, sys
from tests.ledger import test_random_file_faults as faults
getattr(faults, sys.argv[1])(pathlib.Path(sys.argv[2]), random.Random(int(sys.argv[3])))
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_a_run_whose_files_are_damaged_repairs_them_or_stops(seed, tmp_path):
    draw = random.Random(seed)
    write_study(tmp_path)
    path = tmp_path / NAME
    suffix = list(FAULTS)[seed % len(FAULTS)]
    fault = draw.choice(FAULTS[suffix])
    with FakeServer(says="[[4]]", answers=draw.randrange(4, CASES)) as server:
        run = start_run(tmp_path, server)
        until(lambda: run.poll() is not None or calls(server) >= draw.randrange(1, 5))
        until(lambda: run.poll() is not None or (path.exists() and kept(path) > 0))
        assert run.poll() is None, (tmp_path / "log.txt").read_text(encoding="utf-8")
        time.sleep(draw.random() * 0.1)  # any moment will do
        reading = closing(sqlite3.connect(path)) if draw.random() < 0.5 else nullcontext()
        with reading as reader:
            if reader is not None:
                reader.execute("SELECT count(*) FROM verdicts").fetchone()
            target = chosen_file(tmp_path, suffix, draw)
            if target is None:
                pytest.skip(f"this run has no file {suffix}")
            # By another process: to close the file here would drop the locks of the reader.
            command = [sys.executable, "-c", HARM, fault.__name__, str(target), str(seed)]
            subprocess.run(command, check=True)
            server.more()
            code = run.wait(LONG)
        said = (tmp_path / "log.txt").read_text(encoding="utf-8", errors="replace")
        paid = calls(server)
        assert "Traceback" not in said, said
        if code == 0:
            assert kept(path) == CASES == paid, said
            assert problems(path) == [], said
            return
        assert code == 2, (code, said)
        assert NAME in said
        rescued = tmp_path / f"{NAME}.rescued"
        if rescued.exists() and "everything in it" in said:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
            rescued.replace(path)
            assert paid - IN_FLIGHT <= kept(path) <= paid, said
            assert problems(path) == [], said
        elif "pictures of this run" in said:
            assert paid - IN_FLIGHT <= kept(path) <= paid, said
            assert problems(path) == [], said
        elif fault in KEEPS_CONTENT:
            assert rescued.exists() or kept(path) >= paid - IN_FLIGHT, said
