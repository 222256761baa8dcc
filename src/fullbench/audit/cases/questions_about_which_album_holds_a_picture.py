"""Audit cases in which the places of pictures in the question matter: in which album is the picture?

A question has two albums with several pictures each. Every pair of answers is judged twice, with the same pictures and
texts in the same order. Only the heading of the second album moves: once it comes after the decisive picture, once
before it. So the places alone decide which answer is right. A judge that gets the pictures apart from the texts, or
that ignores their places, cannot distinguish the two.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from fullbench.audit.cases.irrelevant_answer_changes_and_rewordings import CRITERION
from fullbench.audit.cases.synthetic_items import DIFFICULTIES, LANGUAGES, THINGS, Difficulty
from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.item import Item, Part, Turn
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.synthetic.drawing import draw_scene
from fullbench.synthetic.scenes import Scene, things_scene
from fullbench.synthetic.vocabulary import Language, count_of

PART = "places"
"""Tag `part` of these items."""
_PICTURE_COUNTS: dict[Difficulty, int] = {"easy": 3, "medium": 4, "hard": 5}
_HEADINGS: dict[Language, str] = {"en": "Album {letter}:", "zh": "相册 {letter}："}
_QUESTIONS: dict[Language, str] = {
    "en": "In which of the albums does a picture show {things}?",
    "zh": "哪一本相册里有一张图片画着{things}？",
}
_ANSWERS: dict[Language, str] = {"en": "In album {letter}.", "zh": "在相册 {letter} 里。"}


def place_cases(pair_count: int, seed: int) -> Iterator[Case]:
    """Yield the two cases of each pair; languages and difficulties rotate."""
    for index in range(pair_count):
        language = LANGUAGES[index % len(LANGUAGES)]
        difficulty = DIFFICULTIES[index // len(LANGUAGES) % len(DIFFICULTIES)]
        name = f"audit-{seed}-places-{index:03d}"
        rng = random.Random(name)
        scenes, decisive, things = _draw_scenes(_PICTURE_COUNTS[difficulty], difficulty, language, rng)
        pictures = [
            Picture.from_bytes(draw_scene(scene, f"{name}-{place}"), name=name) for place, scene in enumerate(scenes)
        ]
        letters = rng.sample("AB", 2)
        for right, second_heading in (("A", decisive + 1), ("B", decisive)):
            parts: list[Part] = [*pictures]
            parts.insert(second_heading, _HEADINGS[language].format(letter="B"))
            parts.insert(0, _HEADINGS[language].format(letter="A"))
            question = _QUESTIONS[language].format(things=things)
            tags = {
                "base": name, "part": PART, "kind": f"{len(pictures)} pictures", "language": language,
                "difficulty": difficulty, "what": f"in album {right}",
            }  # fmt: skip
            item = Item(f"{name}~{right}", (Turn("user", (*parts, question)),), tags=tags)
            responses = tuple(
                Response.say(
                    item.id, f"album {letter}", _ANSWERS[language].format(letter=letter),
                    tags={"quality": f"{letter == right:d}"},
                )
                for letter in letters
            )  # fmt: skip
            yield Case(item, responses, Choice(tie=True), CRITERION)


def _draw_scenes(
    count: int, difficulty: Difficulty, language: Language, rng: random.Random
) -> tuple[list[Scene], int, str]:
    """Return scenes, the index of the decisive one, and the things that it alone shows.

    The decisive scene is neither first nor last, so that both albums have a picture in both cases.
    """
    fewest, most = THINGS[difficulty]
    decisive = rng.randrange(1, count - 1)
    while True:
        scenes = [things_scene(rng, fewest=fewest, most=most) for _ in range(count)]
        other_kinds = {kind for place, scene in enumerate(scenes) if place != decisive for kind in scene.groups()}
        own_groups = sorted((kind, n) for kind, n in scenes[decisive].groups().items() if kind not in other_kinds)
        if own_groups:
            (colour, shape), n = rng.choice(own_groups)
            return scenes, decisive, count_of(n, colour, shape, language)
