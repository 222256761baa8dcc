"""Output that is closed, full, no longer read, or in a locale without our letters; Ctrl-C before anything began."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fullbench.cli.standard_streams import PLAIN_SIGNS
from tests.support.commands import run_in, write_rows

MAIN = [sys.executable, "-m", "fullbench"]
NAMES = ("模型", "café", "😀")
FULL = Path("/dev/full")


@pytest.fixture(scope="module")
def judged(tmp_path_factory) -> Path:
    """A folder with a ledger, which tests only read."""
    made = fill(tmp_path_factory.mktemp("judged"))
    assert run_in(made, *JUDGE).returncode == 0
    return made


@pytest.fixture
def folder(tmp_path) -> Path:
    return fill(tmp_path)


def fill(folder: Path) -> Path:
    items = [{"id": f"q{number}", "question": "几只？"} for number in range(3)]
    said = [
        {"item": item["id"], "contestant": name, "text": "一 " * length}
        for item in items
        for length, name in enumerate(NAMES, 1)
    ]
    for name, rows in (("items", items), ("said", said)):
        write_rows(folder / f"{name}.jsonl", rows)
    return folder


JUDGE = ["judge", "--items", "items.jsonl", "--responses", "said.jsonl", "--judge", "length", "--ballot", "choice+tie",
         "--all"]  # fmt: skip


def call(folder: Path, *words: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MAIN, *words], cwd=folder, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "gbk"])
def test_a_locale_without_our_letters_shows_all_the_same(folder, encoding):
    there = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([*MAIN, *JUDGE], cwd=folder, capture_output=True, env=there, check=False)
    assert done.returncode == 0, done.stderr
    shown = done.stdout.decode(encoding)
    assert "Leaderboard by length" in shown
    for name in NAMES:
        assert name in shown or json.dumps(name)[1:-1] in shown, "no name becomes another"
    assert "?" not in shown.partition("rating")[2].partition("\n")[2].splitlines()[1], "and none a question mark"
    if encoding == "ascii":
        assert "-----" in shown
        assert ">= " in shown, "signs of our own are plain, not numbers"
    done = subprocess.run([*MAIN, "report", "--json"], cwd=folder, capture_output=True, env=there, check=False)
    tables = json.loads(done.stdout.decode(encoding))
    assert {row[1] for row in tables[0]["rows"]} == set(NAMES), "JSON stays JSON, and says the names"


def test_plain_signs_are_plain():
    assert all(sign.isascii() for sign in PLAIN_SIGNS.values())


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [("report",), ("report", "--json"), ("list",), ("--help",), ("ledger", "show")])
def test_output_that_cannot_be_written_is_no_success(judged, words, unbuffered):
    there = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with FULL.open("w") as full:
        done = subprocess.run(
            [*MAIN, *words], cwd=judged, env=there, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2, done.stderr
    assert "No space left on device" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


@pytest.mark.parametrize("words", [("report",), ("list",), ("--help",), ("ledger", "show"), ("report", "--json")])
def test_a_reader_that_has_had_enough_hears_no_complaint(judged, words):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*MAIN, *words], cwd=judged, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_a_closed_output_does_not_keep_a_command_from_its_work(folder):
    done = call(folder, *JUDGE, preexec_fn=lambda: os.close(1))
    assert done.returncode == 0, done.stderr
    assert "Called 18" in done.stderr
    done = call(folder, "report", "--all", preexec_fn=lambda: os.close(2))
    assert done.returncode == 0
    assert "Leaderboard by length" in done.stdout


def test_an_interrupt_while_a_command_is_loaded_shows_no_trace(folder):
    """The signal comes when a module of the command is imported, before any of our own handlers stands."""
    code = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'fullbench.cli.judge':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs behind a shell ignores it otherwise\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        f"sys.argv = ['fullbench', *{JUDGE!r}]\n"
        "from fullbench.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "", "")


@pytest.mark.parametrize(
    ("place", "why"), [("items.jsonl/x.ledger", "Not a directory"), ("n" * 300, "File name too long")]
)
def test_a_ledger_where_none_can_be_is_a_sentence(folder, place, why):
    done = call(folder, *JUDGE, "--ledger", place)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("fullbench: ")
    assert f"cannot be read or written ({why})" in done.stderr
    assert len(done.stderr.splitlines()) == 1
