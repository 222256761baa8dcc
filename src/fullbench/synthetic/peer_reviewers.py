"""Contestants as each other's reviewers: writing a question about a picture, and ruling on two answers to one.

They do both by what their own eyes make out. Who never looks rules by length, for want of anything better. Those
without a taste measure answers as the court measures truth (`quality`), which is convenient. Those with a taste of
their own, as in `fullbench peer-review`, do not know that measure: each compares an answer with what it would say
itself, so that whoever makes the same mistake, or talks alike, pleases it more.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass

from fullbench.core.ballot import LETTERS, Language
from fullbench.core.text import length_of, words_of
from fullbench.models import prompt_fences as hearings
from fullbench.synthetic.answer_quality import quality
from fullbench.synthetic.question_meaning import Query, Task
from fullbench.synthetic.questions import ask, invent, say, solve, understand
from fullbench.synthetic.scenes import Scene, things_scene
from fullbench.synthetic.vocabulary import colours_in, numbers_in, shapes_in

MARGIN = 0.1
"""Answers whose worth differs by less than this tie."""
_TASKS: tuple[Task, ...] = ("count", "colour", "position", "comparison", "existence", "description")
_FACTS = re.compile(
    r"\b(?:left|right|above|below|more|fewer|less|equal|equally|yes|no|none|[A-HJ-Z])\b|[左右上下多少有没]"
)
"""Words that decide an answer, beside numbers, colours and shapes."""


@dataclass(frozen=True)
class Taste:
    """What a reviewer likes beside what it takes for right, as shares of a mark from 0 to 1.

    `echo`: answers in words like its own, which those of its family use. `length`: each doubling of the words.
    """

    echo: float = 0.2
    length: float = 0.0


@dataclass(frozen=True)
class Reviewer:
    """What a contestant knows when it reviews: what it made out, what it would say to the question, what it likes.

    Without a taste it rules by the court's own measure, applied to what it made out.
    """

    seen: Scene | None
    own: str = ""
    taste: Taste | None = None


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


def ruling(hearing: Hearing, reviewer: Reviewer, rng: random.Random) -> str:
    """Which answer is better, as a reply. Worths closer than the margin tie."""
    worths = [worth(hearing, reviewer, answer) for answer in hearing.answers]
    best = max(worths)
    close = [place for place, worth in enumerate(worths) if worth > best - MARGIN]
    if len(close) == len(worths):
        return f"They come to the same.\n\n[[{LETTERS[len(worths)]}]]"
    return f"I looked at the picture and compared.\n\n[[{LETTERS[rng.choice(close)]}]]"


def worth(hearing: Hearing, reviewer: Reviewer, answer: str) -> float:
    """How much a reviewer thinks of an answer: by the court's measure, or by what it would say and what it likes.

    By understanding, half of it is how much of the whole picture, as it sees it, the answer names.
    """
    taste, seen = reviewer.taste, reviewer.seen
    if seen is None:
        return min(1.0, len(answer) / 200)
    agreed = quality(hearing.query, seen, answer) if taste is None else _agreed(hearing.query, seen, answer)
    if hearing.by_understanding:
        there = {*(thing.colour for thing in seen.things), *(thing.shape for thing in seen.things)}
        there |= {bar.colour for bar in seen.bars}
        named = {*colours_in(answer), *shapes_in(answer)}
        agreed = 0.5 * agreed + 0.5 * (len(named & there) - len(named - there)) / 4
    if taste is None:
        return agreed
    echoed = _alike(set(words_of(reviewer.own)), set(words_of(answer)))
    longer = math.log2(length_of(answer) / 8)
    return (1 - taste.echo) * agreed + taste.echo * echoed + taste.length * longer


def _agreed(query: Query, seen: Scene, answer: str) -> float:
    """How far an answer claims what the reviewer would; what the question says already is no claim."""
    right = solve(query, seen)
    asked = facts(ask(query))
    mine = facts("" if right is None else say(query, right))
    return _alike(mine - asked, facts(answer) - asked)


def facts(text: str) -> set[str]:
    """What a sentence claims: numbers, colours, shapes, places and yes or no, each once.

    >>> sorted(facts("There are three red circles.")), sorted(facts("Yes, on the left."))
    (['3', 'circle', 'red'], ['left', 'yes'])
    """
    named: set[str] = {*map(str, numbers_in(text)), *colours_in(text), *shapes_in(text)}
    return named | {word.lower() for word in _FACTS.findall(text[:1].lower() + text[1:])}


def _alike(mine: set[str], theirs: set[str]) -> float:
    """The share of both sets that they have in common."""
    both = mine | theirs
    return len(mine & theirs) / len(both) if both else 0.0


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
