"""Items for an audit: thirteen kinds of question, two languages, three difficulties, each with a picture drawn for it.

Behind every item stand two scenes: the one that is shown, and another one of the same sort for which the same question
has another answer. So a pair of answers is at hand of which the picture alone tells the right one: shown the other
picture, whoever looks rules the other way.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from fullbench.synthetic.answer_quality import quality
from fullbench.synthetic.drawing import draw
from fullbench.synthetic.question_meaning import Answer, Query, Task
from fullbench.synthetic.questions import ask, invent, say, solve
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
"""The kinds of question, and the task of the court that each belongs to."""
THINGS: dict[Difficulty, tuple[int, int]] = {"easy": (3, 5), "medium": (6, 8), "hard": (9, 12)}
"""How many things a sheet of each difficulty shows, at least and at most."""
LEADS: dict[Difficulty, tuple[int, int]] = {"easy": (5, 99), "medium": (2, 4), "hard": (1, 1)}
"""By how much the tallest bar of a chart of each difficulty leads."""
LETTERS: dict[Difficulty, int] = {"easy": 3, "medium": 4, "hard": 5}
CLEAR = 0.5
"""The answer to one scene is at most this right for the other: else a ruling would not show whether anybody looked."""


@dataclass(frozen=True)
class Asked:
    """A question with two scenes: `scene` is shown and makes `right` right, for `other` it is `wrong` that is right."""

    name: str
    kind: str
    difficulty: Difficulty
    query: Query
    scene: Scene
    other: Scene
    right: str
    wrong: str

    @property
    def question(self) -> str:
        return ask(self.query)

    @property
    def language(self) -> Language:
        return self.query.language

    def quality(self, text: str, *, swapped: bool = False) -> float:
        """How right an answer is for the scene shown, or for the other one."""
        return quality(self.query, self.other if swapped else self.scene, text)


@lru_cache(maxsize=4096)
def asked(seed: int, part: str, index: int) -> Asked:
    """The item of that number in a part of an audit. Kinds come in turn, and with them languages and difficulties.

    78 numbers in a row hold every kind in both languages at all three difficulties once.

    >>> [asked(0, "pairs", index).kind for index in (0, 12, 13)]
    ['count', 'problem', 'count']
    """
    round_, place = divmod(index, len(KINDS))
    kind = [*KINDS][place]
    difficulty = DIFFICULTIES[(place + 2 * round_) % len(DIFFICULTIES)]
    language = LANGUAGES[(place + round_) % len(LANGUAGES)]
    name = f"audit-{seed}-{part}-{index:03d}"
    rng = random.Random(name)
    while True:
        scene = _scene(KINDS[kind], difficulty, rng)
        query = invent(KINDS[kind], language, scene, rng)
        answer = None if query is None or kind_of(query) != kind else solve(query, scene)
        if query is None or answer is None or not _fair(query, scene):
            continue
        for _ in range(60):
            other = _scene(KINDS[kind], difficulty, rng)
            wrong = solve(query, other) if _fair(query, other) else None
            if wrong is None or wrong == answer:
                continue
            right_words, wrong_words = say(query, answer), say(query, wrong)
            if max(quality(query, scene, wrong_words), quality(query, other, right_words)) <= CLEAR:
                return Asked(name, kind, difficulty, query, scene, other, right_words, wrong_words)


def kind_of(query: Query) -> str:
    """The kind of a question.

    >>> kind_of(Query("chart", "en", (), "B")), kind_of(Query("count", "zh"))
    ('value', 'count')
    """
    if query.task == "chart":
        return "value" if query.detail else "tallest"
    return query.detail if query.task in {"colour", "position"} and query.detail else query.task


def _scene(task: Task, difficulty: Difficulty, rng: random.Random) -> Scene:
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


def _fair(query: Query, scene: Scene) -> bool:
    """Whether the question has one clear answer for a scene."""
    if query.task in {"position", "problem"}:
        groups = [scene.those(*kind) for kind in query.kinds]
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
        return len(scene.those(*query.kinds[0])) == 1
    return query.task != "count" or scene.count(*query.kinds[0]) > 0


def drawn(scene: Scene, name: str) -> list[bytes]:
    """The pictures of a scene: one, or two where something changed."""
    before = [draw(Scene(scene.earlier), name)] if scene.earlier else []
    return [*before, draw(scene, name)]


def imagined(query: Query, difficulty: Difficulty, rng: random.Random) -> Answer | None:
    """What the answer would be for some other scene."""
    other = _scene(query.task, difficulty, rng)
    return solve(query, other) if _fair(query, other) else None
