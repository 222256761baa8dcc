"""The wide synthetic benchmark: letters, picture pairs, sums and dialogues in both languages."""

from __future__ import annotations

from collections import Counter
from statistics import fmean

import pytest

from fullbench.benchmarks.synthetic.benchmark_definitions import synthetic_benchmark, wide_synthetic_benchmark
from fullbench.core.model import Prompt
from fullbench.synthetic.answer_quality_measure import measure_quality
from fullbench.synthetic.item_generator import build_items
from fullbench.synthetic.letter_picture_pair_and_sum_questions import LOOK_AGAIN, TASKS
from fullbench.synthetic.parsed_question_and_answer_types import Kind, Query
from fullbench.synthetic.question_wording_parsing_and_solving import (
    parse_question,
    solve_query,
    word_answer,
    word_question,
)
from fullbench.synthetic.scenes import Scene, Thing
from fullbench.testing import check_benchmark

SIZE = 132
NEW = (*TASKS, "dialogue")


@pytest.fixture(scope="module")
def wide():
    return build_items(7, SIZE, wide=True)


@pytest.fixture(scope="module")
def marks(wide):
    """The mean quality of each contestant in each task."""
    found = {}
    for model in wide_synthetic_benchmark.contestants():
        replies = model.answer(Prompt(known.item.turns, tag=known) for known in wide)
        given = [(reply.prompt.tag, reply.text) for reply in replies]
        for task in {known.item.tags["task"] for known in wide}:
            mine = [measure_quality(k.query, k.scene, text) for k, text in given if k.item.tags["task"] == task]
            found[model.label, task] = fmean(mine)
    return found


def test_it_is_a_benchmark_like_any_other(tmp_path):
    check_benchmark(wide_synthetic_benchmark, tmp_path)
    assert synthetic_benchmark.items()[0].key == build_items(7, 1)[0].item.key
    assert not {item.id for item in wide_synthetic_benchmark.items()} & {
        item.id for item in synthetic_benchmark.items()
    }


def test_every_task_comes_in_both_languages(wide):
    met = Counter((known.item.tags["task"], known.item.tags["language"]) for known in wide)
    assert len(met) == 2 * 11
    assert min(met.values()) >= 5


@pytest.mark.parametrize("place", range(SIZE))
def test_a_question_is_understood_and_its_reference_is_right(wide, place):
    known = wide[place]
    assert parse_question(word_question(known.query)) == known.query
    assert measure_quality(known.query, known.scene, known.item.reference) == 1
    assert len(known.item.pictures) == (2 if known.item.tags["task"] == "difference" else 1)


def test_keen_eyes_read_letters_and_see_what_changed(marks):
    assert all(marks["keen", task] > 0.9 for task in NEW)
    assert marks["blurred", "text"] < 0.5 < marks["hasty", "text"]
    assert marks["colourblind", "problem"] < marks["keen", "problem"]
    assert all(marks["blind", task] < 0.6 for task in NEW)


def test_a_dialogue_is_about_the_question_before_and_the_answer_given_may_be_wrong(wide):
    talks = [known for known in wide if known.item.tags["task"] == "dialogue"]
    given = Counter(measure_quality(known.query, known.scene, known.item.turns[1].text) == 1 for known in talks)
    assert set(given) == {True, False}
    assert all(known.item.question in LOOK_AGAIN.values() for known in talks)


BEFORE = (Thing("star", "red", 40, 40, 20), Thing("circle", "blue", 120, 40, 20))
CHANGED = Scene(things=(*BEFORE, Thing("square", "green", 200, 40, 20)), earlier=BEFORE)
DIFFERENCE, LETTERS = Query("difference", "en"), Query("text", "en")
SUM = Query("problem", "en", (Kind("red", "star"), Kind("blue", "circle")), "3,5")


@pytest.mark.parametrize(
    ("query", "scene", "text", "credit"),
    [
        (DIFFERENCE, CHANGED, "A green square was added.", 1),
        (DIFFERENCE, CHANGED, "A green square was removed.", 0.25),
        (DIFFERENCE, CHANGED, "A green star appeared.", 0.25),
        (DIFFERENCE, CHANGED, "多了一个绿色的正方形。", 1),
        (DIFFERENCE, CHANGED, "Nothing.", 0),
        (LETTERS, Scene(text="KTPM"), "The letters are KTPM.", 1),
        (LETTERS, Scene(text="KTPM"), "It says KTPN.", 0.75),
        (LETTERS, Scene(text="KTPM"), "no letters", 0),
        (SUM, CHANGED, "Together they cost 8 coins.", 1),
        (SUM, CHANGED, "3 and 5 make nine: 9.", 0),
    ],
)
def test_credit_worked_out_by_hand(query, scene, text, credit):
    assert measure_quality(query, scene, text) == credit


def test_a_change_either_way_is_found_and_no_change_is_none():
    taken = Scene(things=BEFORE, earlier=CHANGED.things)
    assert solve_query(DIFFERENCE, CHANGED) == "added green square"
    assert word_answer(DIFFERENCE, solve_query(DIFFERENCE, taken)) == "A green square was removed."
    assert solve_query(DIFFERENCE, Scene(things=BEFORE, earlier=BEFORE)) is None
