"""Whatever stands in a line, it becomes a row or one sentence with file and line: nothing crashes."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullbench.benchmarks.mllm_judge.release import file_layouts
from fullbench.benchmarks.mllm_judge.release.file_layouts import Line, Rulings
from fullbench.benchmarks.mllm_judge.release.oddities import Oddities
from fullbench.benchmarks.mllm_judge.release.release_row import Row, Task
from fullbench.errors import InputError

COMMON = {"id": 7, "image_path": "image/7.jpg", "original_dataset": "coco", "instruction": "What is it?"}
ANSWER = [{"name": name, "answer": f"A {name}."} for name in ("llava", "cogvlm", "gpt4", "gemini")]
REVIEW = {"judge_human": 1, "analysis": 5, "hallucination": 0}
SCORED = {**COMMON, "score_id": 3, **ANSWER[0]}
PAIRED = {**COMMON, "pair_id": 9, "answer1": ANSWER[0], "answer2": ANSWER[1]}
BATCHED = {**COMMON, "answers": ANSWER}
RESULT = {"name": "gpt4", "judge": "4", "analysis": "Judgement: [[4]]"}
EVALUATED = {**REVIEW, "name": "gemini", "judge_evaluator": "CABD", "judge": "[[C]]"}
FOUR = {f"answer{place}": answer for place, answer in enumerate(ANSWER)}
LINES: list[tuple[Task, Rulings, dict[str, Any]]] = [
    ("score", file_layouts.people, {**SCORED, "Human_answer": 3}),
    ("score", file_layouts.judge, {**SCORED, "result": RESULT}),
    ("score", file_layouts.judge, {**SCORED, "result": {"name": "CogVLM", "jduge": 4, "oral": "4"}}),
    (
        "score",
        file_layouts.judged_and_labelled,
        {**SCORED, "Human_answer": 3, "result": RESULT, "evaluator": {**REVIEW, "judge_Evaluator": 4}},
    ),
    ("pair", file_layouts.people, {**PAIRED, "human": "c"}),
    (
        "pair",
        file_layouts.two_judges,
        {**PAIRED, "result1": {**RESULT, "judge": "A"}, "result2": {**RESULT, "judge": "B"}},
    ),
    ("batch", file_layouts.people, {**BATCHED, "human_answer": "CABD"}),
    ("batch", file_layouts.ranked_and_labelled, {**BATCHED, "human_answer": "CABD", "evaluator": EVALUATED}),
    (
        "batch",
        file_layouts.two_judges,
        {**COMMON, **FOUR, "result2": {"name": "gpt4", "analysis": "[[B], [A], [C], [D]]"}},
    ),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def read(task: Task, rulings: Rulings, values: dict[str, Any]) -> Row:
    return file_layouts.row(Line("file", "file.jsonl.gz", 12, values, Oddities()), task, rulings)


@pytest.mark.parametrize(("task", "rulings", "values"), LINES)
def test_a_released_line_is_read(task: Task, rulings: Rulings, values: dict[str, Any]):
    found = read(task, rulings, values)
    assert found.item_id == f"{task}-7"
    assert found.given
    assert all(given.ruling for given in found.given)


def places(value: Any, path: tuple[Any, ...] = ()):
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield (*path, key)
            yield from places(value[key], (*path, key))


@settings(max_examples=400)
@given(st.data())
def test_a_spoiled_line_is_read_or_refused_in_one_sentence(data: st.DataObject):
    task, rulings, values = data.draw(st.sampled_from(LINES))
    spoiled = copy.deepcopy(values)
    *way, last = data.draw(st.sampled_from(list(places(spoiled))))
    holder = spoiled
    for key in way:
        holder = holder[key]
    if isinstance(holder, dict) and data.draw(st.booleans()):
        del holder[last]
    else:
        holder[last] = data.draw(JSON)
    outcome = tried(task, rulings, spoiled)
    if isinstance(outcome, Row):
        assert len(outcome.contestants) == len(outcome.answers)
    else:
        assert outcome.startswith("file.jsonl.gz:12: ")
        assert "\n" not in outcome


def tried(task: Task, rulings: Rulings, values: dict[str, Any]) -> Row | str:
    try:
        return read(task, rulings, values)
    except InputError as error:
        return str(error)


def test_a_file_of_another_task_is_told_apart():
    with pytest.raises(InputError, match="laid out for the task 'pair'"):
        read("score", file_layouts.people, {**PAIRED, "human": "A"})


def test_a_model_beside_itself_gets_a_name_of_its_own():
    found = read("pair", file_layouts.people, {**PAIRED, "answer2": ANSWER[0], "human_answer": "B"})
    assert found.contestants == ("llava", "llava#2")


def test_a_nested_answer_is_read():
    found = read("score", file_layouts.people, {**COMMON, "score_id": 3, "answer": ANSWER[2], "human": "5"})
    assert (found.contestants, found.given[0].ruling) == (("gpt4",), "5")
