"""Parcels between a run and a worker on another machine, without a cluster."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

from fullbench import Case, Item, Media, Picture, Prompt, Reply, Response, Score, Turn, Verdict, Video
from fullbench.core.picture import Frame
from fullbench.studies.engines.task_serialisation_for_ray import (
    PictureMemory,
    PictureStore,
    WorkerLink,
    carry_frames,
    pack_tasks,
    unpack_tasks,
)
from tests.support.data_builders import png


def case(number: int, picture: Picture) -> Case:
    item = Item.ask(f"i{number}", f"什么? #{number}", picture)
    return Case(item, (Response.say(item.id, "a", "red"),), Score(1, 5))


class Store:
    """Stands for a cluster's object store: what was put there, in order."""

    def __init__(self) -> None:
        self.objects: list[bytes] = []

    def put(self, data: bytes) -> int:
        self.objects.append(data)
        return len(self.objects) - 1

    def line(self, shelf: PictureStore, limit: int = 1 << 20) -> Callable[[Case], tuple[int, Case]]:
        """The way to one worker: the size of the parcel in which a case goes, and the case as it arrives."""
        here, there = PictureMemory(limit), PictureMemory(limit)

        def sent(task: Case) -> tuple[int, Case]:
            line = WorkerLink(here, shelf)
            parcel = pack_tasks([task], line)
            fetched = {digest: self.objects[place] for digest, place in line.places.items()}
            (arrived,) = unpack_tasks(parcel, there, fetched)
            return len(parcel), arrived

        return sent


def test_a_picture_goes_once_to_the_store_whoever_shows_it(tmp_path):
    """Fifty cases of one large picture, to three workers: one picture is put into the store, and no parcel has it."""
    (tmp_path / "large.png").write_bytes(png() + os.urandom(125_000))
    shown, store = Picture.read(tmp_path / "large.png"), Store()
    shelf = PictureStore(store.put)
    for sent in (store.line(shelf), store.line(shelf), store.line(shelf)):
        for number in range(50):
            size, task = sent(case(number, shown))
            assert size < 2_000
            assert task.key == case(number, shown).key
            assert task.item.pictures[0].data() == shown.data()
    assert store.objects == [shown.data()]
    near = unpack_tasks(pack_tasks([case(1, shown)], None), PictureMemory(), {})
    assert near[0].item.pictures[0].source == tmp_path / "large.png"


def test_both_ends_forget_the_same_pictures():
    """With room for few, whatever order they come in, no worker is asked for a picture that it forgot."""
    draw = random.Random(3)
    shown = [Picture.from_bytes(png((number, 0, 0)) + bytes(draw.randint(100, 5_000))) for number in range(40)]
    store = Store()
    shelf = PictureStore(store.put, 30_000)
    lines = [store.line(shelf, 20_000) for _ in range(2)]
    for number in range(600):
        chosen = draw.choice(shown)
        _, task = draw.choice(lines)(case(number, chosen))
        assert task.item.pictures[0].data() == chosen.data()
    assert len(store.objects) > 40, "the shelf has room for few, too"


def test_a_picture_that_is_gone_is_the_workers_to_tell(tmp_path):
    (tmp_path / "gone.png").write_bytes(png())
    shown = Picture.read(tmp_path / "gone.png")
    (tmp_path / "gone.png").unlink()
    store = Store()
    _, task = store.line(PictureStore(store.put))(case(1, shown))
    assert task.item.pictures[0].digest == shown.digest


def test_a_video_travels_once_and_frames_come_back_once_with_their_bytes(tmp_path):
    file = tmp_path / "a.webm"
    file.write_bytes(b"\x1aE\xdf\xa3\x84webm\x18S\x80g\x01\xff\xff\xff\xff\xff\xff\xff")
    item = Item.ask("i", "What?", Media.read(file))
    tasks = [Case(item, (Response.say("i", name, "red"),), Score(1, 5)) for name in "ab"]
    store, here, there = Store(), PictureMemory(), PictureMemory()
    line = WorkerLink(here, PictureStore(store.put))
    arrived = unpack_tasks(pack_tasks(tasks, line), there, {d: store.objects[p] for d, p in line.places.items()})
    assert len(store.objects) == 1
    assert [type(task.item.media[0]) for task in arrived] == [Video, Video]
    assert arrived[0].item.media[0].data() == file.read_bytes()
    assert [task.key for task in arrived] == [task.key for task in tasks]

    still = tmp_path / "frame.png"
    still.write_bytes(png())
    frame = Frame(Picture.read(still).digest, "image/png", still, item.media[0].digest, "frames16", "0.0 s")
    call = Reply(Prompt((Turn("user", ("[0.0 s] ", frame)),)), "[[4]]").exchange(0.0)
    carried: set[str] = set()
    outcomes = [carry_frames(Verdict.from_case(t, "j", (4.0,), exchanges=(call,)), carried) for t in tasks]
    assert [[part.source for part in one.exchanges[0].frames] for one in outcomes] == [[png()], []]


def test_a_video_above_the_limit_is_stored_once_for_all_workers_and_sent_once_to_each(tmp_path):
    file = tmp_path / "a.webm"
    file.write_bytes(b"\x1aE\xdf\xa3\x84webm\x18S\x80g\x01\xff\xff\xff\xff\xff\xff\xff" + bytes(1_000))
    item = Item.ask("i", "What?", Media.read(file))
    tasks = [Case(item, (Response.say("i", name, "red"),), Score(1, 5)) for name in "abc"]
    store = Store()
    shelf = PictureStore(store.put, limit=500)
    for _ in range(2):  # two workers, such as those of two judges on one machine
        to_worker = store.line(shelf, limit=500)
        assert [to_worker(task)[1].item.media[0].data() for task in tasks] == [file.read_bytes()] * 3
    assert len(store.objects) == 1
