"""Questions: what is asked is what is understood, and the reference is the truth."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fullbench.synthetic.answer_quality_measure import measure_quality
from fullbench.synthetic.parsed_question_and_answer_types import Kind, Query
from fullbench.synthetic.question_wording_parsing_and_solving import (
    TASKS,
    parse_question,
    solve_query,
    word_answer,
    word_question,
)
from fullbench.synthetic.scenes import Bar, Scene, Thing
from fullbench.synthetic.vocabulary import COLOURS, SHAPES

SCENE = Scene(
    things=(
        Thing("circle", "red", 50, 50, 20),
        Thing("circle", "red", 150, 50, 10),
        Thing("circle", "blue", 250, 60, 10),
        Thing("star", "blue", 100, 150, 30),
    )
)
CHART = Scene(bars=(Bar("A", "red", 5), Bar("B", "blue", 17)))
colours, shapes = st.sampled_from(COLOURS), st.sampled_from(SHAPES)
whole = st.builds(Kind, colours, shapes)
some = whole | st.builds(Kind, colours, st.none()) | st.builds(Kind, st.none(), shapes)
languages = st.sampled_from(["en", "zh"])
queries = st.one_of(
    st.builds(lambda lang, kind: Query("count", lang, (kind,)), languages, some),
    st.builds(lambda lang, kind: Query("existence", lang, (kind,)), languages, whole),
    st.builds(lambda lang, shape: Query("colour", lang, (Kind(None, shape),)), languages, shapes),
    st.builds(lambda lang: Query("colour", lang, (), "largest"), languages),
    st.builds(
        lambda lang, one, two, way: Query("position", lang, (one, two), way),
        languages, whole, whole, st.sampled_from(["across", "down"]),
    ),
    st.builds(lambda lang, one, two: Query("comparison", lang, (one, two)), languages, some, some),
    st.builds(lambda lang, label: Query("chart", lang, (), label), languages, st.sampled_from(["", *"ABCDE"])),
    st.builds(lambda lang: Query("description", lang), languages),
)  # fmt: skip


@given(queries)
def test_what_is_asked_is_understood(query):
    assert parse_question(word_question(query)) == query


def test_other_questions_are_not_understood():
    assert parse_question("Who painted this?") is None
    assert parse_question("今天天气如何？") is None


@pytest.mark.parametrize(
    ("query", "scene", "answer"),
    [
        (Query("count", "en", (Kind("red"),)), SCENE, 2),
        (Query("count", "en", (Kind(None, "circle"),)), SCENE, 3),
        (Query("count", "en", (Kind("green", "star"),)), SCENE, 0),
        (Query("existence", "en", (Kind("red", "star"),)), SCENE, "no"),
        (Query("existence", "en", (Kind("blue", "star"),)), SCENE, "yes"),
        (Query("comparison", "en", (Kind(None, "star"), Kind(None, "circle"))), SCENE, "fewer"),
        (Query("comparison", "en", (Kind("red"), Kind("blue"))), SCENE, "equal"),
        (Query("colour", "en", (Kind(None, "star"),)), SCENE, "blue"),
        (Query("colour", "en", (), "largest"), SCENE, "blue"),
        (Query("position", "en", (Kind("blue", "star"), Kind("blue", "circle")), "across"), SCENE, "left"),
        (Query("position", "en", (Kind("blue", "star"), Kind("blue", "circle")), "down"), SCENE, "below"),
        (Query("position", "en", (Kind("green", "star"), Kind("blue", "circle")), "down"), SCENE, None),
        (Query("chart", "en", (), "A"), CHART, 5),
        (Query("chart", "en", (), ""), CHART, "B"),
        (Query("chart", "en", (), "C"), CHART, None),
        (Query("description", "en"), SCENE, ((1, "blue", "circle"), (1, "blue", "star"), (2, "red", "circle"))),
    ],
    ids=str,
)
def test_answers_worked_out_by_hand(query, scene, answer):
    assert solve_query(query, scene) == answer


@given(queries)
def test_a_right_answer_in_words_is_fully_right_in_both_languages(query):
    scene = CHART if query.task == "chart" else SCENE
    answer = solve_query(query, scene)
    if answer is not None:
        assert measure_quality(query, scene, word_answer(query, answer)) == 1.0


def test_the_sample_is_varied_and_its_references_are_true(known):
    assert len({one.item.id for one in known}) == len(known) == 200
    assert all(measure_quality(one.query, one.scene, one.item.reference) == 1.0 for one in known)
    assert all(parse_question(one.item.question) == one.query for one in known)
    tasks = Counter(one.item.tags["task"] for one in known)
    assert set(tasks) == set(TASKS)
    assert max(tasks.values()) - min(tasks.values()) <= 1
    languages = Counter(one.item.tags["language"] for one in known)
    assert abs(languages["en"] - languages["zh"]) <= len(TASKS)
    assert len({one.item.reference for one in known if one.query.task == "existence"}) > 10
