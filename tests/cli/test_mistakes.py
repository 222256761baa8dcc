"""Mistakes that people make, each answered by one sentence that says what to do: exit code 2, never a traceback."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.support.colour_server import TinyServer
from tests.support.data_builders import png
from tests.support.ports import free_port

BAD: dict[str, str | bytes] = {
    "empty.jsonl": "",
    "blank.csv": "id,question\n",
    "cut.jsonl": '{"id": "q1", "question": ',
    "array.jsonl": "[1, 2]\n",
    "latin.jsonl": '{"id": "q1", "question": "caf\xe9"}\n'.encode("latin-1"),
    "noid.jsonl": '{"question": "?"}\n',
    "noquestion.jsonl": '{"id": "q1"}\n',
    "twice.jsonl": '{"id": "q1", "question": "?"}\n{"id": "q1", "question": "!"}\n',
    "both.jsonl": '{"id": "q1", "question": "?", "prompt": "?"}\n',
    "turns.jsonl": '{"id": "q1", "turns": "hello"}\n',
    "role.jsonl": '{"id": "q1", "turns": [{"role": "robot", "parts": ["?"]}]}\n',
    "gone.jsonl": '{"id": "q1", "question": "?", "picture": "nowhere.png"}\n',
    "web.jsonl": '{"id": "q1", "question": "?", "picture": "https://example.org/a.png"}\n',
    "outside.jsonl": '{"id": "q1", "question": "?", "picture": "../../etc/passwd"}\n',
    "text.jsonl": '{"id": "q1", "question": "?", "picture": "notes.txt"}\n',
    "notes.txt": "no picture at all",
    "heic.jsonl": '{"id": "q1", "question": "?", "picture": "phone.heic"}\n',
    "phone.heic": b"\0\0\0\x18ftypheic" + bytes(40),
    "broken64.jsonl": json.dumps({"id": "q1", "question": "?", "picture": "data:image/png;base64,@@@"}) + "\n",
    "uri.jsonl": json.dumps({"id": "q1", "question": "?", "picture": "data:image/png,raw"}) + "\n",
    "long64.jsonl": json.dumps({"id": "q1", "question": "?", "image": base64.b64encode(bytes(9_000)).decode()}) + "\n",
    "movie.jsonl": '{"id": "q1", "question": "?", "picture": "movie.mp4"}\n',
    "movie.mp4": b"\0\0\0\x18ftypisom" + bytes(40),
    "tags.jsonl": '{"id": "q1", "question": "?", "tags": "a"}\n',
    "ragged.csv": "id,question\nq1,?,!\n",
    "doubled.csv": "id,id\nq1,q2\n",
    "quote.csv": 'id,question\nq1,"open\n',
    "object.json": '{"id": "q1"}',
    "comma.json": '[{"id": "q1", "question": "?"},]',
    "sheet.xlsx": b"PK\x03\x04",
    "fake.parquet": b"not parquet",
    "stray.jsonl": '{"item": "q9", "contestant": "x", "text": "a"}\n',
    "nowho.jsonl": '{"item": "q1", "text": "a"}\n',
    "nothing.jsonl": '{"item": "q1", "contestant": "x"}\n',
    "again.jsonl": '{"item": "q1", "contestant": "x", "text": "a"}\n' * 2,
    "alone.jsonl": '{"item": "q1", "contestant": "x", "text": "a"}\n',
    "labels-none.jsonl": '{"item": "q1", "contestants": ["x", "y"], "ballot": "choice"}\n',
    "labels-who.jsonl": '{"item": "q1", "winner": "x"}\n',
    "labels-winner.jsonl": '{"item": "q1", "contestants": ["x", "y"], "winner": "zed"}\n',
    "labels-marks.jsonl": '{"item": "q1", "contestants": ["x", "y"], "marks": [1], "ballot": "choice"}\n',
    "labels-legal.jsonl": '{"item": "q1", "contestants": ["x"], "marks": [9], "ballot": "score:1-5"}\n',
    "labels-word.jsonl": '{"item": "q1", "contestants": ["x"], "marks": ["good"], "ballot": "score:1-5"}\n',
    "labels-fault.jsonl": '{"item": "q1", "contestants": ["x"], "fault": "lazy", "ballot": "score:1-5"}\n',
    "labels-chance.jsonl": (
        '{"item": "q1", "contestants": ["x"], "marks": [1], "ballot": "score:1-5", "probability": 2}\n'
    ),
    "s-syntax.toml": 'name = "s\n',
    "s-key.toml": 'name = "s"\nitmes = "i.jsonl"\n',
    "s-noname.toml": 'items = "i.jsonl"\n',
    "s-both.toml": 'name = "s"\nitems = "i.jsonl"\nbenchmark = "synthetic"\njudges = ["length"]\n',
    "s-noballot.toml": 'name = "s"\nitems = "i.jsonl"\nresponses = "r.jsonl"\njudges = ["length"]\n',
    "s-noanswer.toml": 'name = "s"\nitems = "i.jsonl"\nballots = ["choice"]\njudges = ["length"]\n',
    "s-nojudge.toml": 'name = "s"\nitems = "i.jsonl"\nresponses = "r.jsonl"\nballots = ["choice"]\n',
    "s-list.toml": 'name = "s"\nitems = "i.jsonl"\nresponses = "r.jsonl"\nballots = "choice"\njudges = ["length"]\n',
    "s-limit.toml": 'name = "s"\nitems = "i.jsonl"\nresponses = "r.jsonl"\nballots = ["choice"]\nlimit = 0\n',
    "s-kind.toml": 'name = "s"\nkind = "tournament"\n',
    "s-panel.toml": (
        'name = "s"\nitems = "i.jsonl"\nresponses = "r.jsonl"\nballots = ["choice"]\njudges = ["panel:us"]\n'
    ),
    "s-latin.toml": 'name = "caf\xe9"\n'.encode("latin-1"),
    "s-question.toml": 'name = "s"\nbenchmark = "synthetic"\nquestion = "?"\njudges = ["length"]\n',
    "torn.ledger": b"SQLite format 3\0" + bytes(200),
    "text.ledger": "hello",
    "template.txt": "no turns at all",
}  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    for name, content in BAD.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "i.jsonl").write_text('{"id": "q1", "question": "?"}\n{"id": "q2", "question": "!"}\n')
    rows = [{"item": item, "contestant": who, "text": who * 3} for item in ("q1", "q2") for who in ("x", "y")]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "void").mkdir()
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.png").write_bytes(png())
    return tmp_path


def items(name: str) -> tuple[str, ...]:
    return ("judge", "--items", name, "--responses", "r.jsonl", "--judge", "length", "--ballot", "choice")


def responses(name: str, ballot: str = "choice") -> tuple[str, ...]:
    return ("judge", "--items", "i.jsonl", "--responses", name, "--judge", "length", "--ballot", ballot)


def judged(spec: str, ballot: str = "choice", *more: str) -> tuple[str, ...]:
    return ("judge", "--items", "i.jsonl", "--responses", "r.jsonl", "--judge", spec, "--ballot", ballot, *more)


def labels(name: str) -> tuple[str, ...]:
    return (*judged("length"), "--labels", name)


MISTAKES: list[tuple[tuple[str, ...], str]] = [
    (items("nowhere.jsonl"), "there is no such file"),
    (items("empty.jsonl"), "no rows"),
    (items("blank.csv"), "no rows"),
    (items("cut.jsonl"), "cut.jsonl:1: this is not valid JSON"),
    (items("array.jsonl"), "a row must be a JSON object"),
    (items("latin.jsonl"), "save the file as UTF-8"),
    (items("noid.jsonl"), "the field 'id' is missing; found question"),
    (items("noquestion.jsonl"), "no 'question' and no 'turns'"),
    (items("twice.jsonl"), "twice.jsonl:2: the id 'q1' occurs twice"),
    (items("both.jsonl"), "mean the same; keep one"),
    (items("turns.jsonl"), "'turns' must be a list"),
    (items("role.jsonl"), "system, user, assistant"),
    (items("gone.jsonl"), ", the folder of the data file. Correct the path, or continue without it with --without-pic"),
    (items("web.jsonl"), "is a web address"),
    (items("outside.jsonl"), "--pictures-from"),
    (items("text.jsonl"), "is not a picture we know"),
    (items("heic.jsonl"), "save it as JPEG"),
    (items("broken64.jsonl"), "not valid base64"),
    (items("uri.jsonl"), "not in base64"),
    (items("long64.jsonl"), "neither a path nor a picture in base64"),
    (items("movie.jsonl"), "name it in a column 'videos'"),
    (items("tags.jsonl"), "'tags' must be a mapping"),
    (items("ragged.csv"), "3 cells under 2 columns"),
    (items("doubled.csv"), "the column 'id' occurs twice"),
    (items("quote.csv"), "not valid CSV"),
    (items("object.json"), "the item has no 'question' and no 'turns'"),
    (items("comma.json"), "no row follows the comma"),
    (items("sheet.xlsx"), "save it as .csv"),
    (items("fake.parquet"), "not a valid Parquet file"),
    (items("photos"), "--question"),
    ((*items("void"), "--question", "?"), "the folder contains no pictures"),
    (responses("nowhere.csv"), "there is no such file"),
    (responses("stray.jsonl"), "answers item 'q9', which is not among the 2 items"),
    (responses("nowho.jsonl"), "the field 'contestant' is missing"),
    (responses("nothing.jsonl"), "no 'text', no 'pictures' and no 'parts'"),
    (responses("again.jsonl"), "line 1 is the same row: leave one out"),
    (responses("alone.jsonl"), "no case to hear"),
    (responses("r.jsonl", "choise"), "did you mean 'choice'"),
    (responses("r.jsonl", "score"), "score:LOW-HIGH, such as score:1-5"),
    (responses("r.jsonl", "score:5-1"), "runs from low to high"),
    (responses("r.jsonl", "likert:good"), "two or more different words"),
    (labels("labels-none.jsonl"), "marks or a fault"),
    (labels("labels-who.jsonl"), "model_a"),
    (labels("labels-winner.jsonl"), "'winner' is one of the contestants ('x', 'y')"),
    (labels("labels-marks.jsonl"), "1 mark for 2 responses"),
    (labels("labels-legal.jsonl"), "not legal"),
    (labels("labels-word.jsonl"), "must be a finite number"),
    (labels("labels-fault.jsonl"), "unknown fault 'lazy'"),
    (labels("labels-chance.jsonl"), "above 0 and at most 1"),
    (judged("opneai:gpt-4o"), "did you mean 'openai'"),
    (judged("lenght"), "did you mean 'length'"),
    (judged("openai:"), "has no model name"),
    (judged("openai:m@localhost:8000/v1"), "http://localhost:8000/v1"),
    (judged("openai:localhost:8000"), "without a model name"),
    (judged("openai:m@ftp://host/v1"), "cannot be used"),
    (judged("openai:m@http://user:pw@localhost/v1"), "no user, password or query"),
    (judged("openai:gpt-4o"), "OPENAI_API_KEY"),
    (judged("openai:m@https://example.org/v1"), "key_env=NAME"),
    (judged("openai:gpt-4o?key_file=nowhere.txt"), "cannot be read"),
    (judged("openai:gpt-4o?temprature=0"), "no option 'temprature'"),
    (judged("openai:gpt-4o?temperature=warm"), "cannot be 'warm'"),
    (judged("openai:gpt-4o?mode=think"), "unknown mode 'think'"),
    (judged("openai:gpt-4o?picture_mode=blurred"), "unknown picture_mode"),
    (judged("openai:gpt-4o?template=template.txt"), "=== user"),
    (judged("openai:gpt-4o?template=nowhere.txt"), "cannot be read"),
    (judged("openai:gpt-4o?reference=maybe"), "yes or no"),
    (judged("openai:gpt-4o?price_in=1"), "two sides"),
    (judged("openai:gpt-4o?effort=huge"), "the effort of reasoning"),
    (judged("gguf:"), "has no file"),
    (judged("length?margin=2"), "margin"),
    (judged("scorer:nowhere:fn"), "nowhere"),
    (judged("trained:nowhere"), "nowhere"),
    (judged("length", "choice", "--judge", "length"), "two of the judges are the same"),
    (judged("length", "choice", "--orders", "any"), "Unknown orders 'any'"),
    (judged("length", "choice", "--ledger", "text.ledger"), "text.ledger"),
    (judged("length", "choice", "--ledger", "torn.ledger"), "torn.ledger"),
    (judged("length", "choice", "--engine", "slurm"), "slurm"),
    (judged("length", "choice", "--durability", "forever"), "durability"),
    (judged("length", "choice", "--report", "void"), "void"),
    (judged("openai:gpt-4o?key_env=FULLBENCH_TEST_KEY", "choice", "--budget", "1"), "FULLBENCH_TEST_KEY"),
    (("run", "nowhere.toml"), "cannot be read"),
    (("run", "s-syntax.toml"), "s-syntax.toml:1: not valid TOML"),
    (("run", "s-key.toml"), "did you mean 'items'"),
    (("run", "s-noname.toml"), "the key 'name' is missing"),
    (("run", "s-both.toml"), "either a benchmark or a file of items"),
    (("run", "s-noballot.toml"), "needs ballots"),
    (("run", "s-noanswer.toml"), "needs responses"),
    (("run", "s-nojudge.toml"), "at least one judge"),
    (("run", "s-list.toml"), "s-list.toml:4: ballots is a list of texts"),
    (("run", "s-limit.toml"), "limit is a whole number from 1"),
    (("run", "s-kind.toml"), "unknown kind 'tournament'"),
    (("run", "s-panel.toml"), "[panels.NAME]"),
    (("run", "s-latin.toml"), "not UTF-8"),
    (("run", "s-question.toml"), "leave out the question"),
    (("answer", "--items", "photos", "--contestant", "length", "--question", "?", "--out", "o.csv"), "length"),
    (("answer", "--items", "i.jsonl", "--contestant", "offline:echo", "--out", "o.xml"), ".jsonl"),
    (("report", "--ledger", "nowhere.ledger"), "nowhere.ledger"),
    (("card", "length", "--ledger", "nowhere.ledger"), "nowhere.ledger"),
    (("export", "nothing-such", "--out", "o"), "nothing-such"),
    (("export", "dpo", "--out", "o.jsonl"), "--judge NAME"),
    (("reproduce", "mjbnech", "--data", "void"), "did you mean"),
    (("check", "http://127.0.0.1:9/v1"), "Is the server running"),
    (("check", "opneai:x"), "did you mean 'openai'"),
    (("init", "--items", "i.jsonl"), "--contestant or --responses"),
    (("judge", "--items", "i.jsonl"), "--responses"),
    (("judge", "--itmes", "i.jsonl"), "--items"),
    (("jugde",), "judge"),
]


@pytest.mark.parametrize(("words", "said"), MISTAKES, ids=[" ".join(words)[-60:] for words, _ in MISTAKES])
def test_a_mistake_is_one_sentence(cli, desk, monkeypatch, words, said):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code, out, err = cli(*words)
    assert code == 2, (out, err)
    assert said in " ".join(err.replace("│", " ").split()), err
    assert "Traceback" not in err
    assert out == ""
    lines = err.strip().splitlines()
    if lines[-1].startswith("fullbench: "):
        assert len(lines[-1]) < 700, "a sentence, not a page"
    else:
        assert "Usage:" in err, "what the command line itself refuses, it says with the usage"


def test_a_defect_of_ours_shows_no_trace(cli, desk, monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a \x1b[31mdefect")

    monkeypatch.setattr("fullbench.studies.study_file.Study.read", broken)
    code, _, err = cli("run", "study.toml")
    assert code == 70
    assert "Internal error (ZeroDivisionError: a \\u001b[31mdefect)" in err
    assert "Traceback" in Path(err.strip().rpartition(" ")[2]).read_text(encoding="utf-8")
    assert "Traceback" not in err


def test_there_are_as_many_as_promised():
    assert len(MISTAKES) >= 97


def test_mistakes_that_only_a_server_can_show(cli, desk):
    """A wrong path, a model that is not there, a server that is gone, or one that is no API: a sentence each."""
    with TinyServer(lambda *_: "[[A]]", models=("good",)) as server:
        bare = server.url.removesuffix("/v1")
        for address in (bare, f"{server.url}/chat/completions"):
            code, _, err = cli(*judged(f"openai:good@{address}"), "--quiet")
            assert code == 2, err
            assert "given up to /v1" in err, err
        code, _, err = cli(*judged(f"openai:bad@{server.url}"), "--quiet")
        assert (code, "has no model 'bad'" in err) == (2, True), err
    code, _, err = cli(*judged(f"openai:good@http://127.0.0.1:{free_port()}/v1"), "--quiet")
    assert code == 2, err
    assert "Traceback" not in err
