"""Synthetic audit items: 13 kinds of question, 2 languages, 3 difficulties, each with a generated picture.

Every item has two scenes: the one that is shown, and another of the same sort for which the same question has another
answer. So there is a pair of answers of which only the picture shows the right one. With the other picture, a judge
that uses the picture gives the opposite verdict.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from fullbench.synthetic.answer_quality_measure import measure_quality
from fullbench.synthetic.drawing import draw_scene
from fullbench.synthetic.parsed_question_and_answer_types import Answer, Query, Task
from fullbench.synthetic.question_wording_parsing_and_solving import (
    invent_query,
    solve_query,
    word_answer,
    word_question,
)
from fullbench.synthetic.scenes import Scene, changed_scene, chart_scene, text_scene, things_scene
from fullbench.synthetic.vocabulary import Language

Difficulty = Literal["easy", "medium", "hard"]
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
LANGUAGES: tuple[Language, ...] = get_args(Language)
KINDS: dict[str, Task] = {
    "count": "count", "colour": "colour", "largest": "colour", "across": "position", "down": "position",
    "comparison": "comparison", "existence": "existence", "value": "chart", "tallest": "chart",
    "description": "description", "text": "text", "difference": "difference", "problem": "problem",
}  # fmt: skip
"""Kinds of question, and the task of the synthetic benchmark that each belongs to."""
THINGS: dict[Difficulty, tuple[int, int]] = {"easy": (3, 5), "medium": (6, 8), "hard": (9, 12)}
"""Minimum and maximum number of things in a picture."""
LEADS: dict[Difficulty, tuple[int, int]] = {"easy": (5, 99), "medium": (2, 4), "hard": (1, 1)}
"""Minimum and maximum lead of the tallest bar of a chart."""
LETTERS: dict[Difficulty, int] = {"easy": 3, "medium": 4, "hard": 5}
CLEAR = 0.5
"""Maximum quality of an answer for the other scene; above it, a verdict would not show if the picture was used."""


@dataclass(frozen=True)
class SceneQuestion:
    """Question with two scenes: `right` is right for `scene`, which is shown, and `wrong` for `other_scene`."""

    name: str
    kind: str
    difficulty: Difficulty
    query: Query
    scene: Scene
    other_scene: Scene
    right: str
    wrong: str

    @property
    def question(self) -> str:
        return word_question(self.query)

    @property
    def language(self) -> Language:
        return self.query.language

    def quality(self, text: str, *, is_swapped: bool = False) -> float:
        """Return the quality of an answer for the scene shown, or for the other one."""
        return measure_quality(self.query, self.other_scene if is_swapped else self.scene, text)


@lru_cache(maxsize=4096)
def draw_question(seed: int, part: str, index: int) -> SceneQuestion:
    """Draw the question of that number in a part of an audit. Kinds, languages and difficulties rotate.

    78 consecutive numbers contain every kind in both languages at all three difficulties once.

    >>> [draw_question(0, "pairs", index).kind for index in (0, 12, 13)]
    ['count', 'problem', 'count']
    """
    round_, position = divmod(index, len(KINDS))
    kind = [*KINDS][position]
    difficulty = DIFFICULTIES[(position + 2 * round_) % len(DIFFICULTIES)]
    language = LANGUAGES[(position + round_) % len(LANGUAGES)]
    name = f"audit-{seed}-{part}-{index:03d}"
    rng = random.Random(name)
    while True:
        scene = _draw_scene(KINDS[kind], difficulty, rng)
        query = invent_query(KINDS[kind], language, scene, rng)
        answer = None if query is None or question_kind(query) != kind else solve_query(query, scene)
        if query is None or answer is None or not _has_clear_answer(query, scene):
            continue
        for _ in range(60):
            other_scene = _draw_scene(KINDS[kind], difficulty, rng)
            wrong_answer = solve_query(query, other_scene) if _has_clear_answer(query, other_scene) else None
            if wrong_answer is None or wrong_answer == answer:
                continue
            right_words, wrong_words = word_answer(query, answer), word_answer(query, wrong_answer)
            if (
                max(measure_quality(query, scene, wrong_words), measure_quality(query, other_scene, right_words))
                <= CLEAR
            ):
                return SceneQuestion(name, kind, difficulty, query, scene, other_scene, right_words, wrong_words)


def question_kind(query: Query) -> str:
    """Return the kind of a question.

    >>> question_kind(Query("chart", "en", (), "B")), question_kind(Query("count", "zh"))
    ('value', 'count')
    """
    if query.task == "chart":
        return "value" if query.detail else "tallest"
    return query.detail if query.task in {"colour", "position"} and query.detail else query.task


def _draw_scene(task: Task, difficulty: Difficulty, rng: random.Random) -> Scene:
    fewest, most = THINGS[difficulty]
    while True:
        if task == "chart":
            scene = chart_scene(rng)
            first, second = sorted((bar.value for bar in scene.bars), reverse=True)[:2]
            if LEADS[difficulty][0] <= first - second <= LEADS[difficulty][1]:
                return scene
        elif task == "text":
            scene = text_scene(rng)
            if len(scene.text) == LETTERS[difficulty]:
                return scene
        elif task == "difference":
            scene = changed_scene(rng)
            if min(fewest, 8) <= max(len(scene.things), len(scene.earlier)) <= most:
                return scene
        else:
            return things_scene(rng, fewest=fewest, most=most)


def _has_clear_answer(query: Query, scene: Scene) -> bool:
    if query.task in {"position", "problem"}:
        groups = [scene.things_of_kind(*kind) for kind in query.kinds]
        if query.task == "problem":
            return all(groups)
        if any(len(group) != 1 for group in groups):
            return False
        (first,), (second,) = groups
        return abs(first.x - second.x if query.detail == "across" else first.y - second.y) > 30
    if query.task == "colour" and query.detail == "largest":
        radii = sorted((thing.radius for thing in scene.things), reverse=True)
        return len(radii) > 1 and radii[0] > 1.25 * radii[1]
    if query.task == "colour":
        return len(scene.things_of_kind(*query.kinds[0])) == 1
    return query.task != "count" or scene.count(*query.kinds[0]) > 0


def draw_pictures(scene: Scene, name: str) -> list[bytes]:
    """Return the pictures of a scene: one, or two if something changed."""
    earlier_pictures = [draw_scene(Scene(scene.earlier), name)] if scene.earlier else []
    return [*earlier_pictures, draw_scene(scene, name)]


def answer_for_random_scene(query: Query, difficulty: Difficulty, rng: random.Random) -> Answer | None:
    """Return the answer for some other scene, or None if it is not clear."""
    random_scene = _draw_scene(query.task, difficulty, rng)
    return solve_query(query, random_scene) if _has_clear_answer(query, random_scene) else None
