"""`fullbench show` finds cases by item, by disagreement and by unusable verdicts, and renders prompts by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import call
from tests.support.fake_chat_server import FakeServer

ITEMS = [{"id": f"q{n}", "question": f"What is {n} + {n}?"} for n in range(3)]
RESPONSES = [
    {"item": item["id"], "contestant": who, "text": f"{who} of {item['id']}"} for item in ITEMS for who in "ab"
]
LABELS = "item,contestant,score,rater\nq0,a,1,ann\nq1,a,5,ann\nq1,b,5,ann\nq2,b,4,ann\n"


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cases")
    write_rows(place / "items.jsonl", ITEMS)
    write_rows(place / "responses.jsonl", RESPONSES)
    (place / "labels.csv").write_text(LABELS, encoding="utf-8")
    with FakeServer(says="Fine. [[4]]") as good, FakeServer(says="Hard to say.") as bad:
        inputs = ("--items", place / "items.jsonl", "--responses", place / "responses.jsonl")
        judges = ("--judge", f"vllm:good@{good.url}", "--judge", f"vllm:bad@{bad.url}?resample=0", "--judge", "length")
        labels = ("--labels", place / "labels.csv", "--ledger", place / "l.ledger", "--quiet")
        code, result = call("judge", *inputs, *judges, *labels, "--ballot", "score:1-5")
        assert code == 1, result.output
    return place


def show(folder: Path, *words: str) -> tuple[int, str]:
    code, result = call("show", *words, "--ledger", folder / "l.ledger")
    return code, result.output


def test_an_item_is_shown_with_all_verdicts_next_to_people(folder: Path):
    code, output = show(folder, "q1")
    assert code == 0, output
    assert output.count("What is 1 + 1?") == 1
    assert output.count("a of q1") == 1
    part = output[output.index("a · score:1-5") : output.index("b · score:1-5")]
    assert "human, rater ann: 5" in part
    assert ": unreadable" in part
    assert "length: " in part
    code, output = show(folder, "q1", "--judge", "length", "--json")
    assert {verdict["judge"] for case in json.loads(output) for verdict in case["verdicts"]} == {"length"}


def test_disagreement_is_ranked_and_leaves_baselines_out(folder: Path):
    code, output = show(folder, "--disagree", "2", "--json")
    assert code == 0, output
    first, second = json.loads(output)
    assert first["item"]["id"] == "q0"  # a person gave 1, the judge 4; no other pair differs that much
    assert first["disagreement"] == pytest.approx(3 / 4)
    assert second["item"]["id"] == "q1"
    assert second["disagreement"] == pytest.approx(1 / 4)
    code, output = show(folder, "--disagree", "1")
    assert "1 of 3 cases with disagreement" in output
    assert "question: What is 0 + 0?" in output
    key = output.rsplit("fullbench show ", 1)[1].split()[0]
    assert show(folder, key)[0] == 0, "the printed command works"


def test_unusable_verdicts_come_with_the_prompt_and_the_reply(folder: Path):
    code, output = show(folder, "--judge", "bad", "--unusable", "2")
    assert code == 0, output
    assert "2 of 6 unusable verdicts (6 unreadable)" in output
    assert output.count("what was sent:") >= 2
    assert "What is 0 + 0?" in output
    assert "Hard to say." in output
    code, output = show(folder, "--judge", "length", "--unusable", "2")
    assert code == 2
    assert "no unusable verdict of length" in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("q_1",), "did you mean item 'q1'?"),
        ((), "Name what to show"),
        (("q1", "--disagree", "2"), "Name what to show"),
        (("q1", "--judge", "nobody"), "there is no judge 'nobody'. "),
    ],
)
def test_what_is_not_there_is_refused_in_one_sentence(folder: Path, words: tuple[str, ...], message: str):
    code, output = show(folder, *words)
    assert code == 2
    assert message in output
