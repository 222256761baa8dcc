"""Mistakes in panels, cascades, rubrics, exchange and notebooks: one sentence each and no traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fullbench
from fullbench.errors import FullbenchError
from tests.support.commands import call

ITEMS = [{"id": f"i{number}", "question": "What?"} for number in range(3)]
SAID = [
    {"item": item["id"], "contestant": who, "text": f"{who} says {'so ' * place}"}
    for item in ITEMS
    for place, who in enumerate(("a", "b"))
]
STUDY = """name = "s"
items = "items.jsonl"
responses = "responses.jsonl"
judges = ["length", "chance"]
ballots = ["choice"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, rows in (("items", ITEMS), ("responses", SAID)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("full").mkdir()
    Path("full/x").write_text("x")
    fullbench.judge(ITEMS, SAID, "own.ledger", judge="length", ballot="choice")
    return tmp_path


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ('[panels.jury]\nmembers = ["length", "nobody"]\n', "there is no judge or model 'nobody'"),
        ('[panels.jury]\nmembers = ["length", "chance"]\nrule = "medain"\n', "unknown rule 'medain'; known: majority"),
        ('[panels.jury]\nmembers = ["length", "chance"]\nquorum = 5\n', "a quorum of 5 is more than the 2 members"),
        ('[cascades.c]\nstages = ["length"]\n', "unknown key 'stages'; known: small, large"),
        ('rubric = "rubric.toml"\n', "unknown key 'rubric'; did you mean 'rubrics'?"),
    ],
)
def test_of_studies(folder, more, told):
    Path("study.toml").write_text(STUDY + more)
    code, done = call("run", "study.toml")
    assert code == 2
    assert told in done.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("export huggingface --ledger own.ledger --out items.jsonl", "items.jsonl: this is a file, but a folder is"),
        ("export mlflow --ledger own.ledger --out items.jsonl", "items.jsonl: this is a file, but a folder is needed"),
        ("export mlflow --ledger own.ledger --out full", "full: the folder is not empty; choose another one"),
        ("export arena --ledger own.ledger --out full", "full: unknown file type; known types are .jsonl"),
        ("export inspect --ledger none.ledger --out x.eval", "none.ledger: no ledger at this path"),
        ("import vlmevalkit responses.jsonl --out new", "a row has no 'question'; found item, contestant, text; is it"),
        ("import vlmevalkit items.jsonl --out responses.jsonl", "responses.jsonl: this is a file, but a folder is"),
        ("import label_studio responses.jsonl --out new", "found there: nothing; name another column with --option"),
        ("import mt_bench responses.jsonl --out new", "no item was found in it; is it a file of this kind?"),
        ("report --ledger none.ledger", "none.ledger: no ledger at this path"),
    ],
)
def test_of_exchange(folder, words, told):
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    code, done = call(*words.split())
    assert code == 2
    assert told in done.output
    assert "Traceback" not in done.output
    assert not Path("new").exists(), "nothing is half-written"
    assert {path: path.read_bytes() for path in before} == before


def frame(**columns: list[Any]) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


@pytest.mark.parametrize(
    ("verb", "told"),
    [
        (lambda: fullbench.judge(ITEMS[0], SAID, judge="length", ballot="choice"), "'id' is one value: put it into"),
        (lambda: fullbench.judge(ITEMS, SAID, judge="length", ballot=5), "a ballot is a text such as .* found 5"),
        (lambda: fullbench.judge(ITEMS, frame(id=["i1"], a=["x"]), judge="length", ballot="choice"),
         "responses:1: the field 'item' is missing; found id, a"),
        (lambda: fullbench.judge(["What?"], SAID, judge="length", ballot="choice"), "row 1 of items is not a dict"),
        (lambda: fullbench.report(frame(item=["i1", "i2"])), "a record or the path of a ledger.* found DataFrame"),
        (lambda: fullbench.run({"items": ITEMS}), "a study is the path of its file; found dict.*run\\(items=rows"),
    ],
)  # fmt: skip
def test_of_notebooks(folder, verb, told):
    with pytest.raises(FullbenchError, match=told):
        verb()
