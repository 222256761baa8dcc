"""Parcels between a run and a worker on another machine, without a cluster."""

from __future__ import annotations

import os
import random

from fullbench import Case, Item, Picture, Response, Score
from fullbench.studies.engines.parcels import Memory, packed, unpacked
from tests.making import png


def case(number: int, picture: Picture) -> Case:
    item = Item.ask(f"i{number}", f"什么? #{number}", picture)
    return Case(item, (Response.say(item.id, "a", "red"),), Score(1, 5))


def test_a_picture_goes_once_to_each_worker(tmp_path):
    """Fifty parcels of one case, all of one large picture: one picture's bytes go over the line, not fifty."""
    (tmp_path / "large.png").write_bytes(png() + os.urandom(125_000))
    shown = Picture.read(tmp_path / "large.png")
    here, there = Memory(), Memory()
    parcels = [packed([case(number, shown)], here) for number in range(50)]
    assert sum(map(len, parcels)) < 125_000 + 50 * 2_000
    back = [task for parcel in parcels for task in unpacked(parcel, there)]
    assert [task.key for task in back] == [case(number, shown).key for number in range(50)]
    assert {task.item.pictures[0].data() for task in back} == {shown.data()}
    near = unpacked(packed([case(1, shown)], None), Memory())
    assert near[0].item.pictures[0].source == tmp_path / "large.png"


def test_both_ends_forget_the_same_pictures():
    """With room for few, whatever order they come in, no worker is asked for a picture that it forgot."""
    draw = random.Random(3)
    shown = [Picture.of(png((number, 0, 0)) + bytes(draw.randint(100, 5_000))) for number in range(40)]
    here, there = Memory(20_000), Memory(20_000)
    for number in range(600):
        chosen = draw.choice(shown)
        (task,) = unpacked(packed([case(number, chosen)], here), there)
        assert task.item.pictures[0].data() == chosen.data()


def test_a_picture_that_is_gone_is_the_workers_to_tell(tmp_path):
    (tmp_path / "gone.png").write_bytes(png())
    shown = Picture.read(tmp_path / "gone.png")
    (tmp_path / "gone.png").unlink()
    (task,) = unpacked(packed([case(1, shown)], Memory()), Memory())
    assert task.item.pictures[0].digest == shown.digest
