"""Whatever stands in a line, it becomes a row or one sentence with file and line: nothing crashes."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullbench.benchmarks.mllm_judge.release import released_line_parsers
from fullbench.benchmarks.mllm_judge.release.release_row import Row, Task
from fullbench.benchmarks.mllm_judge.release.released_line_parsers import Line, Oddities, VerdictReader
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
LINES: list[tuple[Task, VerdictReader, dict[str, Any]]] = [
    ("score", released_line_parsers.read_people_label, {**SCORED, "Human_answer": 3}),
    ("score", released_line_parsers.read_judge_verdict, {**SCORED, "result": RESULT}),
    (
        "score",
        released_line_parsers.read_judge_verdict,
        {**SCORED, "result": {"name": "CogVLM", "jduge": 4, "oral": "4"}},
    ),
    (
        "score",
        released_line_parsers.read_reviewed_verdict,
        {**SCORED, "Human_answer": 3, "result": RESULT, "evaluator": {**REVIEW, "judge_Evaluator": 4}},
    ),
    ("pair", released_line_parsers.read_people_label, {**PAIRED, "human": "c"}),
    (
        "pair",
        released_line_parsers.read_two_judges,
        {**PAIRED, "result1": {**RESULT, "judge": "A"}, "result2": {**RESULT, "judge": "B"}},
    ),
    ("batch", released_line_parsers.read_people_label, {**BATCHED, "human_answer": "CABD"}),
    ("batch", released_line_parsers.read_reviewed_ranking, {**BATCHED, "human_answer": "CABD", "evaluator": EVALUATED}),
    (
        "batch",
        released_line_parsers.read_two_judges,
        {**COMMON, **FOUR, "result2": {"name": "gpt4", "analysis": "[[B], [A], [C], [D]]"}},
    ),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def read(task: Task, rulings: VerdictReader, values: dict[str, Any]) -> Row:
    return released_line_parsers.parse_row(Line("file", "file.jsonl.gz", 12, values, Oddities()), task, rulings)


@pytest.mark.parametrize(("task", "rulings", "values"), LINES)
def test_a_released_line_is_read(task: Task, rulings: VerdictReader, values: dict[str, Any]):
    found = read(task, rulings, values)
    assert found.item_id == f"{task}-7"
    assert found.verdicts
    assert all(given.verdict_text for given in found.verdicts)


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


def tried(task: Task, rulings: VerdictReader, values: dict[str, Any]) -> Row | str:
    try:
        return read(task, rulings, values)
    except InputError as error:
        return str(error)


def test_a_file_of_another_task_is_told_apart():
    with pytest.raises(InputError, match="laid out for the task 'pair'"):
        read("score", released_line_parsers.read_people_label, {**PAIRED, "human": "A"})


def test_a_model_beside_itself_gets_a_name_of_its_own():
    found = read("pair", released_line_parsers.read_people_label, {**PAIRED, "answer2": ANSWER[0], "human_answer": "B"})
    assert found.contestants == ("llava", "llava#2")


def test_a_nested_answer_is_read():
    found = read(
        "score", released_line_parsers.read_people_label, {**COMMON, "score_id": 3, "answer": ANSWER[2], "human": "5"}
    )
    assert (found.contestants, found.verdicts[0].verdict_text) == (("gpt4",), "5")
