"""A study file that runs code or sends data away says so before its first run, and `--safe` refuses it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import fullbench
from fullbench.errors import InputError
from tests.support.commands import Done, cli
from tests.support.forked_command import run_forked

STUDY = """
name = "s"
items = "items.jsonl"
responses = "answers.jsonl"
judges = {judges}
ballots = ["real:0-10"]
{more}
"""
TOUCH = "from pathlib import Path\nPath('ran').touch()\ndef score(prompt, image):\n    return 1.0\n"


@pytest.fixture
def folder(tmp_path) -> Path:
    rows = [{"id": f"q{n}", "question": "?"} for n in range(2)]
    answers = [{"item": row["id"], "contestant": "ann", "text": "Eight."} for row in rows]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)), encoding="utf-8")
    (tmp_path / "theirs.py").write_text(TOUCH, encoding="utf-8")
    return tmp_path


def run(folder: Path, judges: list[str], *words: str, more: str = "", **env: str) -> Done:
    (folder / "s.toml").write_text(STUDY.format(judges=json.dumps(judges), more=more), encoding="utf-8")
    return run_forked(folder, words[0], "s.toml", *words[1:], environment={**os.environ, **env})


RISKY = {
    "scorer:theirs:score?span=0,2": "runs code on this machine: the function 'theirs:score'",
    "command:./theirs.py": "runs code on this machine: the program './theirs.py'",
    "openai:m@http://127.0.0.1:9/v1?key_env=AWS_SECRET": "sends what the variable 'AWS_SECRET' holds to http://127.0.0.1",
    "openai:m@http://127.0.0.1:9/v1?key_file=.ssh/id": "sends what the file '.ssh/id' holds to http://127.0.0.1",
    "offline:echo?template=secret.txt": "sends what the file 'secret.txt' holds",
    "blind:generator:theirs:score": "runs code on this machine: the function 'theirs:score'",
    "offline:echo?examples=secret.jsonl": "sends what the file 'secret.jsonl' holds",
    "offline:echo?reader=openai:m@http://127.0.0.1:9/v1%3Fkey_env=HIDDEN": "sends what the variable 'HIDDEN' holds",
}


def refused(folder: Path, spec: str, *words: str, **env: str) -> None:
    done = run(folder, ["length", spec], *words, **env)
    assert done.returncode == 2
    assert RISKY[spec] in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / "ran").exists()
    assert not (folder / "fullbench.ledger").exists()


@pytest.mark.parametrize("spec", RISKY)
def test_a_risky_study_is_refused_before_anything_is_imported(folder, spec):
    refused(folder, spec, "run", "--safe")


@pytest.mark.parametrize("command", ["plan", "replay"])
def test_every_command_that_reads_a_study_file_can_refuse(folder, command):
    refused(folder, "scorer:theirs:score?span=0,2", command, "--safe")
    refused(folder, "scorer:theirs:score?span=0,2", command, FULLBENCH_SAFE="1")


CODE = ("scorer:theirs:score?span=0,2", "generator:theirs:score", "command:./theirs.py", "blind:generator:theirs:score")


@pytest.mark.parametrize("spec", CODE)
def test_the_variable_refuses_code_in_every_command_and_in_python(folder, spec, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FULLBENCH_SAFE", "1")
    (folder / "s.toml").write_text(STUDY.format(judges=json.dumps([spec]), more=""), encoding="utf-8")
    (folder / "panels.toml").write_text(f'[panels.p]\nmembers = ["{spec}", "length"]\nrule = "mean"\n')
    given = ("--items", "items.jsonl", "--responses", "answers.jsonl", "--ballot", "real:0-10")
    for words in [
        ("judge", *given, "--judge", spec),
        ("answer", "--items", "items.jsonl", "--contestant", spec, "--out", "out.jsonl"),
        ("audit", "panel:p", "--panels", "panels.toml", "--quick"),
        ("serve-judge", spec, "--ballot", "real:0-10", "--port", "0"),
        ("serve-judge", "s.toml", "--port", "0"),
    ]:
        if words[0] == "answer" and spec.startswith(("scorer", "command")):
            continue  # no contestants
        assert "runs code on this machine" in cli(*words, code=2).output, words
    with pytest.raises(InputError, match="runs code on this machine"):
        fullbench.reward("s.toml")
    monkeypatch.delenv("FULLBENCH_SAFE")
    assert "runs code on this machine" in cli("serve-judge", "s.toml", "--port", "0", "--safe", code=2).output
    assert not (folder / "ran").exists()
    assert not list(folder.glob("*.ledger"))


def test_panels_do_not_hide_it(folder):
    more = '[panels.two]\nmembers = ["length", "scorer:theirs:score"]\nrule = "mean"\n'
    done = run(folder, ["panel:two"], "run", "--safe", more=more)
    assert (done.returncode, "runs code" in done.stderr, (folder / "ran").exists()) == (2, True, False)


def test_without_safe_it_is_said_before_the_first_run_and_not_again(folder):
    spec = "scorer:theirs:score?span=0,2"
    first = run(folder, ["length", spec], "run", "--quiet")
    assert first.returncode == 1, "it scores pictures, and there are texts"
    assert RISKY[spec] in first.stderr
    assert (folder / "ran").exists()
    assert "runs code" not in run(folder, ["length", spec], "run", "--quiet").stderr


def test_a_plain_study_is_safe(folder):
    done = run(folder, ["length"], "run", "--safe", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "safe" not in done.stderr
