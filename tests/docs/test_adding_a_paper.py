"""The tutorial alone makes a benchmark with wording, labels and one reproduced figure, in four files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docs.test_docs import ROOT, blocks

PAPER = {"votes.csv", "judge.txt", "caption_votes.py", "pyproject.toml"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The files of the page, and what `pip install` would note down of their entry points."""
    place = tmp_path_factory.mktemp("paper")
    for _, body, _ in blocks(ROOT / "docs" / "how-to" / "adding-a-paper.md"):
        if body.startswith("# file:"):
            head, _, rest = body.partition("\n")
            (place / head.removeprefix("# file:").strip()).write_text(rest, encoding="utf-8")
    project = tomllib.loads((place / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = place / f"{project['name']}-{project['version']}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (about / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
    return place


def call(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "fullbench", *words],
        capture_output=True, text=True, cwd=folder, timeout=120, env={**os.environ, "PYTHONPATH": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_paper_is_four_files_and_at_most_110_lines(folder):
    lines = [
        line for name in PAPER for line in (folder / name).read_text(encoding="utf-8").splitlines() if line.strip()
    ]
    assert len(lines) <= 110


def test_run_reproduce_and_card_work_from_the_tutorial_alone(folder):
    assert "caption_votes" in call(folder, "list")
    tables = json.loads(call(folder, "run", "study.toml", "--quiet", "--json"))
    assert "length" in json.dumps(tables)
    cells = json.loads(call(folder, "reproduce", "caption_votes", "--data", ".", "--json"))["cells"]
    assert cells == [{"id": "first caption/share", "value": 6 / 9, "n": 9}]
    card = call(folder, "card", "length", "--ledger", "captions.ledger")
    assert "No verdict of people" not in card
    assert "length" in card


def test_the_votes_of_three_people_stay_three(folder):
    code = """
from fullbench import Ledger
with Ledger("captions.ledger", read_only=True) as book:
    raters = sorted({v.rater for v in book.record() if v.rater})
assert raters == ["person 0", "person 1", "person 2"], raters
"""
    call(folder, "run", "study.toml", "--quiet")
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_model_is_asked_in_the_words_of_the_paper(folder):
    code = """
from fullbench.studies import judge_contestant_and_benchmark_specs as specs
judge = specs.judge_from_spec(specs.spec_for_benchmark("caption_votes", "offline:first"))
assert "cannot see the picture" in str(judge.template.blocks), judge.template
"""
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr


def test_every_hook_is_taught():
    from dataclasses import fields

    from fullbench import Benchmark

    page = (ROOT / "docs" / "how-to" / "adding-a-paper.md").read_text(encoding="utf-8")
    for field in fields(Benchmark):
        assert f"`{field.name}" in page, f"the hook {field.name!r} is not on the page"
