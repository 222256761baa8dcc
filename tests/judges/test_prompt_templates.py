from __future__ import annotations

import pytest

from fullbench import Picture
from fullbench.errors import InputError
from fullbench.judges.prompt_templates import Template
from tests.support.data_builders import png

SLOTS = {"question", "reference"}
TEXT = '=== system\nJudge {"well": 1}.\n=== user\n{question}\n{reference}\nEnd.\n--- reference\nRight is:\n{text}\n'


def test_values_are_never_scanned_again():
    turns = Template.parse(TEXT, SLOTS).fill({"question": ["{reference} {text}"], "reference": ["{question}"]})
    assert turns[0].text == 'Judge {"well": 1}.'
    assert turns[1].text == "{reference} {text}\nRight is:\n{question}\nEnd."


def test_an_empty_slot_takes_its_line_with_it():
    turns = Template.parse(TEXT, SLOTS).fill({"question": ["Q"]})
    assert turns[1].text == "Q\nEnd."


def test_pictures_stay_where_they_stand():
    picture = Picture.from_bytes(png())
    turns = Template.parse("=== user\nA {question} B", SLOTS).fill({"question": ["x", picture, "y"]})
    assert turns[0].parts == ("A x", picture, "y B")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("=== user\n{answer}", "p.txt:1: unknown slot {answer}; known: question, reference"),
        ("=== judge\nx", "p.txt:1: unknown role 'judge'"),
        ("=== system\nx", "p.txt: a template must end with a '=== user' turn"),
        ("", "p.txt: a template must end with a '=== user' turn"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(text: str, sentence: str):
    with pytest.raises(InputError) as caught:
        Template.parse(text, SLOTS, path="p.txt")
    assert str(caught.value).startswith(sentence)


def test_the_wording_is_the_identity():
    one, two = (Template.parse(f"=== user\n{text}", SLOTS).digest for text in ("a", "b"))
    assert one != two
