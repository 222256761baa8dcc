"""What the project says is what it said when the golden files were written, but for the last digits of numbers."""

from __future__ import annotations

import math
import re
from difflib import unified_diff
from itertools import islice

import pytest

from tests.golden.goldens import FILES, GOLDENS

SHOWN = 40
"""So many lines of a difference are shown."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * golden.slow) for name, golden in GOLDENS.items()]
)
def test_the_golden_file_is_what_the_code_says(name: str, tmp_path):
    golden = GOLDENS[name]
    if golden.lacks:
        pytest.skip(golden.lacks)
    frozen, now = (FILES / name).read_text(encoding="utf-8"), golden.make(tmp_path)
    if not equal_but_for_rounding(frozen, now):
        lines = unified_diff(frozen.splitlines(), now.splitlines(), f"{name}, frozen", f"{name}, now", "", "", 1, "")
        shown = "\n".join(line[:300] for line in islice(lines, SHOWN))
        pytest.fail(
            f"{shown}\n\n{name} is no longer what it was. If that is meant, refresh it and look at the difference:\n"
            f"    python -m tests.golden --write {name} && git diff tests/golden/files",
            pytrace=False,
        )


NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


def equal_but_for_rounding(frozen: str, now: str) -> bool:
    """Compare texts byte for byte, numbers within 1e-7: each kind of processor adds in its own order."""
    return NUMBER.sub("#", frozen) == NUMBER.sub("#", now) and all(
        math.isclose(float(one), float(other), rel_tol=1e-7, abs_tol=1e-12)
        for one, other in zip(NUMBER.findall(frozen), NUMBER.findall(now), strict=True)
    )


def test_every_golden_file_is_made_by_something():
    assert {path.name for path in FILES.iterdir()} == set(GOLDENS)


def test_no_golden_file_tells_of_the_machine_that_wrote_it():
    import sys

    root = str(FILES.parents[2])
    version = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
    for path in FILES.iterdir():
        text = path.read_text(encoding="utf-8")
        assert not [told for told in (root, "127.0.0.1:", "/tmp/", "/home/", f"Python {version}") if told in text], path
