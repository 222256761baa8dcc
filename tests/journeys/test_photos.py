"""A folder of photos, judged: as a person does it who has pictures, a question and a server, and no file of items."""

from __future__ import annotations

import base64
import csv
from pathlib import Path

import pytest
from PIL import Image

from fullbench.files.item_response_verdict_files import read_items, read_responses, read_verdicts
from tests.support.commands import write_rows as write
from tests.support.fake_chat_server import FakeServer


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Five pictures in three folders and four forms, one that phones write and nobody reads, and a note."""
    folder = tmp_path / "photos"
    for name, colour in (("a.png", "red"), ("sub/b.jpg", "green"), ("sub/deep/c.avif", "blue"), ("d.webp", "white")):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (40, 30), colour).save(file)
    Image.new("RGB", (40, 30), "black").save(folder / "f.jpg")
    (folder / "e.heic").write_bytes(b"\0\0\0\x18ftypheic" + bytes(40))
    (folder / "notes.txt").write_text("two of these are of the garden", encoding="utf-8")
    (folder / ".hidden.png").write_bytes(b"x")
    return folder


IDS = ["a", "d", "f", "sub/b", "sub/deep/c"]


def test_a_verdict_that_equals_an_answer_is_explained(cli, tmp_path, photos):
    with FakeServer(says="[[A]]") as server:
        who = [f"openai:{name}@{server.url}?label={name}" for name in ("one", "two")]
        cli(
            "answer", "--items", "photos", "--question", "?", "--out", "answers.jsonl", "--quiet", "--limit", 2,
            "--contestant", who[0], "--contestant", who[1],
        )  # fmt: skip
        code, _, err = cli(
            "judge", "--items", "photos", "--question", "?", "--responses", "answers.jsonl", "--quiet", "--limit", 2,
            "--judge", f"openai:judge@{server.url}", "--ballot", "choice",
        )  # fmt: skip
    assert code == 1
    assert "4 of 4 replies look like a verdict, but have no check code and repeat words of the prompt or" in err
    assert "Their verdicts count" not in err


def test_a_folder_is_answered_and_judged_with_a_question(cli, tmp_path, photos):
    with FakeServer(says="{prompt} [[A]]") as server:
        who = [f"openai:{name}@{server.url}?label={name}" for name in ("one", "two")]
        code, _, err = cli(
            "answer", "--items", "photos", "--question", "这是什么颜色？", "--out", "answers.jsonl", "--quiet",
            "--contestant", who[0], "--contestant", who[1],
        )  # fmt: skip
        assert code == 0, err
        assert "2 files are not read: 1 .heic, 1 .txt" in err
        code, _, err = cli(
            "judge", "--items", "photos", "--question", "这是什么颜色？", "--responses", "answers.jsonl",
            "--judge", f"openai:judge@{server.url}?mode=direct", "--ballot", "choice", "--quiet", "--limit", 2,
        )  # fmt: skip
        assert code == 0, err
        assert "Only the first 2 of 5 items are in this run" in err
        assert "Called 4, reused 0, failed 0" in err, "two items, one pair, both orders"
        code, _, err = cli(
            "judge", "--items", "photos", "--question", "这是什么颜色？", "--responses", "answers.jsonl",
            "--judge", f"openai:judge@{server.url}?mode=direct", "--ballot", "choice", "--quiet",
        )  # fmt: skip
        assert "Called 6, reused 4, failed 0" in err, "what was tried on a few is not asked again"
    answers = list(read_responses(tmp_path / "answers.jsonl"))
    assert sorted({answer.item for answer in answers}) == IDS
    assert {answer.contestant for answer in answers} == {"one@one", "two@two"}


def test_a_study_file_has_the_question_and_the_limit(cli, tmp_path, photos):
    write(tmp_path / "answers.jsonl", [{"item": i, "contestant": c, "text": c} for i in IDS for c in ("x", "yy")])
    study = """name = "s"\nitems = "photos"\nquestion = "What is this?"\nresponses = "answers.jsonl"
