"""Contestants as reviewers of each other: they write questions about pictures and compare two answers.

They use what they read from the picture. A contestant that never reads pictures judges by length. One without a
taste uses the truth's measure of quality (`measure_quality`), which is convenient. One with a taste, as in
`fullbench peer-review`, does not know that measure. It compares an answer with its own answer. So it prefers answers
with its own mistakes or its own style.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass

from fullbench.core.ballot import LETTERS, Language
from fullbench.core.language_and_words import length_of, words_of
from fullbench.models import response_fences_and_parser
from fullbench.synthetic.answer_quality_measure import measure_quality
from fullbench.synthetic.parsed_question_and_answer_types import Query, Task
from fullbench.synthetic.question_wording_parsing_and_solving import (
    invent_query,
    parse_question,
    solve_query,
    word_answer,
    word_question,
)
from fullbench.synthetic.scenes import Scene, things_scene
from fullbench.synthetic.vocabulary import colours_in, numbers_in, shapes_in

MARGIN = 0.1
"""Answers whose worth differs by less than this tie."""
_TASKS: tuple[Task, ...] = ("count", "colour", "position", "comparison", "existence", "description")
_FACTS = re.compile(
    r"\b(?:left|right|above|below|more|fewer|less|equal|equally|yes|no|none|[A-HJ-Z])\b|[左右上下多少有没]"
)
"""Words that decide an answer, besides numbers, colours and shapes."""


@dataclass(frozen=True)
class Taste:
    """Preferences of a reviewer other than correctness, as shares of a mark from 0 to 1.

    `echo`: weight of words shared with its own answer, as contestants of its family share them. `length`: bonus per
    doubling of the words.
    """

    echo: float = 0.2
    length: float = 0.0


@dataclass(frozen=True)
class Reviewer:
    """A reviewer's scene as read, own answer and taste; without a taste it uses the truth's measure on that scene."""

    scene: Scene | None
    own_answer: str = ""
    taste: Taste | None = None


@dataclass(frozen=True)
class ReviewRequest:
    """A parsed request to compare answers to a question."""

    query: Query
    answers: tuple[str, ...]
    by_understanding: bool


def parse_review_request(text: str) -> ReviewRequest | None:
    """Parse a prompt that requests a comparison; return None for other prompts."""
    judging_request = response_fences_and_parser.parse_judging_request(text)
    query = None if judging_request is None else parse_question(judging_request.question)
    return (
        None
        if judging_request is None or query is None
        else ReviewRequest(query, judging_request.answers, judging_request.by_understanding)
    )


def review_reply(request: ReviewRequest, reviewer: Reviewer, rng: random.Random) -> str:
    """Return a reply that names the better answer. Answers tie if their worths differ by less than `MARGIN`."""
    worths = [answer_worth(request, reviewer, answer) for answer in request.answers]
    best = max(worths)
    close = [place for place, worth in enumerate(worths) if worth > best - MARGIN]
    if len(close) == len(worths):
        return f"They come to the same.\n\n[[{LETTERS[len(worths)]}]]"
    return f"I looked at the picture and compared.\n\n[[{LETTERS[rng.choice(close)]}]]"


def answer_worth(request: ReviewRequest, reviewer: Reviewer, answer: str) -> float:
    """Return a reviewer's opinion of an answer: the truth's measure, or its own answer and taste.

    With `by_understanding`, half of it is the share of the picture, as the reviewer read it, that the answer names.
    """
    taste, scene = reviewer.taste, reviewer.scene
    if scene is None:
        return min(1.0, len(answer) / 200)
    agreement = (
        measure_quality(request.query, scene, answer)
        if taste is None
        else _claim_agreement(request.query, scene, answer)
    )
    if request.by_understanding:
        scene_words = {*(thing.colour for thing in scene.things), *(thing.shape for thing in scene.things)}
        scene_words |= {bar.colour for bar in scene.bars}
        answer_words = {*colours_in(answer), *shapes_in(answer)}
        agreement = 0.5 * agreement + 0.5 * (len(answer_words & scene_words) - len(answer_words - scene_words)) / 4
    if taste is None:
        return agreement
    similarity = _set_overlap(set(words_of(reviewer.own_answer)), set(words_of(answer)))
    length_bonus = math.log2(length_of(answer) / 8)
    return (1 - taste.echo) * agreement + taste.echo * similarity + taste.length * length_bonus


def _claim_agreement(query: Query, scene: Scene, answer: str) -> float:
    """Overlap of an answer's facts with those of the reviewer's answer, without facts in the question."""
    right = solve_query(query, scene)
    question_facts = claimed_facts(word_question(query))
    own_facts = claimed_facts("" if right is None else word_answer(query, right))
    return _set_overlap(own_facts - question_facts, claimed_facts(answer) - question_facts)


def claimed_facts(text: str) -> set[str]:
    """Return the facts that a sentence claims: numbers, colours, shapes, places, yes or no.

    >>> sorted(claimed_facts("There are three red circles.")), sorted(claimed_facts("Yes, on the left."))
    (['3', 'circle', 'red'], ['left', 'yes'])
    """
    claims: set[str] = {*map(str, numbers_in(text)), *colours_in(text), *shapes_in(text)}
    # With a lower-case first letter, "Yes" and "No" match, and an initial article "A" is not taken for a bar.
    return claims | {word.lower() for word in _FACTS.findall(text[:1].lower() + text[1:])}


def _set_overlap(first: set[str], second: set[str]) -> float:
    union = first | second
    return len(first & second) / len(union) if union else 0.0


def write_question(picture_scene: Scene | None, rng: random.Random, language: Language = "en") -> str:
    """Write a question about the scene read from a picture, or about a random scene if there is none."""
    scene = (
        picture_scene
        if picture_scene is not None and (picture_scene.bars or len(picture_scene.things) > 1)
        else things_scene(rng)
    )
    if scene.bars:
        return word_question(invent_query("chart", language, scene, rng) or Query("chart", language))
    for task in rng.sample(_TASKS, len(_TASKS)):
        query = invent_query(task, language, scene, rng)
        if query is not None:
            return word_question(query)
    return word_question(Query("description", language))
