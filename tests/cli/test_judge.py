from __future__ import annotations

import json

import pytest

from tests.support.commands import write_rows

KEYED = "key_env=OPENAI_API_KEY"


GOOD = ("judge", "--items", "items.jsonl", "--responses", "answers.jsonl", "--judge", "length", "--ballot")


def test_own_data_end_to_end_and_again(cli, data):
    code, out, err = cli(*GOOD, "choice+tie", "--judge", "chance", "--report", "report.html", "--all")
    assert code == 0, err
    assert "Leaderboard by length" in out
    board = out[out.index("Leaderboard by length") :]
    assert board.index("wordy") < board.index("middle") < board.index("terse")
    page = (data / "report.html").read_text(encoding="utf-8")
    assert "几种颜色？" in page
    assert "<svg" in page
    before = (data / "fullbench.ledger").stat().st_mtime_ns
    again, out2, _ = cli(*GOOD, "choice+tie", "--judge", "chance", "--all")
    assert again == 0
    assert out2 == out
    assert (data / "fullbench.ledger").stat().st_mtime_ns == before


def test_json_is_json_and_nothing_else(cli, data):
    code, out, _ = cli(*GOOD, "score:1-5", "--json", "--quiet")
    assert code == 0
    tables = json.loads(out)
    assert {table["name"] for table in tables} >= {"leaderboard length", "unusable"}


def test_a_dry_run_asks_nothing_and_says_what_it_would_ask(cli, data):
    code, out, _ = cli(*GOOD, "choice+tie", "--dry-run", "--json")
    (plan,) = json.loads(out)
    assert code == 0
    assert plan["rows"][0][:4] == ["verdicts", "length", 0, 72]
    cli(*GOOD, "choice+tie", "--quiet")
    _, out, _ = cli(*GOOD, "choice+tie", "--dry-run", "--json")
    assert json.loads(out)[0]["rows"][0][:4] == ["verdicts", "length", 72, 0]


def test_people_are_judges(cli, data):
    labels = [{"item": f"i{i}", "contestants": ["wordy"], "marks": [4], "ballot": "score:1-5"} for i in range(12)]
    labels += [
        {"item": f"i{i}", "contestants": ["terse"], "marks": [1 + i % 2], "ballot": "score:1-5"} for i in range(12)
    ]
    write_rows(data / "labels.jsonl", labels)
    code, out, err = cli(*GOOD, "score:1-5", "--labels", "labels.jsonl", "--all")
    assert code == 0, err
    assert "Agreement with human on scores" in out


STUDY = """
name = "mine"
items = "items.jsonl"
responses = "answers.jsonl"
judges = ["length", "chance?seed=3"]
ballots = ["choice+tie", "ranking", "score:1-5"]
ledger = "mine.ledger"
report = "out/mine.html"
trials = 2
"""


def test_a_study_runs_and_its_ledger_tells_the_same(cli, data):
    (data / "study.toml").write_text(STUDY, encoding="utf-8")
    code, out, err = cli("run", "study.toml", "--all")
    assert code == 0, err
    assert (data / "out" / "mine.html").exists()
    assert "The same case judged again" in out
    code, shown, _ = cli("report", "--ledger", "mine.ledger", "--all")
    assert code == 0
    assert shown.split() == out.split()


def test_contestants_answer_into_a_file(cli, data):
    code, _, err = cli("answer", "--items", "items.jsonl", "--contestant", "offline:echo", "--out", "said.csv")
    assert code == 0, err
    assert (data / "said.csv").read_text(encoding="utf-8").count("\n") >= 12


def test_what_is_installed(cli):
    code, out, _ = cli("list", "--json")
    assert code == 0
    found = json.loads(out)
    assert {"chance", "length"} <= set(found["judges"])
    assert {"anthropic", "gemini", "openai"} <= set(found["models"])
    assert "synthetic" in found["benchmarks"]


