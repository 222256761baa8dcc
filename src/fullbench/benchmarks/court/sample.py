"""The sample: items whose truth is known, made from a seed. Nothing is downloaded and nothing is stored."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from fullbench.benchmarks.court.drawing import draw
from fullbench.benchmarks.court.questions import LANGUAGES, TASKS, Query, ask, invent, say, solve
from fullbench.benchmarks.court.scenes import Scene, chart_scene, things_scene
from fullbench.core.items import Item
from fullbench.core.pictures import Picture


@dataclass(frozen=True)
class Known:
    """An item, and what only the truth may know of it: the scene behind the picture and the question's meaning."""

    item: Item
    scene: Scene
    query: Query


@cache
def sample(seed: int, size: int) -> tuple[Known, ...]:
    """`size` items: the tasks in turn, the languages in turn, every one with a picture of its own.

    A longer sample of the same seed begins with the shorter one.
    """
    return tuple(_known(seed, index) for index in range(size))


def _known(seed: int, index: int) -> Known:
    task = TASKS[index % len(TASKS)]
    language = LANGUAGES[index // len(TASKS) % len(LANGUAGES)]
    name = f"court-{seed}-{index:03d}"
    rng = random.Random(name)
    while True:
        scene = chart_scene(rng) if task == "chart" else things_scene(rng)
        query = invent(task, language, scene, rng)
        answer = None if query is None else solve(query, scene)
        if query is not None and answer is not None:
            break
    tags = {"task": task, "language": language}
    picture = Picture.of(draw(scene, name), name=f"{name}.png")
    return Known(Item.ask(name, ask(query), picture, reference=say(query, answer), tags=tags), scene, query)
