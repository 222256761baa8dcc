"""Folders in our own layout, as benchmarks bring them: every answer of a contestant, every person's vote."""

import json

import pytest

from fullbench.errors import InputError
from fullbench.files.item_response_verdict_folder import own_items, own_record
from fullbench.plugin_specs import load_benchmark


def written(folder, name, rows):
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    """Two items, two contestants with two answers each, three people and a judge."""
    written(tmp_path, "items.jsonl", [{"id": name, "question": f"{name}是什么？"} for name in ("猫", "dog")])
    answers = [
        {"item": item, "contestant": who, "text": f"{who} {sample}", "sample": sample}
        for item in ("猫", "dog")
        for who in ("a", "b")
        for sample in (0, 1)
    ]
    written(tmp_path, "responses.jsonl", answers)
    vote = {"item": "猫", "contestants": ["a", "b"], "ballot": "choice"}
    written(tmp_path, "labels.jsonl", [{**vote, "marks": marks} for marks in ([1, 0], [1, 0], [0, 1])])
    written(tmp_path, "verdicts.jsonl", [{**vote, "marks": [0, 1], "judge": "j"}])
    return tmp_path


def test_a_folder_brings_every_answer_and_every_vote(folder):
    record = own_record(folder)
    assert [item.id for item in own_items(folder)] == list(record.items) == ["猫", "dog"]
    assert sorted(answer.text for answer in record.responses.values()) == sorted(
        f"{who} {sample}" for who in "ab" for sample in (0, 1) for _item in (0, 1)
    )
    assert record.responses["猫", "b", 1].text == "b 1"
    assert record.responses["猫", "b"].text == "b 0"
    assert [(verdict.judge, verdict.marks) for verdict in record] == [
        ("human", (1, 0)), ("human", (1, 0)), ("human", (0, 1)), ("j", (0, 1)),
    ]  # fmt: skip
    assert len({verdict.rater for verdict in record.where(judge="human")}) == 3


@pytest.mark.parametrize("name", ["alignmmbench", "mjbench", "mllm-as-a-judge", "visitbench"])
def test_a_benchmark_drops_no_second_answer_of_a_folder(folder, name):
    brought = load_benchmark(name).record(folder)
    assert len([answer for answer in brought.responses.values() if answer.contestant != "reference"]) == 8


def test_a_folder_without_answers_is_refused_where_they_are_needed(folder):
    (folder / "responses.jsonl").unlink()
    with pytest.raises(InputError, match=r"responses\.jsonl"):
        own_record(folder)
    assert len(own_record(folder, needs_responses=False).responses) == 0
