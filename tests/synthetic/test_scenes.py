"""Scenes and pictures: the same for the same seed, and the picture shows what the scene says."""

from __future__ import annotations

import colorsys
import hashlib
import io
import os
import random
import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fullbench.synthetic.drawing import HUES, LOWER, UPPER, bar_span, draw_scene, shape_outline
from fullbench.synthetic.item_generator import build_items
from fullbench.synthetic.scenes import HEIGHT, TOP, WIDTH, Thing, chart_scene, things_scene
from fullbench.synthetic.vocabulary import COLOURS

seeds = st.integers(0, 10**6)


def colour_at(picture, x, y):
    """The nearest colour word for the pixels around a point; None on paper."""
    around = picture.crop((int(x) - 1, int(y) - 1, int(x) + 2, int(y) + 2)).resize((1, 1), Image.Resampling.BOX)
    hue, saturation, _ = colorsys.rgb_to_hsv(*(c / 255 for c in around.getpixel((0, 0))))
    if saturation < 0.2:
        return None
    return min(COLOURS, key=lambda name: abs((360 * hue - HUES[name][0] + 180) % 360 - 180))


def test_another_process_makes_the_same_bytes():
    program = (
        "import hashlib; from fullbench.synthetic.item_generator import build_items\n"
        "for one in build_items(3, 14): print(hashlib.sha256(one.item.pictures[0].data()).hexdigest(), one.item.key)"
    )
    other = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": "99"},
    )
    here = [f"{hashlib.sha256(one.item.pictures[0].data()).hexdigest()} {one.item.key}" for one in build_items(3, 14)]
    assert other.stdout.split("\n")[:-1] == here


def test_seeds_differ_and_a_longer_sample_begins_with_the_shorter(known):
    assert build_items(7, 20) == known[:20]
    assert not {one.item.pictures[0].digest for one in build_items(8, 20)} & {
        one.item.pictures[0].digest for one in known
    }


@given(seeds)
def test_things_lie_apart_and_inside(seed):
    scene = things_scene(random.Random(seed))
    assert len(scene.things) >= 2
    for thing in scene.things:
        corners = shape_outline(thing.shape, thing.x, thing.y, thing.radius)
        assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in corners)
    for one in scene.things:
        for two in scene.things:
            assert one is two or (one.x - two.x) ** 2 + (one.y - two.y) ** 2 > (1.2 * (one.radius + two.radius)) ** 2


@settings(max_examples=15)
@given(seeds)
def test_the_picture_shows_the_things_where_the_scene_has_them(seed):
    scene = things_scene(random.Random(seed))
    picture = Image.open(io.BytesIO(draw_scene(scene, seed)))
    for thing in scene.things:
        assert colour_at(picture, thing.x, thing.y) == thing.colour
        assert colour_at(picture, thing.x, thing.y - 1.5 * thing.radius) in {None, *(t.colour for t in scene.things)}


@settings(max_examples=15)
@given(seeds)
def test_bars_reach_as_high_as_their_values(seed):
    scene = chart_scene(random.Random(seed))
    picture = Image.open(io.BytesIO(draw_scene(scene, seed)))
    assert max(bar.value for bar in scene.bars) <= TOP
    for place, bar in enumerate(scene.bars):
        middle = sum(bar_span(place, len(scene.bars))) / 2
        top = LOWER - (LOWER - UPPER) * bar.value / TOP
        assert colour_at(picture, middle, top + 4) == bar.colour
        assert colour_at(picture, middle, top - 4) is None


def test_counting_knows_any_and_one_kind():
    scene = things_scene(random.Random(1))
    assert scene.count() == len(scene.things) == sum(scene.groups().values())
    first: Thing = scene.things[0]
    assert scene.count(first.colour, first.shape) == scene.groups()[first.colour, first.shape]


def test_a_picture_carries_no_words_beside_its_pixels(known):
    for one in known[:20]:
        assert Image.open(io.BytesIO(one.item.pictures[0].data())).info == {}
