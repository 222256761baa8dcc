"""Answers without text are counted, the first is named, from files and from Python."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import pytest

import fullbench
from fullbench.core.response import Response
from fullbench.errors import DataWarning
from fullbench.files.item_response_verdict_files import read_responses, write_responses
from tests.support.commands import call

ITEMS = [{"id": f"i{number}", "question": "What?"} for number in range(3)]
TEXTS = {
    ("i0", "a"): "one",
    ("i0", "b"): "two",
    ("i1", "a"): "one",
    ("i1", "b"): None,
    ("i2", "a"): "",
    ("i2", "b"): None,
}
ROWS = [{"item": item, "contestant": who, "text": text} for (item, who), text in TEXTS.items()]
TWO = (
    "2 of 6 responses have no text (null, NaN or an empty cell), the first at {place}, 'b' on item 'i1'. "
    "They are judged as empty answers. Remove rows that are not answers."
)


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def as_csv():
    return "item,contestant,text\n" + "".join(
        f"{row['item']},{row['contestant']},{chr(34) * 6 if row['text'] == '' else row['text'] or ''}\n" for row in ROWS
    )


def parquet(path: Path) -> None:
    pytest.importorskip("pyarrow.parquet").write_table(pytest.importorskip("pyarrow").Table.from_pylist(ROWS), path)


FILES = {
    "said.jsonl": lambda path: path.write_text(lines(ROWS)),
    "nan.jsonl": lambda path: path.write_text(lines(ROWS).replace("null", "NaN")),
    "said.json": lambda path: path.write_text(json.dumps(ROWS)),
    "said.csv": lambda path: path.write_text(as_csv()),
    "said.parquet": parquet,
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_with_one_sentence_at_its_end(tmp_path, name):
    FILES[name](tmp_path / name)
    with pytest.warns(DataWarning) as said:
        responses = list(read_responses(tmp_path / name))
    row = {".csv": 5, ".json": 1}.get(Path(name).suffix, 4)
    assert [str(one.message) for one in said] == [f"{tmp_path / name}: {TWO.format(place=f'{tmp_path / name}:{row}')}"]
    assert {(each.item, each.contestant): each.text for each in responses} == {
        place: text or "" for place, text in TEXTS.items()
    }


def test_what_was_written_as_empty_is_read_as_empty_without_a_word(tmp_path):
    given = [Response.say("i0", "a", ""), Response.say("i1", "a", "words")]
    for name in ("own.csv", "own.jsonl", "own.tsv"):
        write_responses(tmp_path / name, given)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert list(read_responses(tmp_path / name)) == given


def test_the_command_line_says_it_before_it_judges(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_text(lines(ITEMS))
    Path("said.jsonl").write_text(lines(ROWS))
    words = "judge --items items.jsonl --responses said.jsonl --judge length --ballot choice --quiet"
    code, done = call(*words.split())
    assert code == 0
    assert f"said.jsonl: {TWO.format(place='said.jsonl:4')}" in done.output
    assert done.stderr.count("have no text") == 1
    assert "Warning" not in done.stderr, "a sentence, not Python's way of warning"


def pandas_frame(kind):
    def made():
        return pytest.importorskip("pandas").DataFrame(ROWS).astype({"text": kind})

    return made


@pytest.mark.parametrize(
    "made",
    [
        lambda: ROWS,
        pandas_frame("object"),
        pandas_frame("string"),
        lambda: pytest.importorskip("polars").DataFrame(ROWS),
    ],
    ids=["dicts", "pandas", "pandas strings", "polars"],
)
def test_a_notebook_is_warned(tmp_path, made):
    with pytest.warns(DataWarning, match=re.escape(f"responses: {TWO.format(place='responses:4')}")):
        record = fullbench.judge(ITEMS, made(), tmp_path / "a.ledger", judge="length", ballot="choice")
    assert record.responses["i1", "b"].text == ""
    assert len(record) == 6


BATTLE = {"question": "?", "model_a": "a", "model_b": "b", "winner": "model_a", "response_a": "x", "response_b": None}
IMPORTS = {
    "huggingface": ("rows.jsonl", lines({"id": n, "question": "What?", "a": "x", "b": None} for n in range(2))),
    "alpaca": ("out.json", json.dumps([
        {"instruction": f"q{n}", "output": text, "generator": "m"} for n, text in enumerate(["x", None, None])
    ])),
    "arena": ("battles.jsonl", lines({"question_id": n, **BATTLE} for n in range(2))),
    "vlmevalkit": ("m_b.tsv", "index\tquestion\tanswer\tprediction\n1\t?\tA\tA\n2\t?\tA\t\n3\t?\tB\t\n"),
}  # fmt: skip


@pytest.mark.parametrize("kind", IMPORTS)
def test_an_import_counts_them_and_never_reads_none_as_a_word(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    name, content = IMPORTS[kind]
    Path(name).write_text(content)
    options = ("--option", "response.a=a", "--option", "response.b=b") if kind == "huggingface" else ()
    code, done = call("import", kind, name, "--out", "new", *options)
    assert code == 0, done.output
    counted = "texts of answers, null, NaN or empty: taken as empty answers"
    assert re.search(f"{counted} +2", done.output)
    answers = list(read_responses("new/responses.jsonl"))
    assert sorted(answer.text for answer in answers)[:2] == ["", ""]
    assert not {"None", "nan", "NaN"} & {answer.text for answer in answers}
