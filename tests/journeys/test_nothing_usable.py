"""Runs in which nothing usable comes out end with exit code 1 or 2 and say why, whatever the number of cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fullbench import Ledger
from tests.support.commands import call
from tests.support.fake_chat_server import FakeServer

ITEMS = [{"id": f"q{n}", "question": f"What is {n} + {n}?"} for n in range(4)]
RESPONSES = [
    {"item": item["id"], "contestant": who, "text": f"{who} says {number}"}
    for number, item in enumerate(ITEMS)
    for who in ("ada", "bob")
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "items.jsonl", ITEMS)
    write_rows(tmp_path / "responses.jsonl", RESPONSES)
    return tmp_path


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def judge(*options: str) -> tuple[int, str]:
    inputs = ("--items", "items.jsonl", "--responses", "responses.jsonl", "--quiet")
    code, result = call("judge", *inputs, *options)
    return code, result.output


@pytest.mark.usefixtures("folder")
def test_a_judge_without_a_usable_verdict_ends_with_1_also_when_nothing_is_left_to_ask():
    with FakeServer(says="I would rather not say.") as server:
        options = ("--ballot", "score:1-5", "--judge", f"vllm:m@{server.url}?resample=0", "--judge", "length")
        for _ in range(2):  # the second time, all verdicts are stored
            code, output = judge(*options)
            assert code == 1, output
            assert "has no usable verdict, so this ends with exit code 1." in output
            assert output.count("has no usable verdict") == 1


@pytest.mark.usefixtures("folder")
def test_a_score_model_that_abstains_from_everything_ends_with_1():
    code, output = judge("--ballot", "real:0-10", "--judge", "picture:sharpness")
    assert code == 1, output
    assert "8 abstained" in output
    assert "sharpness has no usable verdict" in output


def test_labels_of_which_none_fits_are_refused_with_the_nearest_name(folder: Path):
    for item, contestant, what in (("q_1", "ada", "'q1'"), ("q1", "adah", "'ada'")):
        write_rows(folder / "labels.jsonl", [{"item": item, "contestants": [contestant], "marks": [4]}])
        code, output = judge("--ballot", "score:1-5", "--judge", "length", "--labels", "labels.jsonl")
        assert code == 2, output
        assert "the only label is on" in output
        assert f"did you mean {what}" in output
    assert not (folder / "fullbench.ledger").exists()


def test_blanks_around_ids_and_a_decimal_comma_are_understood(folder: Path):
    rows = "item;contestants;marks;ballot\n q1;ada ;4,5;real:1-5\nq2 ; bob;2;real:1-5\n"
    (folder / "labels.csv").write_text(rows, encoding="utf-8")
    code, output = judge("--ballot", "real:1-5", "--judge", "length", "--labels", "labels.csv", "--json")
    assert code == 0, output
    with Ledger("fullbench.ledger", read_only=True) as ledger:
        labels = {(v.item, v.contestants[0]): v.marks for v in ledger.record().verdicts if v.judge == "human"}
    assert labels == {("q1", "ada"): (4.5,), ("q2", "bob"): (2.0,)}


def test_marks_that_do_not_fit_name_a_ballot_to_add(folder: Path):
    write_rows(folder / "labels.jsonl", [{"item": "q1", "contestants": ["ada"], "marks": [4]}])
    code, output = judge("--ballot", "choice+tie", "--judge", "length", "--labels", "labels.jsonl")
    assert code == 2, output
    assert "the marks [4.0] are not legal on the ballot choice+tie" in output
    assert "add a column 'ballot' with a scale such as score:1-5" in output


def test_rows_a_line_in_a_json_file_are_read(folder: Path):
    (folder / "items.jsonl").rename(folder / "items.json")
    inputs = ("--items", "items.json", "--responses", "responses.jsonl")
    code, result = call("judge", *inputs, "--ballot", "choice", "--judge", "length")
    assert code == 0, result.output


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("options", ["", "&concurrency=64"])
def test_a_judge_that_is_given_up_is_called_for_20_cases(tmp_path: Path, options: str):
    """Also if far more calls could be in flight: until the first usable verdict, no more than its tries are."""
    items = [{"id": f"n{n}", "question": f"What is {n}?"} for n in range(200)]
    write_rows(tmp_path / "items.jsonl", items)
    write_rows(tmp_path / "responses.jsonl", [{"item": i["id"], "contestant": "ada", "text": "4"} for i in items])
    with FakeServer(says="I would rather not say.") as server:
        spec = f"vllm:m@{server.url}?resample=0{options}"
        code, output = judge("--ballot", "score:1-5", "--judge", spec)
        assert code == 1, output
        assert "Stopped: no usable verdict in the first 20 replies; the last: 'I would rather not say.'" in output
        assert sum(server.books()["arrived"].values()) == 20
    with Ledger("fullbench.ledger", read_only=True) as ledger:
        assert len(list(ledger.record().verdicts)) == 20, "replies that are paid for are stored"


@pytest.mark.usefixtures("folder")
def test_one_usable_verdict_ends_the_limit_on_calls_in_flight(tmp_path: Path):
    items = [{"id": f"n{n}", "question": f"What is {n}?"} for n in range(100)]
    write_rows(tmp_path / "items.jsonl", items)
    write_rows(tmp_path / "responses.jsonl", [{"item": i["id"], "contestant": "ada", "text": "4"} for i in items])
    with FakeServer(says="[[4]]", latency=0.3) as server:
        code, output = judge("--ballot", "score:1-5", "--judge", f"vllm:m@{server.url}?concurrency=64")
        assert code == 0, output
        assert server.books()["most"] > 40


@pytest.mark.usefixtures("folder")
def test_a_judge_that_was_called_for_every_case_was_not_stopped(tmp_path: Path):
    items = [{"id": f"n{n}", "question": f"What is {n}?"} for n in range(20)]
    write_rows(tmp_path / "items.jsonl", items)
    write_rows(tmp_path / "responses.jsonl", [{"item": i["id"], "contestant": "ada", "text": "4"} for i in items])
    with FakeServer(says="I would rather not say.") as server:
        spec = f"vllm:m@{server.url}?resample=0"
        code, output = judge("--ballot", "score:1-5", "--judge", spec)
    assert code == 1, output
    assert "20 of 20 replies could not be read. Last reply: 'I would rather not say.'" in output
    assert "Stopped" not in output
    assert "has no usable verdict, so this ends with exit code 1." in output


@pytest.mark.usefixtures("folder")
def test_a_judge_that_abstains_from_a_whole_run_ends_with_1_although_it_judged_others_before():
    assert judge("--ballot", "score:1-5", "--judge", "length")[0] == 0
    for _ in range(2):
        code, output = judge("--ballot", "number", "--judge", "length")
        assert code == 1, output
        assert "length has no usable verdict" in output
    assert judge("--ballot", "score:1-5", "--judge", "length")[0] == 0
