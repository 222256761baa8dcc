"""Questions in the forms that benchmarks come in, as items with pictures, options and keys."""

from __future__ import annotations

import base64
import json

import pytest

from fullbench.errors import InputError
from fullbench.files.external_benchmark_questions import read_questions
from fullbench.judges.peer_review.multiple_choice_answers import option_in
from tests.support.data_builders import png


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "images" / "7").mkdir(parents=True)
    for path in ("images/a.png", "images/7/image.png", "b.png"):
        (tmp_path / path).write_bytes(png())
    return tmp_path


def write(folder, name, value):
    lines = name.endswith(".jsonl")
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in value) if lines else json.dumps(value)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_like_mmstar_with_options_in_the_question_and_a_picture_in_the_row(folder):
    row = {"index": 3, "question": "图中是什么？\nOptions: A: 猫, B: dog, C: cow", "answer": "b", "category": "coarse",
           "image": base64.b64encode(png()).decode()}  # fmt: skip
    (item,), left_out = read_questions(write(folder, "mmstar.jsonl", [row]))
    assert (item.id, item.reference, left_out) == ("3", "b", [])
    assert item.tags == {"category": "coarse", "options": "3", "key": "B"}
    assert item.pictures[0].data() == png()


def test_like_scienceqa_by_id_with_choices_and_questions_without_pictures(folder):
    rows = {
        "7": {"question": "Which one?", "choices": ["red", "blue"], "answer": 1, "hint": "Look.", "image": "image.png"},
        "8": {"question": "No picture?", "choices": ["yes", "no"], "answer": 0, "image": None},
    }
    (item,), left_out = read_questions(write(folder, "problems.json", rows))
    assert item.question == "Look.\nWhich one?\nA: red\nB: blue"
    assert (item.reference, item.tags["key"], item.tags["options"]) == ("B: blue", "B", "2")
    assert left_out == ["the question '8' has no picture"]


def test_like_mm_vet_with_words_for_an_answer(folder):
    rows = {
        "v1_0": {"imagename": "a.png", "question": "What is x?", "answer": "-1<AND>-5", "capability": ["ocr", "math"]}
    }
    (item,), _ = read_questions(write(folder, "mm-vet.json", rows))
    assert (item.id, item.reference, item.tags) == ("v1_0", "-1<AND>-5", {})


def test_our_own_items_stay_as_they_are(folder):
    rows = [
        {"id": "q", "question": "?", "image": "b.png", "reference": "r", "answer": "tag"},
        {"id": "p", "question": "?"},
    ]
    (item,), left_out = read_questions(write(folder, "items.jsonl", rows))
    assert (item.id, item.reference, item.tags) == ("q", "r", {"answer": "tag"})
    assert left_out == ["the question 'p' has no picture"]


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            {"index": 1, "question": "?", "choices": ["a", "b"], "answer": 5, "image": "b.png"},
            "the answer 5 is not one of the 2",
        ),
        (
            {"index": 1, "question": "?", "choices": ["a"], "answer": "Z", "image": "b.png"},
            "the answer 'Z' is not one of the 1",
        ),
        ({"index": 1, "question": "?", "answer": "x", "image": "gone.png"}, "gone.png"),
        ({"index": 1, "question": "?", "answer": "x", "image": "iVBORw0KGgo$$"}, "is not valid base64"),
    ],
)
def test_what_does_not_fit_is_one_sentence(folder, row, sentence):
    with pytest.raises(InputError, match=sentence):
        read_questions(write(folder, "bad.jsonl", [row]))


def test_an_id_that_occurs_twice(folder):
    row = {"index": 1, "question": "?", "answer": "x", "image": "b.png"}
    with pytest.raises(InputError, match="the id '1' occurs twice"):
        read_questions(write(folder, "twice.jsonl", [row, row]))


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("First (A) looks right, but it is [[C]].", "C"),
        ("[[A]] no, [[ b ]]", "B"),
        ("The answer is: D", "D"),
        ("The correct option is (B).", "B"),
        ("答案是C。", "C"),
        ("It must be\nB", "B"),
        ("[[E]]", None),
        ("A cat sits there.", None),
        ("The answer is a cat.", None),
        ("I am sure of it, said I", None),
    ],
)
def test_the_option_that_an_answer_settles_on(text, letter):
    assert option_in(text, 4) == letter
