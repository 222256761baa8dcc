"""What a user sees of the package as a whole."""

from __future__ import annotations

import subprocess
import sys

import fullbench

HEAVY = (
    "numpy",
    "scipy",
    "aiohttp",
    "PIL",
    "rich.progress",
    "jinja2",
    "pyarrow",
    "vl_convert",
    "orjson",
    "sqlite3",
    "asyncio",
)


def loaded(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_public_names_are_all_there_and_sorted():
    assert list(fullbench.__all__) == sorted(fullbench.__all__)
    assert set(fullbench.__all__) == set(fullbench._HOMES)
    for name in fullbench.__all__:
        assert getattr(fullbench, name) is not None
        assert name in dir(fullbench)


def test_importing_the_package_loads_nothing_heavy():
    assert not loaded("import fullbench") & {*HEAVY, "typer", "click"}


def test_the_command_line_loads_nothing_heavy():
    assert not loaded("import fullbench.cli.app") & set(HEAVY)


def test_changelog_and_package_agree_on_the_version():
    from pathlib import Path

    root = Path(__file__).parents[1]
    assert f"## {fullbench.__version__}" in (root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f'version = "{fullbench.__version__}"' in (root / "pyproject.toml").read_text(encoding="utf-8")
    assert f"version: {fullbench.__version__}" in (root / "CITATION.cff").read_text(encoding="utf-8")