judges = ["length"]\nballots = ["choice"]\nledger = "s.ledger"\n"""
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    code, _, err = cli("run", "study.toml", "--quiet", "--limit", 3)
    assert (code, "Called 6, reused 0" in err) == (0, True), err
    code, _, err = cli("plan", "study.toml", "--json")
    assert code == 0, err
    code, _, err = cli("run", "study.toml", "--quiet")
    assert "Called 4, reused 6" in err
    code, _, err = cli("judge", "--items", "photos", "--responses", "answers.jsonl", "--judge", "length",
                       "--ballot", "choice")  # fmt: skip
    assert (code, "--question" in err) == (2, True)


def test_folder_of_heic_alone_names_them(cli, tmp_path):
    (tmp_path / "p").mkdir()
    for number in range(3):
        (tmp_path / "p" / f"{number}.HEIC").write_bytes(b"\0\0\0\x18ftypheic" + bytes(40))
    with pytest.raises(Exception, match=r"PDF files: 3 files are not read: 3 \.heic"):
        list(read_items(tmp_path / "p", question="?"))


def test_pictures_written_out_in_the_data(tmp_path):
    picture = tmp_path / "p.png"
    Image.new("RGB", (60, 60), "red").save(picture)
    Image.effect_noise((64, 64), 90).save(tmp_path / "n.png")
    plain, noisy = ((tmp_path / name).read_bytes() for name in ("p.png", "n.png"))
    coded = base64.b64encode(noisy).decode()
    assert len(coded) > 1_024, "so long that it cannot be a path"
    rows = [
        {"id": "uri", "question": "?", "picture": f"data:image/png;base64,{base64.b64encode(plain).decode()}"},
        {"id": "bare", "question": "?", "image": coded},
        {"id": "path", "question": "?", "image": "p.png"},
    ]
    items = {item.id: item.pictures[0] for item in read_items(write(tmp_path / "i.jsonl", rows))}
    assert items["uri"].digest == items["path"].digest
    assert items["bare"].data() == noisy
    for bad, words in (("data:image/png,abc", "not in base64"), ("x" * 5_000 + "?", "not valid base64"),
                       ("abcd" * 2_000, "neither a path nor a picture")):  # fmt: skip
        with pytest.raises(Exception, match=words) as error:
            list(read_items(write(tmp_path / "bad.jsonl", [{"id": "1", "question": "?", "image": bad}])))
        assert len(str(error.value)) < 400, "the sentence does not repeat the picture"


def test_labels_of_an_arena(tmp_path):
    rows = [
        {"question_id": "q1", "model_a": "x", "model_b": "y", "winner": "model_a"},
        {"question_id": "q2", "model_a": "x", "model_b": "y", "winner": "model_b"},
        {"question_id": "q3", "model_a": "x", "model_b": "y", "winner": "tie (bothbad)"},
        {"question_id": "q4", "model_a": "x", "model_b": "y", "winner": "y"},
    ]
    labels = list(read_verdicts(write(tmp_path / "l.jsonl", rows)))
    assert [label.marks for label in labels] == [(1, 0), (0, 1), (0.5, 0.5), (0, 1)]
    for bad, words in (({"winner": "z"}, "'winner' is one of"), ({}, "a verdict has marks or a fault")):
        row = {"item": "q", "model_a": "x", "model_b": "y", "ballot": "choice", **bad}
        with pytest.raises(Exception, match=words):
            list(read_verdicts(write(tmp_path / "bad.jsonl", [row])))


def test_labels_about_nobody_are_said(cli, tmp_path):
    write(tmp_path / "i.jsonl", [{"id": "q", "question": "?"}, {"id": "r", "question": "!"}])
    write(tmp_path / "a.jsonl", [{"item": i, "contestant": c, "text": c * 2} for i in "qr" for c in ("x", "y")])
    labels = [{"item": "q", "contestants": ["x", "zed"], "winner": "x"},
              {"item": "nowhere", "contestants": ["x", "y"], "winner": "y"},
              {"item": "r", "contestants": ["x", "y"], "winner": "y"}]  # fmt: skip
    write(tmp_path / "l.jsonl", labels)
    code, _, err = cli("judge", "--items", "i.jsonl", "--responses", "a.jsonl", "--labels", "l.jsonl", "--judge",
                       "length", "--ballot", "choice+tie", "--quiet")  # fmt: skip
    assert code == 0, err
    assert "1 of 3 labels is on contestants that have no response here (zed)" in err
    assert "1 of 3 labels is on items that are not here (nowhere)" in err


def test_report_as_csv_writes_what_it_says_and_names_may_be_short(cli, tmp_path):
    write(tmp_path / "i.jsonl", [{"id": f"q{n}", "question": "?"} for n in range(4)])
    rows = [{"item": f"q{n}", "contestant": c, "text": c * (n + 1)} for n in range(4) for c in ("x", "yy")]
    write(tmp_path / "a.jsonl", rows)
    with FakeServer(says="[[A]]") as server:
        specs = [f"openai:{name}@{server.url}?mode={mode}" for name, mode in
                 (("judge-good", "direct"), ("judge-good", "analyze"), ("other", "direct"))]  # fmt: skip
        words = [word for spec in specs for word in ("--judge", spec)]
        code, _, err = cli("judge", "--items", "i.jsonl", "--responses", "a.jsonl", *words, "--ballot", "choice",
                           "--quiet")  # fmt: skip
        assert code == 0, err
    code, _, err = cli("report", "--out", "t.csv")
    named = [Path(line.removeprefix("Written: ")) for line in err.splitlines() if line.startswith("Written: ")]
    assert code == 0
    assert len(named) > 3
    assert sorted(named) == sorted(path.relative_to(tmp_path) for path in tmp_path.glob("t*.csv"))
    assert not any(set(str(path)) & set(" #+&?") for path in named)
    for path in named:
        assert len(list(csv.reader((tmp_path / path).read_text(encoding="utf-8").splitlines()))) > 1
    code, out, err = cli("report", "--judge", "other", "--json")
    assert (code, "judge-good" in out, "other" in out) == (0, False, True), err
    code, out, err = cli("card", "other")
    assert (code, out.startswith("other")) == (0, True), err
    code, _, err = cli("card", "judge-goo")
    assert (code, "may be several judges: judge-good, judge-good (direct)." in err) == (2, True)
    code, _, err = cli("report", "--judge", "nobody")
    assert (code, "Judges: judge-good" in err) == (2, True)
    code, _, err = cli("ledger", "export", "--to", "v.jsonl", "--judge", "other")
    assert len((tmp_path / "v.jsonl").read_text(encoding="utf-8").splitlines()) == 8
