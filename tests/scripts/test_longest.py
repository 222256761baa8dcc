"""The files of tests that take longest begin first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.longest import LINE, listed, longest, order

ROOT = Path(__file__).parents[2]


def test_the_list_names_files_that_are_there():
    assert len(listed()) > 20
    assert len(set(listed())) == len(listed())
    assert [file for file in listed() if not (ROOT / file).is_file()] == [], "see scripts/longest.py"


def test_the_longest_come_first_then_those_with_most_tests():
    tests = {"few": 1, "many": 9, "long": 2, "longer": 1, "same": 9}
    assert list(order(tests, ["longer", "gone", "long"])) == ["longer", "long", "many", "same", "few"]


def test_seconds_are_summed_over_what_pytest_prints(tmp_path):
    code = "import time\n\ndef test_a():\n    time.sleep(0.03)\n\ndef test_b():\n    time.sleep(0.03)\n"
    for name in ("test_one.py", "test_two.py"):
        (tmp_path / name).write_text(code, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "--durations=0", "--durations-min=0", "-p", "no:cacheprovider", "."]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    assert {found["file"] for line in printed if (found := LINE.match(line))} == {"test_one.py", "test_two.py"}
    (first, second) = (line for line in printed if "test_one.py::" in line and " call " in line)
    assert longest([f"9{first}", f"8{second}", *(line for line in printed if "test_two" in line)]) == [
        (round(170 + float(first.split("s ")[0]) + float(second.split("s ")[0]), 1), "test_one.py")
    ]
