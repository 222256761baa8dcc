"""File locks are a library's, the same on every system; where a system has none, a sentence says so."""

import json
import multiprocessing
import subprocess
import sys
from pathlib import Path

from fullbench.ledger.integrity import last_committed_rows
from tests.support.wait_until import LONG

SOURCE = Path(last_committed_rows.__file__).parents[2]
WITHOUT_LOCKS = "import sys; sys.modules['fcntl'] = None; from fullbench.cli import main; main()"


def test_no_module_locks_files_in_the_way_of_one_system():
    own = [
        path
        for path in SOURCE.rglob("*.py")
        if {"import fcntl", "import msvcrt"} & set(path.read_text("utf-8").split("\n"))
    ]
    assert own == []


def test_a_system_without_file_locks_is_told_in_a_sentence(tmp_path):
    (tmp_path / "items.jsonl").write_text(json.dumps({"id": "i", "prompt": "问题"}), "utf-8")
    rows = [{"item": "i", "contestant": name, "text": name * 3} for name in ("ann", "bob")]
    (tmp_path / "responses.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    command = "judge --items items.jsonl --responses responses.jsonl --judge length --ballot choice --ledger l.ledger"
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LOCKS, *command.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "'length' cannot be locked" in done.stderr
    assert "or on a PostgreSQL server" in done.stderr


def test_on_windows_the_command_names_a_way_out():
    on_windows = "import sys; sys.platform = 'win32'; from fullbench.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", on_windows, "list"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Run fullbench in WSL" in done.stderr


def _note(ledger: Path, writer: str, ready: object) -> None:
    ready.wait()
    file = last_committed_rows.DigestFile(ledger)
    for number in range(1, 41):
        file.note(writer, number, f"{number:032x}")
    file.close()


def test_writers_that_begin_at_once_take_lines_of_their_own(tmp_path):
    start = multiprocessing.get_context("spawn")
    ready = start.Barrier(4)
    names = [f"writer-{number}" for number in range(4)]
    writers = [start.Process(target=_note, args=(tmp_path / "l.ledger", name, ready)) for name in names]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(LONG)
    assert sorted(last_committed_rows.read_acknowledged_digests(tmp_path / "l.ledger")) == [
        (name, 40, f"{40:032x}") for name in names
    ]
