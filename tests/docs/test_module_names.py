"""Modules, functions and files of the repository that README, CONTRIBUTING and docs name exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
PACKAGES = sorted(path.stem for path in (ROOT / "src/fullbench").iterdir() if path.suffix in ("", ".py"))
NAME = re.compile(rf"`(?:fullbench\.)?((?:{'|'.join(PACKAGES)})(?:\.\w+)+)`")
FILE = re.compile(r"`((?:src|tests|scripts)/[\w/.*-]+)`")
ENDINGS = ("py", "md", "toml", "json", "jsonl", "csv", "html", "db", "sqlite", "ledger")


def is_defined(name: str) -> bool:
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(["fullbench", *parts[:count]]))
        except ImportError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_of_modules_and_files_exist(page: Path):
    text = page.read_text(encoding="utf-8")
    names = {name for name in NAME.findall(text) if name.rpartition(".")[2] not in ENDINGS}
    assert sorted(name for name in names if not is_defined(name)) == []
    assert sorted(file for file in FILE.findall(text) if not list(ROOT.glob(file))) == []


PLACE = re.compile(r"`([\w/]+/|[\w/]+\.(?:py|js|json|toml))`")


def test_places_in_the_table_of_contributing_exist():
    """Each place of a row is below `src/fullbench`; names without a folder are below one of the row's folders."""
    rows = re.findall(r"^\| .+ \| .+ \|$", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    named = [place.replace("PAPER", "*") for row in rows for place in PLACE.findall(row.split("|")[2])]
    missing = [place for place in named if not list((ROOT / "src/fullbench").glob(f"**/{place.rstrip('/')}"))]
    assert len(named) > 40
    assert [place for place in missing if not (ROOT / place).exists()] == []