BAD = {
    "no such file": ((*GOOD, "score:1-5", "--labels", "gone.jsonl"), "gone.jsonl"),
    "unknown judge": ((*GOOD, "score:1-5", "--judge", "lenght"), "lenght"),
    "unknown ballot": ((*GOOD, "stars"), "stars"),
    "Unknown orders": ((*GOOD, "choice", "--orders", "random"), "random"),
    "no key": ((*GOOD, "score:1-5", "--judge", "openai:gpt-4o"), "OPENAI_API_KEY"),
    "unknown option of a model": ((*GOOD, "score:1-5", "--judge", "openai:gpt-4o?temprature=1"), "temprature"),
    "no such study": (("run", "gone.toml"), "gone.toml"),
    "report of nothing": (("report", "--ledger", "gone.ledger"), "gone.ledger"),
    "a budget without a price": (
        (
            *GOOD,
            "score:1-5",
            "--judge",
            "openai:no-such-model@https://models.example/v1?key_env=OPENAI_API_KEY",
            "--budget",
            "1",
        ),
        "price",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_mistake_is_one_sentence_and_exit_code_2(cli, data, monkeypatch, what):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if "budget" in what:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-key")
    words, found = BAD[what]
    before = sorted(path.name for path in data.iterdir())
    code, out, err = cli(*words)
    assert code == 2
    assert found in err
    assert err.startswith("fullbench: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert not out
    assert sorted(path.name for path in data.iterdir()) == before


FILES = {
    "bottomless TOML": ("study.toml", f"a = {'[' * 3000}{']' * 3000}", "study.toml: the study is nested too deeply"),
    "malformed TOML": ("study.toml", 'name = "x"\njudges = [', "study.toml:2: not valid TOML"),
    "unknown key": ("study.toml", 'name = "x"\njuges = ["length"]\n', "study.toml:2: unknown key 'juges'"),
    "wrong type": ("study.toml", 'name = "x"\ntrials = "six"\n', "study.toml:2: trials is a whole number"),
    "no name": ("study.toml", 'judges = ["length"]\n', "study.toml: the key 'name' is missing"),
    "nothing to ask": ("study.toml", 'name = "x"\njudges = ["length"]\n', "either a benchmark or a file of items"),
    "wrong ballot": ("study.toml", STUDY.replace("ranking", "stars"), "study.toml:6: unknown ballot 'stars'"),
    "no UTF-8": ("study.toml", b'name = "\xff"\n', "study.toml: the study is not UTF-8"),
}


@pytest.mark.parametrize("what", FILES)
def test_a_study_that_does_not_fit_is_said_with_its_line(cli, data, what):
    name, text, sentence = FILES[what]
    (data / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    code, _, err = cli("run", name)
    assert code == 2
    assert sentence in err
    assert not (data / "fullbench.ledger").exists()


ROWS = {
    "not JSON": ("items.jsonl", b'{"id": "a", "question": "q"}\n{"id": \n', "items.jsonl:2"),
    "not UTF-8": ("items.jsonl", b'{"id": "a", "question": "\xff\xfe"}\n', "items.jsonl:1"),
    "twice": ("items.jsonl", b'{"id": "a", "question": "q"}\n' * 2, "items.jsonl:2: the id 'a' occurs twice"),
    "no picture": ("items.jsonl", b'{"id": "a", "question": "q", "pictures": ["no.png"]}\n', "items.jsonl:1"),
    "no real picture": ("items.jsonl", b'{"id": "a", "question": "q", "pictures": ["items.jsonl"]}\n', "items.jsonl:1"),
    "no such item": ("answers.jsonl", b'{"item": "zz", "contestant": "c", "text": "t"}\n', "answers.jsonl:1"),
}


@pytest.mark.parametrize("what", ROWS)
def test_bad_rows_are_said_with_file_and_line_and_what_was_done_is_kept(cli, data, what):
    cli(*GOOD, "choice+tie", "--quiet")
    before = (data / "fullbench.ledger").read_bytes()
    name, text, sentence = ROWS[what]
    (data / name).write_bytes(text)
    code, out, err = cli(*GOOD, "choice+tie")
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert (data / "fullbench.ledger").read_bytes() == before


def test_help_shows_examples(cli):
    for command in ("demo", "judge", "answer", "run", "report", "list"):
        code, out, _ = cli(command, "--help")
        assert code == 0
        assert f"fullbench {command}" in out
