"""Mistakes of newcomers end with exit code 2 and a sentence that names the remedy; nothing is written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fullbench.core.ballot import ballot
from fullbench.core.case import Case
from fullbench.core.item import Item
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict
from fullbench.ledger.ledger import Ledger
from tests.support.commands import call

ITEMS = [{"id": f"q{n}", "question": f"What is {n}?"} for n in range(3)]
RESPONSES = [{"item": row["id"], "contestant": who, "text": who * 2} for row in ITEMS for who in ("ada", "bob")]
JUDGE = ("judge", "--judge", "length", "--quiet")
FILES = ("--items", "items.jsonl", "--responses", "responses.jsonl")


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_text(lines(ITEMS), encoding="utf-8")
    Path("responses.jsonl").write_text(lines(RESPONSES), encoding="utf-8")
    return tmp_path


def refusal(*words: object) -> str:
    code, result = call(*words)
    assert code == 2, result.output
    assert not Path("fullbench.ledger").exists()
    return str(result.output)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("twice.jsonl", lines([RESPONSES[0], RESPONSES[0]]), "twice; line 1 is the same row: leave one out"),
        ("two.jsonl", lines([RESPONSES[0], {**RESPONSES[0], "text": "x"}]), "number them in a column 'sample'"),
        ("comma.jsonl", '{"item": "q0",}\n', "leave out the comma in front of the closing bracket"),
        ("single.json", "[{'item': 'q0'}]", "JSON has double quotes: write it with json.dumps"),
    ],
)
def test_wrong_rows_name_the_remedy(name: str, content: str, message: str):
    Path(name).write_text(content, encoding="utf-8")
    assert message in refusal(*JUDGE, "--ballot", "choice", "--items", "items.jsonl", "--responses", name)


@pytest.mark.parametrize(
    ("spec", "meant"),
    [
        ("score", "score:1-5"),
        ("1-5", "score:1-5"),
        ("score:1:5", "score:1-5"),
        ("pair", "choice+tie"),
        ("RANKING", "ranking"),
    ],
)
def test_other_words_for_a_ballot_are_understood_as_a_question(spec: str, meant: str):
    assert f"did you mean {meant!r}?" in refusal(*JUDGE, *FILES, "--ballot", spec)


def test_a_single_row_in_a_json_file_is_read():
    Path("one.json").write_text(lines(ITEMS[:1]), encoding="utf-8")
    Path("two.jsonl").write_text(lines(RESPONSES[:2]), encoding="utf-8")
    code, result = call(*JUDGE, "--items", "one.json", "--responses", "two.jsonl", "--ballot", "choice")
    assert code == 0, result.output


def test_missing_files_name_what_is_there():
    assert "did you mean items.jsonl?" in refusal(
        *JUDGE, "--items", "item.jsonl", "--responses", "responses.jsonl", "--ballot", "choice"
    )
    assert "`fullbench init` writes one" in refusal("run", "s")
    Path("s.toml").write_text('name = "s"', encoding="utf-8")
    assert "did you mean s.toml?" in refusal("run", "s")
    assert "did you mean s.toml?" in refusal("check", "s")
    assert "this folder has s.toml" in refusal("run", "t.toml")


def test_imports_say_what_they_read():
    assert "write them as one array" in refusal("import", "alpaca", "items.jsonl", "--out", "o")
    assert "a: No such file or folder." in refusal("import", "alpaca", "a", "b", "--out", "o")


def test_score_models_without_their_packages_are_refused_before_a_server_or_plan(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    message = "the judge clip:x needs an optional part: pip install '.[local]'"
    assert message in refusal("serve-scores", "clip:x", "--port", "0")
    assert message in refusal("judge", *FILES, "--judge", "clip:x", "--ballot", "number", "--dry-run")


def test_a_lake_without_its_packages_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "writing a lake needs an optional part: pip install '.[parquet]'" in refusal(
        "lake", "write", "x.ledger", "--out", "lake"
    )


@pytest.fixture
def judged() -> str:
    """A ledger with a judge, a baseline and people on the same pairs; the judge is right on nine of ten."""
    with Ledger("judged.ledger") as ledger:
        for n in range(10):
            item = Item.ask(f"q{n}", f"What is {n}?")
            pair = (Response(item.id, "ada", ("a",)), Response(item.id, "bob", ("b",)))
            case = Case(item, pair, ballot("choice+tie"))
            marks = {"gpt": [1, 0] if n else [0, 1], "length": [0, 1], "human": [1, 0]}
            ledger.add(case, *(Verdict.from_case(case, judge, values) for judge, values in marks.items()))
    return "judged.ledger"


def test_a_gate_is_written_from_a_ledger_and_passes(judged: str):
    code, result = call("gate", "--init", "--ledger", judged)
    assert code == 0, result.output
    text = Path("gate.toml").read_text(encoding="utf-8")
    assert "at_least = 0.85" in text
    assert '"length"' not in text
    code, result = call("gate")
    assert code == 0, result.output
    assert "0 of 1 threshold failed" in result.output
    assert "this file exists already" in refusal("gate", "--init", "--ledger", judged)


def test_a_regression_takes_a_unique_prefix_and_leaves_baselines_out(judged: str):
    gate = f'ledger = "{judged}"\n[[regression]]\nbase = "{judged}"\ncontestant = '
    Path("gate.toml").write_text(gate + '"ad"\n', encoding="utf-8")
    code, result = call("gate")
    assert code == 0, result.output
    assert "ada: rating by gpt" in result.output
    assert "length" not in result.output
    Path("gate.toml").write_text(gate + '"adda"\n', encoding="utf-8")
    assert "there is no contestant 'adda'. Did you mean 'ada'? Contestants: ada, bob." in refusal("gate")


def test_power_takes_its_ratings_from_a_judge_and_not_from_a_baseline(judged: str):
    code, result = call("power", "--ledger", judged)
    assert code == 0, result.output
    assert "gpt" in result.output
    assert "length" not in result.output
