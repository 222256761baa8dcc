"""Contestants as each other's reviewers: writing a question about a picture, and ruling on two answers to one.

They do both by what their own eyes make out. Who never looks rules by length, for want of anything better.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from fullbench.court.quality import quality
from fullbench.court.queries import Query, Task
from fullbench.court.questions import ask, invent, understand
from fullbench.court.scenes import Scene, things_scene
from fullbench.court.words import colours_in, shapes_in
from fullbench.models import fences as hearings
from fullbench.nouns.ballot import LETTERS, Language

MARGIN = 0.1
"""Answers whose worth differs by less than this tie."""
_TASKS: tuple[Task, ...] = ("count", "colour", "position", "comparison", "existence", "description")


@dataclass(frozen=True)
class Hearing:
    """What a reviewer is asked to rule on, its question understood."""

    query: Query
    answers: tuple[str, ...]
    by_understanding: bool


def hearing_in(text: str) -> Hearing | None:
    """The hearing that a prompt asks for; None when it asks for something else."""
    shown = hearings.hearing_in(text)
    query = None if shown is None else understand(shown.question)
    return None if shown is None or query is None else Hearing(query, shown.answers, shown.by_understanding)


def ruling(hearing: Hearing, seen: Scene | None, rng: random.Random) -> str:
    """Which answer is better, as a reply. Worths closer than the margin tie."""
    worths = [_worth(hearing, seen, answer) for answer in hearing.answers]
    best = max(worths)
    close = [place for place, worth in enumerate(worths) if worth > best - MARGIN]
    if len(close) == len(worths):
        return f"They come to the same.\n\n[[{LETTERS[len(worths)]}]]"
    return f"I looked at the picture and compared.\n\n[[{LETTERS[rng.choice(close)]}]]"


def _worth(hearing: Hearing, seen: Scene | None, answer: str) -> float:
    """From 0 to 1: how right an answer is, or how much of what is there it names, by what was seen."""
    if seen is None:
        return min(1.0, len(answer) / 200)
    if not hearing.by_understanding:
        return quality(hearing.query, seen, answer)
    there = {*(thing.colour for thing in seen.things), *(thing.shape for thing in seen.things)}
    there |= {bar.colour for bar in seen.bars}
    named = {*colours_in(answer), *shapes_in(answer)}
    return 0.5 * quality(hearing.query, seen, answer) + 0.5 * (len(named & there) - len(named - there)) / 4


def question(seen: Scene | None, rng: random.Random, language: Language = "en") -> str:
    """A question about what was made out, or, by one who never looks, about what might be there."""
    scene = seen if seen is not None and (seen.bars or len(seen.things) > 1) else things_scene(rng)
    if scene.bars:
        return ask(invent("chart", language, scene, rng) or Query("chart", language))
    for task in rng.sample(_TASKS, len(_TASKS)):
        query = invent(task, language, scene, rng)
        if query is not None:
            return ask(query)
    return ask(Query("description", language))
