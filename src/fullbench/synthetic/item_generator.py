"""Synthetic items with known truth, generated from a seed. Nothing is downloaded or stored."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import get_args

from fullbench.core.item import Item, Turn
from fullbench.core.picture import Picture
from fullbench.synthetic import letter_picture_pair_and_sum_questions
from fullbench.synthetic.drawing import draw_scene
from fullbench.synthetic.parsed_question_and_answer_types import Answer, Query, Task
from fullbench.synthetic.question_wording_parsing_and_solving import (
    LANGUAGES,
    TASKS,
    invent_query,
    solve_query,
    word_answer,
    word_question,
)
from fullbench.synthetic.scenes import Scene, changed_scene, chart_scene, text_scene, things_scene

TASKS_ASKED: tuple[Task, ...] = get_args(Task)
_SCENES: Mapping[str, Callable[[random.Random], Scene]] = {
    "chart": chart_scene, "text": text_scene, "difference": changed_scene,
}  # fmt: skip


@dataclass(frozen=True)
class SyntheticItem:
    """An item with the scene and the question's meaning, which only the truth may use."""

    item: Item
    scene: Scene
    query: Query


@cache
def build_items(seed: int, size: int, *, wide: bool = False) -> tuple[SyntheticItem, ...]:
    """Generate `size` items that cycle through tasks and languages, each with its own picture.

    A longer sample of the same seed begins with the shorter one. With `wide`, it also has letters to read, pairs of
    pictures, sums and dialogues.
    """
    return tuple(
        _build_item(seed, index, (*TASKS, *letter_picture_pair_and_sum_questions.TASKS, "dialogue") if wide else TASKS)
        for index in range(size)
    )


def _build_item(seed: int, index: int, tasks: Sequence[str]) -> SyntheticItem:
    task = tasks[index % len(tasks)]
    language = LANGUAGES[index // len(tasks) % len(LANGUAGES)]
    name = f"synthetic-{seed}-{index:03d}" if tasks is TASKS else f"synthetic-wide-{seed}-{index:03d}"
    rng = random.Random(name)
    # Look the task up in the typed tuple, so that type checkers see a `Task` instead of a string.
    question_task = (
        next(typed_task for typed_task in TASKS_ASKED if typed_task == task)
        if task != "dialogue"
        else rng.choice(TASKS[:5])
    )
    make = _SCENES.get(question_task, things_scene)
    # Some scenes allow no question of this task; draw again until one does.
    while True:
        scene = make(rng)
        query = invent_query(question_task, language, scene, rng)
        answer = None if query is None else solve_query(query, scene)
        if query is not None and answer is not None:
            break
    pictures = [Picture.from_bytes(draw_scene(scene, name), name=f"{name}.png")]
    if scene.earlier:
        pictures.insert(0, Picture.from_bytes(draw_scene(Scene(scene.earlier), name), name=f"{name}-before.png"))
    tags = {"task": task, "language": language}
    item = Item.ask(name, word_question(query), *pictures, reference=word_answer(query, answer), tags=tags)
    return SyntheticItem(_as_dialogue(item, query, answer, rng) if task == "dialogue" else item, scene, query)


def _as_dialogue(item: Item, query: Query, answer: Answer, rng: random.Random) -> Item:
    earlier_answer = answer
    wrong = rng.random() < 0.5
    while wrong and earlier_answer == answer:
        guessed_answer = solve_query(query, things_scene(rng))
        earlier_answer = answer if guessed_answer is None else guessed_answer
    turns = (
        Turn("assistant", (word_answer(query, earlier_answer),)),
        Turn("user", (letter_picture_pair_and_sum_questions.LOOK_AGAIN[query.language],)),
    )
    return replace(item, turns=(*item.turns, *turns))
