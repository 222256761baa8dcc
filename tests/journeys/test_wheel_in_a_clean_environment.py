"""The wheel and the sdist in environments that have nothing else: version, demo, and the commands of README.

uv installs them if it is there. pip resolves and unpacks everything anew for each environment, which took minutes on a
busy machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_docs import blocks

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
UV = Path(sys.executable).with_name("uv")
PYTHONS = [f"python3.{minor}" for minor in (11, 12, 13)]


def run(*words: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def interpreter(name: str) -> str:
    """Return a Python of this version, or skip: which of them a machine has differs."""
    if sys.version_info[:2] == tuple(map(int, name.removeprefix("python").split("."))):
        return sys.executable
    homes = sorted(Path.home().glob(f".pyenv/versions/{name.removeprefix('python')}.*/bin/python"))
    found = str(homes[-1]) if homes else shutil.which(name)
    if found is None or subprocess.run([found, "-m", "venv", "--help"], capture_output=True).returncode:
        pytest.skip(f"{name} is not installed")
    return found


def install(python: str, environment: Path, *packages: object) -> Path:
    """Create an environment with only these packages and their dependencies; return the folder of its programs."""
    run(python, "-m", "venv", *(["--without-pip"] if UV.exists() else []), environment)
    binaries = environment / "bin"
    pip = [UV, "pip", "install", "--python", binaries / "python"] if UV.exists() else [binaries / "pip", "install"]
    run(*pip, "-q", *packages)
    return binaries


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the wheel and the sdist that `python -m build` makes from the tracked files alone."""
    folder = tmp_path_factory.mktemp("built")
    source = folder / "source"
    for name in run("git", "ls-files", cwd=ROOT).splitlines():
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    tools = install(sys.executable, folder / "tools", "build", *(["uv"] if UV.exists() else []))
    installer = ["--installer", "uv"] if UV.exists() else []
    run(tools / "python", "-m", "build", *installer, "-o", folder / "dist", source)
    return folder / "dist"


@pytest.mark.parametrize("name", PYTHONS)
def test_the_wheel_alone_runs_the_demo_and_the_journeys_of_readme(name, built, tmp_path):
    (wheel,) = built.glob("*.whl")
    binaries = install(interpreter(name), tmp_path / "env", f"{wheel}[charts]")
    env = {"PATH": f"{binaries}{os.pathsep}{os.defpath}", "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    work = tmp_path / "work"
    work.mkdir()
    assert run(binaries / "fullbench", "--version", cwd=work, env=env).split() == ["0.2.0"]
    run(binaries / "fullbench", "demo", cwd=work, env=env)
    ran = 0
    for language, body, _ in blocks(ROOT / "README.md"):
        if body.startswith("# file:"):
            head, _, rest = body.partition("\n")
            (work / head.removeprefix("# file:").strip()).write_text(rest, encoding="utf-8")
        elif language == "python":
            run(binaries / "python", "-c", body, cwd=work, env=env)
            ran += 1
        elif language == "console":
            for command in re.findall(r"^\$ (fullbench .*)$", body, flags=re.MULTILINE):
                run("sh", "-c", command, cwd=work, env=env)
                ran += 1
    assert ran == 4
    assert (work / "report.html").stat().st_size > 10_000


def test_the_sdist_installs_and_shows_its_version(built, tmp_path):
    (sdist,) = built.glob("*.tar.gz")
    binaries = install(sys.executable, tmp_path / "env", sdist)
    assert run(binaries / "fullbench", "--version").split() == ["0.2.0"]
