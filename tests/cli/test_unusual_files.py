"""Files as other programs and systems write them are read if that is safe, else refused with one sentence."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from fullbench.files.item_response_verdict_files import read_responses
from tests.support.data_builders import png

ITEMS = [{"id": f"q{number}", "question": f"几只 {number}?"} for number in (1, 2, 3)]
SAID = [{"item": item["id"], "contestant": who, "text": who * 2} for item in ITEMS for who in ("x", "y")]
JUDGED = ("--judge", "length", "--ballot", "choice")


def lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@pytest.fixture
def desk(tmp_path) -> Path:
    (tmp_path / "items.jsonl").write_text(lines(ITEMS), encoding="utf-8")
    (tmp_path / "said.jsonl").write_text(lines(SAID), encoding="utf-8")
    return tmp_path


ITEM_FILES: list[tuple[str, str | bytes, str]] = [
    ("u.jsonl", lines(ITEMS).encode("utf-16"), "u.jsonl: the first bytes show that this is UTF-16"),
    ("u.csv", "id,question\nq1,几\n".encode("utf-16"), "save it as UTF-8"),
    ("book.csv", b"PK\x03\x04" + bytes(60), "a workbook of a spreadsheet"),
    ("old.csv", b"\xd0\xcf\x11\xe0" + bytes(60), "a workbook of an old spreadsheet"),
    ("zipped.jsonl", gzip.compress(lines(ITEMS).encode()), "let its name end in .gz"),
    ("columns.jsonl", b"PAR1" + bytes(60), "let its name end in .parquet"),
    ("store.csv", b"SQLite format 3\0" + bytes(60), "fullbench ledger export"),
    ("array.jsonl", json.dumps(ITEMS, indent=1), "a file with one array [...] is named .json"),
    ("short.jsonl", json.dumps(ITEMS), "a file with one array [...] is named .json"),
    ("pretty.jsonl", "\n".join(json.dumps(item, indent=1) for item in ITEMS), "a row stands in one line"),
    ("twice.jsonl", '{"id": "q1", "question": "a", "question": "b"}', "the name 'question' occurs twice in one object"),
    ("twice.json", '[{"id": "q1", "question": "a", "question": "b"}]', "the name 'question' occurs twice"),
    ("mac.csv", "id,question\rq1,a\rq2,b\r", "carriage returns alone"),
    ("nan.jsonl", '{"id": NaN, "question": "a"}', "nan.jsonl:1: the field 'id' is empty here"),
    ("Names.csv", "ID,Question\nq1,a\n", "the field 'id' is missing; found ID, Question; write 'ID' as 'id'"),
    ("win.jsonl", json.dumps({"id": "q", "question": "?", "picture": r"images\a.png"}), "write / between folders"),
    ("drive.jsonl", json.dumps({"id": "q", "question": "?", "picture": r"C:\me\a.png"}), "a path of Windows"),
    ("home.jsonl", json.dumps({"id": "q", "question": "?", "picture": "~/a.png"}), "'~' is not replaced in data"),
    ("uri.jsonl", json.dumps({"id": "q", "question": "?", "picture": "file:///a.png"}), "leave out file:"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "told"), ITEM_FILES, ids=[name for name, *_ in ITEM_FILES])
def test_items(cli, desk, name, content, told):
    (desk / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = cli("judge", "--items", name, "--responses", "said.jsonl", *JUDGED)
    assert (code, out) == (2, ""), err
    assert told in err
    assert len(err.splitlines()) == 1
    assert not (desk / "fullbench.ledger").exists(), "nothing is begun"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("-", "standard input is not read"),
        (r"data\items.jsonl", "write / between folders"),
        ("~/i.jsonl", "whole path"),
    ],
)
def test_paths(cli, desk, name, told):
    code, _, err = cli("judge", "--items", name, "--responses", "said.jsonl", *JUDGED)
    assert code == 2
    assert told in err


RESPONSES: list[tuple[str, str, str]] = [
    ("typed.csv", "item,contestant,text\nq1x,x,a\n", "not among the 3 items; did you mean 'q1'?"),
    ("space.csv", "item,contestant,text\nQ1 ,x,a\n", "did you mean 'q1'?"),
    ("below.csv", "item,contestant,sample,text\nq1,x,-1,a\n", "'sample' numbers the answers of one contestant from 0"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "told"), RESPONSES, ids=[name for name, *_ in RESPONSES])
def test_responses(cli, desk, name, content, told):
    (desk / name).write_text(content, encoding="utf-8")
    code, _, err = cli("judge", "--items", "items.jsonl", "--responses", name, *JUDGED)
    assert code == 2
    assert told in err


LABELS: list[tuple[str, str, str]] = [
    ("self.jsonl", lines([{"item": "q1", "contestants": ["x", "x"], "marks": [1, 0]}]), "is compared with itself"),
    ("tie.csv", "item,model_a,model_b,winner\nq1,x,y,tie\n", "for ties the ballot is choice+tie"),
    ("cells.csv", 'item,contestants,marks\nq1,"x,y","1,0"\n', 'several marks are a list, [1, 0]'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "told"), LABELS, ids=[name for name, *_ in LABELS])
def test_labels(cli, desk, name, content, told):
    (desk / name).write_text(content, encoding="utf-8")
    code, out, err = cli("judge", "--items", "items.jsonl", "--responses", "said.jsonl", *JUDGED, "--labels", name)
    assert (code, out) == (2, ""), err
    assert told in err
    assert not (desk / "fullbench.ledger").exists(), "nothing was asked that then cannot be shown"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tab.csv", "item\tcontestant\ttext\nq1\tx\ta b\nq1\ty\tc\n"),
        ("bar.csv", "item|contestant|text\nq1|x|a b\nq1|y|c\n"),
        ("excel.csv", "sep=;\nitem;contestant;text\nq1;x;a b\nq1;y;c\n"),
        ("empty.csv", "item,contestant,text\nq1,x,a b\n,,\n\nq1,y,c\n,,\n"),
    ],
)
def test_cells_as_spreadsheets_part_them_are_read(cli, desk, name, content):
    (desk / name).write_text(content, encoding="utf-8")
    code, _, err = cli("judge", "--items", "items.jsonl", "--responses", name, *JUDGED)
    assert code == 0, err
    assert "Called 2" in err
    assert [(said.contestant, said.text) for said in read_responses(desk / name)] == [("x", "a b"), ("y", "c")]


def test_an_error_below_a_line_of_excels_own_has_its_line(cli, desk):
    (desk / "excel.csv").write_text("sep=;\nitem;contestant;text\nq1;x;a\nq1;;c\n", encoding="utf-8")
    code, _, err = cli("judge", "--items", "items.jsonl", "--responses", "excel.csv", *JUDGED)
    assert (code, err) == (2, "fullbench: excel.csv:4: the field 'contestant' is empty here\n")


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [("a", "a ", "'a' and 'a '"), ("GPT", "gpt", "'GPT' and 'gpt'"), ("é", "e\u0301", r"'e\u0301' and '\xe9'")],
)  # fmt: skip
def test_contestants_that_look_like_one_are_counted_as_two_and_said_to_be(cli, desk, one, other, shown):
    rows = [{"item": item["id"], "contestant": who, "text": "t"} for item in ITEMS for who in (one, other, "third")]
    (desk / "twins.jsonl").write_text(lines(rows), encoding="utf-8")
    code, _, err = cli("judge", "--items", "items.jsonl", "--responses", "twins.jsonl", *JUDGED)
    assert code == 0
    assert f"twins.jsonl: {shown} are 2 contestants, but their names differ only in" in err
    assert "third" not in err


def test_a_study_from_a_windows_editor_is_read_and_other_files_are_none(cli, desk):
    study = 'name = "s"\nitems = "items.jsonl"\nresponses = "said.jsonl"\njudges = ["length"]\nballots = ["choice"]\n'
    (desk / "bom.toml").write_bytes(b"\xef\xbb\xbf" + study.encode())
    (desk / "wide.toml").write_bytes(study.encode("utf-16"))
    code, _, err = cli("run", "bom.toml")
    assert code == 0, err
    code, _, err = cli("run", "wide.toml")
    assert (code, "not UTF-8 (byte 0); save it as UTF-8" in err) == (2, True)
    code, _, err = cli("run", "items.jsonl")
    assert (code, "a .toml file is read here, such as `fullbench init` writes" in err) == (2, True)


@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes on POSIX alone")
def test_a_picture_whose_name_is_not_utf_8(cli, desk):
    (desk / "photos").mkdir()
    (desk / "photos" / "a.png").write_bytes(png())
    odd = os.fsencode(desk / "photos") + b"/caf\xe9.png"
    try:
        with open(odd, "wb") as file:  # noqa: PTH123 (a name that is no text)
            file.write(png())
    except OSError:
        pytest.skip("this file system keeps names in UTF-8")
    code, _, err = cli(
        "answer", "--items", "photos", "--question", "What?", "--contestant", "offline:echo", "--out", "o.jsonl"
    )
    assert code == 2
    assert "is not UTF-8; rename the file" in err
    assert not (desk / "o.jsonl").exists()
