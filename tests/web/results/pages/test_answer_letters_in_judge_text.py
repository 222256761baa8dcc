"""Letters in judges' words: tagged with names where they can mean nothing else, and the words are never touched."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.web.results.pages.answer_letters_in_judge_text import Tag, tag_letters
from fullbench.web.rich_text import render_prose

TAGS = [Tag("gpt", "gpt-4", 0), Tag("llava", "llava-1.5", 1), Tag("<b>cog</b>", 'cog"vlm', 10)]
CHIP = re.compile(r'<span class="letter [^>]*>([A-Z])</span>')


def tagged(text: str, question: str = "", count: int = 2) -> str:
    """The text with a star behind every letter that is tagged."""
    return re.sub(r"<[^>]+>", "", CHIP.sub(r"\1*", str(tag_letters(text, TAGS[:count], question)))).strip()


@pytest.mark.parametrize(
    "expected",
    [
        "Response A* is right, and Response B*'s count is not.",
        "Assistants A* and B* are equal, Answer A* or B*?",
        "Overall, A* is better than B*.",
        "I think A* is slightly more helpful.",
        "[[A*]]",
        "A* wins over B*.",
        "I prefer B* over A*.",
        "Winner: B*",
        "Both A* and B* miss it.",
        "B* &gt; A*",
        "回答A*更好，回答 B* 遗漏了一个。",
        "A*比B*更准确，所以B*不如A*。",
        "助手A*和B*都对",
        "“Answer A*” &amp; (Response B*)",
    ],
)
def test_a_letter_that_stands_for_an_answer_is_tagged(expected):
    assert tagged(expected.replace("*", "").replace("&gt;", ">").replace("&amp;", "&")) == expected


@pytest.mark.parametrize(
    "text",
    [
        "A dog is better than a cat.",
        "Vitamin A is better known, hepatitis B is worse.",
        "Plan B wins. It is a B movie, better than B movies.",
        "In response I say: A car.",
        "Answer: A cat sits there. Answer: B",
        "Response C is not there; Model A1, Model A-2 and Response AB are none.",
        "`Response A` and [Response B](https://example.org)",
        "The formula $A > B$ holds, A = B too.",
        "维生素A更常见，比B型血少",
        "response a bit longer",
    ],
)
def test_a_letter_that_may_be_something_else_is_left_alone(text):
    assert "*" not in tagged(text)


def test_where_the_question_has_options_only_what_no_option_goes_by_is_tagged():
    question = "Which is it? A. a cat B. a dog"
    assert tagged("Answer A is right, A is better than B; Response B* says so. [[B*]]".replace("*", ""), question) == (
        "Answer A is right, A is better than B; Response B* says so. [[B*]]"
    )
    assert tagged("Ford's Model A is shown; Response A* knows.".replace("*", ""), "When was the Model A built?") == (
        "Ford's Model A is shown; Response A* knows."
    )


def test_a_ranking_is_tagged_where_it_names_everybody():
    assert tagged("B > C > A, but A > B.", count=3) == "B* &gt; C* &gt; A*, but A &gt; B."


def test_a_tag_says_the_shown_and_the_full_name_as_text():
    assert str(tag_letters("Response C", TAGS)) == (
        '<p>Response <span class="letter seat-2" data-name="&lt;b&gt;cog&lt;/b&gt;" title="cog&#34;vlm">C</span></p>\n'
    )


PIECES = [
    *(
        "Response ",
        "A",
        "B",
        " is better than ",
        "**",
        "`",
        "<b>",
        "&amp;",
        "\n\n",
        "| A | B |\n|-|-|\n",
        "回答",
        "$A$",
        " ",
    ),
    *("*", "[[", "]]", ">"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_without_the_tags_it_is_the_same_text(text):
    assert CHIP.sub(r"\1", str(tag_letters(text, TAGS))) == str(render_prose(text))
