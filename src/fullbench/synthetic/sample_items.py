"""The sample: items whose truth is known, made from a seed. Nothing is downloaded and nothing is stored."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import get_args

from fullbench.core.item import Item, Turn
from fullbench.core.picture import Picture
from fullbench.synthetic import wide_questions
from fullbench.synthetic.drawing import draw
from fullbench.synthetic.question_meaning import Answer, Query, Task
from fullbench.synthetic.questions import LANGUAGES, TASKS, ask, invent, say, solve
from fullbench.synthetic.scenes import Scene, changed_scene, chart_scene, text_scene, things_scene

TASKS_ASKED: tuple[Task, ...] = get_args(Task)
_SCENES: Mapping[str, Callable[[random.Random], Scene]] = {
    "chart": chart_scene, "text": text_scene, "difference": changed_scene,
}  # fmt: skip


@dataclass(frozen=True)
class Known:
    """An item, and what only the truth may know of it: the scene behind the picture and the question's meaning."""

    item: Item
    scene: Scene
    query: Query


@cache
def sample(seed: int, size: int, *, wide: bool = False) -> tuple[Known, ...]:
    """`size` items: the tasks in turn, the languages in turn, every one with a picture of its own.

    A longer sample of the same seed begins with the shorter one. The wide one has letters to read, pairs of pictures,
    sums and dialogues as well.
    """
    return tuple(
        _known(seed, index, (*TASKS, *wide_questions.TASKS, "dialogue") if wide else TASKS) for index in range(size)
    )


def _known(seed: int, index: int, tasks: Sequence[str]) -> Known:
    task = tasks[index % len(tasks)]
    language = LANGUAGES[index // len(tasks) % len(LANGUAGES)]
    name = f"court-{seed}-{index:03d}" if tasks is TASKS else f"court-wide-{seed}-{index:03d}"
    rng = random.Random(name)
    # taken from the typed tuple, so that what was a string is a `Task` from here on
    asked = next(known for known in TASKS_ASKED if known == task) if task != "dialogue" else rng.choice(TASKS[:5])
    make = _SCENES.get(asked, things_scene)
    while True:
        scene = make(rng)
        query = invent(asked, language, scene, rng)
        answer = None if query is None else solve(query, scene)
        if query is not None and answer is not None:
            break
    pictures = [Picture.of(draw(scene, name), name=f"{name}.png")]
    if scene.earlier:
        pictures.insert(0, Picture.of(draw(Scene(scene.earlier), name), name=f"{name}-before.png"))
    tags = {"task": task, "language": language}
    item = Item.ask(name, ask(query), *pictures, reference=say(query, answer), tags=tags)
    return Known(_continued(item, query, answer, rng) if task == "dialogue" else item, scene, query)


def _continued(item: Item, query: Query, answer: Answer, rng: random.Random) -> Item:
    """The item as a dialogue: an answer was given, right or wrong, and the question is to look again."""
    earlier_answer = answer
    wrong = rng.random() < 0.5
    while wrong and earlier_answer == answer:
        imagined = solve(query, things_scene(rng))
        earlier_answer = answer if imagined is None else imagined
    turns = (Turn("assistant", (say(query, earlier_answer),)), Turn("user", (wide_questions.AGAIN[query.language],)))
    return replace(item, turns=(*item.turns, *turns))
