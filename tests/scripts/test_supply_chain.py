"""What an installation is made of: pinned with hashes, listed with licences; nothing unpublished is named."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.sbom import LICENCES, bill, parts, pins

ROOT = Path(__file__).parents[2]
STALE = "run `make sbom`"


def test_every_pin_has_hashes():
    found = pins()
    assert len(found) > 100
    assert [name for name, _, _, hashes in found if not hashes] == []
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for *_, hashes in found for digest in hashes)


def test_the_bill_of_materials_is_that_of_the_lock():
    made = json.loads(json.dumps(bill(parts())))
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    listed = {
        (one["name"], one["version"]): {entry["content"] for entry in one["externalReferences"][0]["hashes"]}
        for one in made["components"]
    }
    assert listed == {(name, version): set(hashes) for name, version, _, hashes in pins()}
    references = [one["bom-ref"] for one in made["components"]]
    assert len(references) == len(set(references))


def test_every_package_has_its_licence_and_none_of_the_core_asks_for_sources():
    rows = [
        line.strip("|").split(" | ")
        for line in LICENCES.read_text(encoding="utf-8").partition("|---|---|---|---|\n")[2].splitlines()
    ]
    assert {(row[0].strip(), row[1]) for row in rows} == {(name, version) for name, version, *_ in pins()}, STALE
    core = [row for row in rows if row[2] == "core"]
    assert len(core) > 15
    assert not [row for row in core if re.search(r"GPL|SSPL|BUSL", row[3])]


def test_nothing_is_to_be_installed_that_is_not_published():
    """No package of our name is on the index: whoever took the name would be installed instead."""
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py"), *ROOT.glob("src/**/*.md")]
    named = [
        path.name for path in texts if re.search(r"pip install +['\"]?fullbench", path.read_text(encoding="utf-8"))
    ]
    assert named == []


def test_all_that_the_scripts_install_has_hashes():
    locks = [ROOT / "scripts" / name for name in ("uv.txt", "build.txt")] + [*ROOT.glob("scripts/*.lock")]
    assert len(locks) == 7
    for lock in locks:
        blocks = re.split(r"\n(?=\S)", lock.read_text(encoding="utf-8").strip())
        assert all(re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", block, re.DOTALL) for block in blocks), lock
    for script in ROOT.glob("scripts/local*.sh"):
        text = script.read_text(encoding="utf-8")
        installs = re.findall(r"\b(?:pip install|add) (.*)", text)
        assert installs
        assert all("--require-hashes" in words or "--no-index" in words or '"$@"' in words for words in installs), (
            script
        )


@pytest.fixture
def tree(tmp_path) -> Path:
    """The files of an installation, without an environment."""
    for name in ("scripts", "src"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "requirements.lock", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    uv = tmp_path / "scripts" / "uv.txt"
    uv.write_text(re.sub("sha256:[0-9a-f]{8}", "sha256:00000000", uv.read_text()))
    return tmp_path


def launch(tree: Path) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    python = Path(sys.base_prefix) / "bin" / "python3"
    command = [python, "scripts/launch.py", "", "python", "-c", "import fullbench, httptools; print('works')"]
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True)
    if "No matching distribution" in done.stderr or "No module named pip" in done.stderr:
        pytest.skip("no packages can be fetched here")
    return done


@pytest.mark.slow
def test_without_uv_pip_installs_with_hashes_and_refuses_another_file(tree):
    lock = tree / "requirements.lock"
    text = lock.read_text(encoding="utf-8")
    lock.write_text(
        re.sub(r"(?s)(\nmdurl==.*?)\n(?=\w)", lambda block: re.sub("256:.{8}", "256:00000000", block[0]), text)
    )
    done = launch(tree)
    assert (done.returncode, "works" in done.stdout) == (1, False)
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr
    assert not (tree / ".venv" / "bin" / "uv").exists()
    lock.write_text(text)
    done = launch(tree)
    assert (done.returncode, done.stdout) == (0, "works\n"), done.stderr
    assert not (tree / ".venv" / "bin" / "uv").exists()
