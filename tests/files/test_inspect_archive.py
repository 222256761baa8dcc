"""A log as Inspect packs it: written, read back with its pictures, and opened by Inspect's own reader."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from PIL import Image

import fullbench
from fullbench.core.picture import Picture
from fullbench.files.item_response_verdict_files import read_items, read_responses, read_verdicts
from tests.support.commands import call, cli

SAID = [
    {"item": item, "contestant": who, "text": f"{who} says {'so ' * place}of {item}"}
    for item in ("i/0", "i/1")
    for place, who in enumerate(("lab/a", "lab/b"))
]


def drawn(shade: int) -> bytes:
    raw = io.BytesIO()
    Image.new("RGB", (24, 16), (shade, 90, 200)).save(raw, "PNG")
    return raw.getvalue()


ITEMS = [
    {"id": "i/0", "question": "What is shown?", "pictures": [drawn(10)], "reference": "Blue."},
    {"id": "i/1", "question": "哪一张更亮？", "pictures": [drawn(20), drawn(200)]},
]


@pytest.fixture
def ledger(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    fullbench.judge(ITEMS, SAID, "own.ledger", judge="length", ballot="choice")
    return tmp_path / "own.ledger"


def test_an_archive_holds_a_head_a_list_and_a_file_for_each_sample(ledger):
    told = cli("export", "inspect", "--ledger", ledger, "--out", "log.eval", "--option", "contestant=lab/b")
    assert "Written: log.eval (2 samples, 1 scorers)" in told.output
    with zipfile.ZipFile("log.eval") as log:
        names = set(log.namelist())
        listed = json.loads(log.read("summaries.json"))
        head = json.loads(log.read("header.json"))
    assert {"samples/i/0_epoch_1.json", "samples/i/1_epoch_1.json", "_journal/start.json"} <= names
    assert [entry["input"] for entry in listed] == ["What is shown?", "哪一张更亮？"], "no picture in the list"
    assert head["eval"]["model"] == "lab/b"
    assert "samples" not in head


@pytest.mark.parametrize("name", ["log.eval", "log.json"])
def test_what_is_written_comes_back_with_its_pictures(ledger, name):
    cli("export", "inspect", "--ledger", ledger, "--out", name, "--option", "contestant=lab/b")
    cli("import", "inspect", name, "--out", "back")
    items = {item.id.removeprefix("fullbench/"): item for item in read_items("back/items.jsonl")}
    for row in ITEMS:
        item = items[row["id"]]
        assert item.question == row["question"]
        assert [picture.digest for picture in item.pictures] == [
            Picture.from_bytes(data).digest for data in row["pictures"]
        ]
    assert items["i/0"].reference == "Blue."
    assert {said.text for said in read_responses("back/responses.jsonl")} == {
        "lab/b says so of i/0",
        "lab/b says so of i/1",
    }
    assert {ruling.marks for ruling in read_verdicts("back/verdicts.jsonl")} == {(1.0,)}, "the longer one won"


def test_inspect_itself_opens_it(ledger):
    log = pytest.importorskip("inspect_ai.log", reason="inspect-ai is not installed: its reader opens what we write")
    cli("export", "inspect", "--ledger", ledger, "--out", "log.eval", "--option", "contestant=lab/b")
    read = log.read_eval_log("log.eval")
    assert [sample.id for sample in read.samples] == ["i/0", "i/1"]
    assert [part.type for part in read.samples[1].messages[0].content] == ["image", "image", "text"]
    assert [entry.input for entry in log.read_eval_log_sample_summaries("log.eval")] == [
        "What is shown?",
        "哪一张更亮？",
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "export inspect --out log --option contestant=lab/a",
            "log: a log of Inspect needs a name that ends in",
        ),
        ("export inspect --out log.eval", "Add --option contestant=NAME; contestants: lab/a, lab/b"),
        (
            "export inspect --out log.eval --option contestant=lab",
            "'lab' may be several contestants: lab/a, lab/b. Give one of these names in full.",
        ),
        (
            "export opentelemetry --out log.jsonl",
            "There is no export 'opentelemetry'; known are site, alpaca",
        ),
        ("export langfuze --out log.jsonl", "There is no export 'langfuze'; did you mean 'langfuse'? known are site"),
    ],
)
def test_what_is_not_clear_is_asked_back_and_nothing_is_written(ledger, words, told):
    code, done = call(*words.split(), "--ledger", ledger)
    assert code == 2
    assert told in done.output
    assert not [path for path in Path().iterdir() if path.name.startswith("log")]


def test_kinds_may_be_typed_with_hyphens(ledger):
    assert "Written: tasks.json" in cli("export", "label-studio", "--ledger", ledger, "--out", "tasks.json").output
    assert "Written to back" in cli("import", "label-studio", "tasks.json", "--out", "back").output
