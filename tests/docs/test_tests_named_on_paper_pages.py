"""Tests that the pages of the papers name for a behaviour exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = ("align_mm", "mj_bench", "mllm_judge", "upme", "visit_bench")


def named_tests(page: Path) -> list[tuple[str, Path]]:
    """Return each name in a table's last column and its path; a bare file name is in the folder named before it."""
    found, folder = [], ROOT / "tests"
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("| "):
            for name in re.findall(r"`((?:[\w.]+/)+[\w.]+|test_\w+\.py)`", line.strip("| ").split(" | ")[-1]):
                path = (ROOT / "tests" if "/" in name else folder) / name.removeprefix("tests/")
                folder = path.parent
                found.append((name, path))
    return found


@pytest.mark.parametrize("paper", PAPERS)
def test_tests_named_in_tables_exist(paper):
    named = named_tests(ROOT / "docs" / "papers" / f"{paper}.md")
    assert len(named) > 10
    assert [name for name, path in named if not path.exists()] == []
