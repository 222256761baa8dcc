"""README's way from a checkout to the first judged folder of photos, its very text, in an empty folder and home."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from fullbench import Ledger
from tests.support.json_server import JsonServer

ROOT = Path(__file__).parents[2]
PHOTOS = 5


class Server(JsonServer):
    """A local server of one model: says its name, and as a judge always takes the answer of `two`."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

        def answered(_path: str, _headers: object, body: Any) -> object:
            if body is None:
                return {"data": [{"id": "any"}]}
            words = json.dumps(body["messages"])
            self.asked[body["model"]] += "image_url" in words
            text = f"A photo, says {body['model']}."
            if body["model"] == "judge":
                first, second = words.rfind("says one"), words.rfind("says two")
                nonce = re.findall(r"\b[0-9a-f]{6,}\b", words.rpartition("says")[2])
                text = f"{nonce[-1] if nonce else ''} [[{'A' if second < first else 'B'}]]"
            usage = {"prompt_tokens": 100, "completion_tokens": 5}
            return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": usage}

        super().__init__(answered)


def commands() -> tuple[str, str]:
    """What README says to type: the line that installs, and the lines after it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    install, work = (
        re.findall(r"```(?:console|text)\n(.*?)```", text.partition(heading)[2].partition("\n## ")[0], re.DOTALL)[0]
        for heading in ("## Install", "## Journey 1")
    )
    return install.removeprefix("$ ").strip(), work


def follow(folder: Path, programs: Path) -> None:
    """Type README's three commands, each of which has to end well, and look at what they leave."""
    (folder / "home").mkdir()
    (folder / "photos").mkdir()
    for number in range(PHOTOS):
        Image.new("RGB", (64, 48), (40 * number, 90, 200)).save(folder / "photos" / f"照片{number}.jpg")
    _, work = commands()
    with Server() as one, Server() as two, Server() as judge:
        for written, server in (("8000", one), ("8001", two), ("8002", judge)):
            assert f"localhost:{written}" in work
            work = work.replace(f"localhost:{written}", f"127.0.0.1:{server.port}")
        kept = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
        env = {**kept, "PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder / "home")}
        done = subprocess.run(
            ["bash", "-euc", work], cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=240
        )
        assert done.returncode == 0, done.stdout + done.stderr
        # A picture with each question: `check` asks one more, the judge hears each pair in both orders.
        assert two.asked == {"two": 3}
        assert judge.asked == {"judge": 6}
        assert one.asked["one"] == 3
    (ledger,) = folder.glob("**/*.ledger")
    with Ledger(ledger, read_only=True) as kept_ledger:
        rulings = [verdict for verdict in kept_ledger.record() if verdict.marks is not None]
    assert len(rulings) == 6
    for verdict in rulings:
        best = max(zip(verdict.marks or (), verdict.contestants, strict=True))[1]
        assert best.startswith("two"), verdict
    assert list(folder.glob("**/*.html")), "a page to open"
    assert "Traceback" not in done.stderr


def test_three_commands_judge_a_folder_of_photos(tmp_path):
    assert commands()[0] == "pip install '.[charts]'"
    assert len(re.findall(r"^fullbench ", commands()[1], re.MULTILINE)) == 3
    follow(tmp_path, Path(sys.executable).parent)


@pytest.mark.slow
def test_all_four_from_a_checkout_in_an_environment_with_nothing_in_it(tmp_path):
    """The first of the four needs an index of packages, as pip is set up on this machine."""
    checkout = tmp_path / "checkout"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if name.startswith(("src/", "pyproject", "README", "LICENSE")):
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, checkout / name)
    venv.create(tmp_path / "venv", with_pip=True)
    programs = tmp_path / "venv" / "bin"
    env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    env = {name: value for name, value in env.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(
        ["bash", "-euc", commands()[0]], cwd=checkout, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode and re.search("No matching distribution|Could not find a version|connection", done.stderr):
        pytest.skip(f"pip finds no packages here: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    (tmp_path / "work").mkdir()
    follow(tmp_path / "work", programs)
