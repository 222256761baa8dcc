"""Nearly equal answers have the words marked in which they differ: alike on both sides, and nothing else changes."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from fullbench.web.rich_text import render_prose
from fullbench.web.text_diff import MOST_WORDS, NEAR, mark_differences
from tests.web.test_rich_text import HOSTILE, Tags

MARK = re.compile(r"</?mark\b[^>]*>")
MARKED = re.compile(r"<mark\b[^>]*>(.*?)</mark>", re.DOTALL)
TITLE = 'differs "here" <b>'
BITS = (
    *("the ", "dog ", "eats ", "three ", "四个 ", "方块在左边 ", "**bold** ", "*em", "`x < 1` ", "\n\n"),
    *("\n- ", "| a | b |\n|--|--|\n"),
    *(r"$\frac{1}{2}$ ", "&amp; ", "<mark>", "</mark> ", "[a](https://x.example/?a=1&b=%22) ", "1. ", "> ", *HOSTILE),
)  # fmt: skip


@st.composite
def near(draw):
    """A text of several parts of Markdown, and one that has a few of its bits changed, left out or put in."""
    bits = draw(st.lists(st.sampled_from(BITS) | st.text(max_size=6), min_size=1, max_size=24))
    other = list(bits)
    for place in draw(st.lists(st.integers(0, len(bits) - 1), max_size=4)):
        other[place] = draw(st.sampled_from(["", "another ", "圆 ", *BITS]))
    return "".join(bits), "".join(other)


def marked(one: str, two: str) -> tuple[str, str]:
    both = mark_differences([one], [two], TITLE)
    assert both is not None
    assert both.reason == ""
    (first,), (second,) = both.sides
    return str(first), str(second)


def words(html: str) -> list[str]:
    """The marked words; an empty one is a place where only the other side has words."""
    return MARKED.findall(html)


@settings(max_examples=60)
@given(near())
@example(("one two three four", "one two three"))
@example((r"so $\frac{1}{2}$ it is in all", r"so $\frac{1}{3}$ it is in all"))
def test_without_the_marks_it_is_the_same_text_and_outside_of_them_both_are_equal(pair):
    one, two = pair
    both = mark_differences([one], [two], TITLE)
    turned = mark_differences([two], [one], TITLE)
    assume(both is not None and turned is not None)
    assert (turned.sides, turned.reason) == (both.sides[::-1], both.reason)
    if both.reason:
        assert not both.sides
        assert [both.part(0, 0, one), both.part(1, 0, two)] == [render_prose(one), render_prose(two)]
        return
    rest = []
    for (html,), text in zip(both.sides, pair, strict=True):
        assert MARK.sub("", html) == render_prose(text)
        for inside in MARKED.findall(html):
            tags = {tag for tag, _ in Tags(inside).tags}
            assert not tags or "math" in tags  # a mark holds words alone, or one formula: it crosses no other tag
        rest.append(re.sub(r"<[^>]*>|\s", "", MARKED.sub("", html)))
    assert rest[0] == rest[1]


def test_words_are_marked_in_english_and_characters_in_chinese():
    assert [words(side) for side in marked("There are *three* dogs, I think.", "There are *four* dogs, I think.")] == [
        ["three"],
        ["four"],
    ]
    assert [words(side) for side in marked("图中有三个红色方块。", "图中有四个红色圆块。")] == [
        ["三", "方"],
        ["四", "圆"],
    ]
    first, second = marked("It is a very large red dog.", "It is a red dog.")
    assert (words(first), words(second)) == (["very large"], [""])
    assert second.startswith('<p>It is a <mark class="differs gap"')
    assert all(f"{name}=" not in MARK.search(first)[0] for name in ("style", "onclick"))
    assert 'title="differs &#34;here&#34; &lt;b&gt;"' in first


def test_parts_are_compared_as_one_answer_and_keep_their_places():
    both = mark_differences(["one two three", "four five six"], ["one two three four", "five seven"], "x")
    assert [MARK.sub("", part) for part in both.sides[0]] == [
        render_prose("one two three"),
        render_prose("four five six"),
    ]
    assert [[words(part) for part in side] for side in both.sides] == [[[], ["six"]], [[], ["seven"]]]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("There are three dogs.", "A red car on a road at night, seen from above."),
        ("图中有三个方块。", "我不知道这张照片是在哪里拍的"),
        ("", "words"),
        ("   ", " "),
    ],
)
def test_answers_of_their_own_are_left_alone(one, two):
    assert mark_differences([one], [two], "x") is None


def test_the_same_words_and_texts_too_long_are_said_and_not_marked():
    assert mark_differences(["the **same** words"], ["the same\nwords"], "x").reason == "same"
    long = " ".join(f"w{number}" for number in range(MOST_WORDS + 1))
    assert mark_differences([long], [f"{long} more"], "x").reason == "long"
    assert mark_differences(["x" * 100_001 + f" {long}"], [long], "x").reason == "long"
    assert mark_differences([long], [long.replace("w", "v")], "x") is None
    assert mark_differences(["a b " * 400], ["b a " * 400], "x").reason == "long"


@pytest.mark.slow
def test_no_text_within_the_bounds_keeps_a_page_waiting():
    """Texts made to be hard for difflib: few words that come again and again, in another order."""
    for size, kinds, step in ((990, 50, 7), (990, 60, 11), (440, 12, 5), (990, 990, 7)):
        one = " ".join(f"w{number % kinds}" for number in range(size))
        two = " ".join(f"w{number * step % kinds}" for number in range(size))
        started = time.process_time()
        mark_differences([one], [two], "x")
        assert time.process_time() - started < 3


def test_the_threshold_is_the_share_of_common_words():
    """Ten words each, k of them common: 2k / 20 against the threshold, by hand."""
    base = [f"w{number}" for number in range(10)]
    for changed in range(1, 10):
        other = [*(f"v{number}" for number in range(changed)), *base[changed:]]
        is_near = (10 - changed) / 10 >= NEAR
        assert (mark_differences([" ".join(base)], [" ".join(other)], "x") is not None) == is_near
