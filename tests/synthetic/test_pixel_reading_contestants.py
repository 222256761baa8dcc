"""Contestants really look, know nothing but the prompt, and are as able as they were meant to be."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from statistics import fmean

import pytest

from fullbench.core.item import Item
from fullbench.core.language_and_words import length_of
from fullbench.core.model import Model, Prompt
from fullbench.core.picture import Picture
from fullbench.synthetic.answer_quality_measure import measure_quality
from fullbench.synthetic.drawing import draw_scene
from fullbench.synthetic.picture_reading import Sight, read_scene
from fullbench.synthetic.pixel_reading_contestants import Contestant, build_contestants
from fullbench.synthetic.scenes import Scene, Thing
from fullbench.synthetic.vocabulary import COLOURS, SHAPES
from tests.synthetic.conftest import answers

KEEN = Contestant("keen", Sight())


def ask(model, scene, question, seed=0):
    item = Item.ask("q", question, Picture.from_bytes(draw_scene(scene, seed)))
    return answers(model, [item])["q"]


def skill(known, answered, label):
    return fmean(measure_quality(one.query, one.scene, answered[label][one.item.id]) for one in known)


def test_a_prompt_holds_the_question_and_the_picture_and_nothing_else(known):
    for one in known:
        prompt = Prompt(one.item.turns)
        [turn] = prompt.turns
        assert turn.parts == (*one.item.pictures, one.item.question)
        assert one.item.reference not in turn.text
        without = Item.ask(one.item.id, one.item.question, *one.item.pictures)
        assert Prompt(without.turns).digest == prompt.digest


def test_contestants_never_load_the_truth():
    program = "import sys, fullbench.synthetic.pixel_reading_contestants; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert "synthetic.pixel_reading_contestants" in loaded
    assert "synthetic.truth_judge" not in loaded
    assert "synthetic.item_generator" not in loaded


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_answer_follows_the_pixels(shape, colour):
    one = Scene(things=(Thing(shape, colour, 120, 100, 20),))
    assert ask(KEEN, one, f"What colour is the {shape}?") == f"The {shape} is {colour}."
    other = COLOURS[(COLOURS.index(colour) + 1) % len(COLOURS)]
    painted = Scene(things=(Thing(shape, other, 120, 100, 20),))
    assert ask(KEEN, painted, f"What colour is the {shape}?") == f"The {shape} is {other}."
    two = Scene(things=(*one.things, Thing(shape, colour, 250, 100, 20)))
    assert ask(KEEN, two, f"How many {colour} {shape}s are there in the picture?") == (
        f"There are two {colour} {shape}s in the picture."
    )


def test_other_pixels_change_the_answers_of_those_who_look_and_of_nobody_else(known):
    items = [one.item for one in known if one.query.task in {"count", "description"}]
    turned = [Item.ask(item.id, item.question, *other.pictures) for item, other in pairwise(items)]
    for model in build_contestants():
        before, after = answers(model, items), answers(model, turned)
        changed = fmean(before[item.id] != after[item.id] for item in turned)
        assert changed == 0 if model.sight is None else changed > 0.5, model.label


def test_skill_is_as_designed_on_two_hundred_items(known, answered):
    by = {model.label: skill(known, answered, model.label) for model in build_contestants()}
    assert by["keen"] > 0.97
    order = ["keen", "hasty", "blurred", "colourblind", "blind"]
    for better, worse in pairwise(order):
        assert by[better] > by[worse] + 0.04, by
    assert by["blind"] < 0.4


def test_each_weakness_shows_where_it_should(known, answered):
    def on(label, *tasks):
        return skill([one for one in known if one.query.task in tasks], answered, label)

    assert on("colourblind", "comparison") > on("blurred", "comparison") + 0.2
    assert on("blurred", "colour") > on("colourblind", "colour") + 0.2
    assert on("hasty", "chart") > on("hasty", "count") + 0.2


def test_the_long_winded_one_says_the_same_in_more_words(known, answered):
    for one in known:
        keen, wordy = answered["keen"][one.item.id], answered["wordy"][one.item.id]
        assert keen in wordy
        assert length_of(wordy) > length_of(keen) + 8
        assert measure_quality(one.query, one.scene, keen) == measure_quality(one.query, one.scene, wordy)
    assert fmean(map(length_of, answered["hasty"].values())) < fmean(map(length_of, answered["keen"].values()))


def test_answers_are_in_the_language_of_the_question(known, answered):
    for one in known:
        chinese = one.query.language == "zh"
        for said in answered.values():
            assert any("\u4e00" <= letter <= "\u9fff" for letter in said[one.item.id]) == chinese or (
                chinese and said[one.item.id].rstrip("。").isdecimal()
            )


def test_answers_repeat_themselves_and_what_is_not_understood_is_said(known, answered):
    items = [one.item for one in known[:28]]
    for model in build_contestants():
        assert isinstance(model, Model)
        again = answers(model, items[::-1])
        assert all(again[item.id] == answered[model.label][item.id] for item in items)
    assert ask(KEEN, Scene(), "Who painted this?") == "I do not understand the question."
    assert answers(KEEN, [Item.ask("q", "How many stars are there in the picture?")])["q"]


def test_eyes_fail_as_they_are_told_to():
    small, large = Thing("circle", "red", 60, 60, 8), Thing("square", "green", 200, 120, 30)
    png = draw_scene(Scene(things=(small, large)), 1)
    assert read_scene(png, Sight()).groups() == Scene(things=(small, large)).groups()
    assert read_scene(png, Sight(overlooks=12)).groups() == Scene(things=(large,)).groups()
    assert {thing.colour for thing in read_scene(png, Sight(confusion=1.0)).things}.isdisjoint({"red", "green"})
