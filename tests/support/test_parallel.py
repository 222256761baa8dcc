"""The runner loses no test: not if a worker is killed, not if one ends early, not if tests are stolen."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KILLED = """
import os, signal
def test_before(): pass
def test_killed(): os.kill(os.getpid(), signal.SIGKILL)
def test_after(): pass
"""
MANY = """
import os, pathlib, pytest, time
@pytest.mark.parametrize("number", range(40))
def test_one(number, tmp_path):
    assert number != 7
    log = pathlib.Path(os.environ["RUN_LOG"])
    while number == 0 and not log.exists():  # until the other worker has stolen a test
        time.sleep(0.01)
    with log.open("a") as out: out.write(f"{number} {os.getpid()}\\n")
"""
ENDS_EARLY = """
import os, pytest
@pytest.fixture(scope="session", autouse=True)
def ends():
    yield
    os._exit(3)
def test_one(): pass
"""


def run(folder: Path, **files: str) -> subprocess.CompletedProcess[str]:
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.support.parallel",
        "--workers",
        "2",
        "-c",
        "/dev/null",
    ]
    env = {"PYTHONPATH": str(ROOT), "RUN_LOG": str(folder / "log"), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    return subprocess.run([*command, "--rootdir", str(folder), str(folder)], capture_output=True, text=True, env=env)


def test_a_killed_worker_fails_its_test_alone_and_each_test_runs_once(tmp_path):
    done = run(tmp_path, killed=KILLED, many=MANY)
    assert re.search(r"2 failed, 41 passed", done.stdout), done.stdout + done.stderr
    assert "the worker died in this test (wait status 9)" in done.stdout
    assert done.returncode == 1
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert sorted(int(number) for number, _ in lines) == [number for number in range(40) if number != 7]
    assert len({process for _, process in lines}) > 1, "an idle worker takes tests of the longest file"


def test_a_worker_that_ends_between_tests_fails_the_run(tmp_path):
    assert run(tmp_path, ends=ENDS_EARLY).returncode not in (0, 5)
