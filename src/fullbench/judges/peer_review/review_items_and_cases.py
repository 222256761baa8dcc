"""Items and cases of a peer review: a question per reviewer and picture, answers of the others, two verdicts per pair.

The texts are in the files of `prompts`. They follow the paper: a question and nothing else; an answer reached step by
step; a verdict on correctness alone, and one on visual understanding that ignores correctness.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from fullbench.core.ballot import Choice, Real
from fullbench.core.case import Case, Orders
from fullbench.core.case import cases as cases_of
from fullbench.core.item import INSTRUCTED_TAG, REQUEST, Item, Turn
from fullbench.core.model import DECLINED_STOPS
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.rubric import CORRELATION
from fullbench.judges.peer_review.review_prompts import ReviewTemplate, default_review_template

CRITERIA: Mapping[str, str] = default_review_template().criteria
BALLOT = Choice(tie=True)
COSINE = Real(-1, 1)
OPTIONS = "options"
"""Tag of a multiple-choice question: the number of options."""
KEY = "key"
"""Tag of a multiple-choice question: the letter of the right option."""


def question_requests(images: Mapping[str, Picture], review_template: ReviewTemplate | None = None) -> list[Item]:
    """Return the request to write a question, for each picture."""
    template = review_template or default_review_template()
    return [
        Item.ask(
            f"ask {name}{_mark_suffix(template)}", template.write, picture, tags={"image": name, REQUEST: "question"}
        )
        for name, picture in images.items()
    ]


def _mark_suffix(review_template: ReviewTemplate) -> str:
    return f" [{review_template.mark}]" if review_template.mark else ""


def clean_question(text: str) -> str:
    """Return the question in a reply, without quotes, a leading label, or empty lines.

    >>> clean_question(' **Question:** "What stands on the left?"  ')
    'What stands on the left?'
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    question = "\n".join(lines)
    question = re.sub(r"^[*_#\s]*(?:question|问题)\s*[:：][*_\s]*", "", question, flags=re.IGNORECASE)
    return question.strip(" \t\n\"'“”‘’*_`")


def written_questions(
    images: Mapping[str, Picture], written_responses: Iterable[Response], review_template: ReviewTemplate | None = None
) -> list[Item]:
    """Return the reviewers' questions as items with picture and author. An empty or refused reply gives none."""
    template = review_template or default_review_template()
    items = []
    names = {f"ask {name}{_mark_suffix(template)}": name for name in images}
    for response in written_responses:
        name = names.get(response.item)
        question = clean_question(response.text)
        if name is None or not question or response.tags.get("stop") in DECLINED_STOPS:
            continue
        turns = (Turn("system", (template.answer,)), Turn("user", (images[name], question)))
        tags = {"image": name, "reviewer": response.contestant, INSTRUCTED_TAG: "yes"}
        items.append(Item(f"{name} | {response.contestant}{_mark_suffix(template)}", turns, tags=tags))
    return sorted(items, key=lambda item: item.id)


def prepare_given_questions(items: Sequence[Item], review_template: ReviewTemplate | None = None) -> list[Item]:
    """Return existing questions as items, with the instruction for answering before them.
    Questions about the same picture share the tag `image`, which groups reviews.
    """
    template = review_template or default_review_template()
    prepared_items = []
    for item in items:
        image = item.tags.get("image") or (item.pictures[0].digest[:16] if item.pictures else item.id)
        tags = {**{name: value for name, value in item.tags.items() if name != "reviewer"}, "image": image}
        turns = item.turns
        if turns[0].role != "system":
            turns = (Turn("system", (template.choose if OPTIONS in item.tags else template.answer,)), *turns)
            tags[INSTRUCTED_TAG] = "yes"
        prepared_items.append(replace(item, id=f"{item.id}{_mark_suffix(template)}", turns=turns, tags=tags))
    return sorted(prepared_items, key=lambda item: item.id)


def review_cases(
    items: Sequence[Item], responses: Iterable[Response], *, orders: Orders = "shuffled", trials: int = 1, seed: int = 0
) -> Iterator[Case]:
    """Yield every pair of answers to a question twice: judged by correctness and by visual understanding.
    Answers by the author of a question are excluded. The order of a pair is drawn from the seed, or both are used.
    """
    author = {item.id: item.tags.get("reviewer") for item in items}
    answers = [response for response in responses if response.contestant != author.get(response.item)]
    by_criterion = [
        cases_of(items, answers, BALLOT, size=2, orders=orders, criterion=criterion, trials=trials, seed=seed)
        for criterion in CRITERIA
    ]
    return chain(*by_criterion)


def review_judge_options() -> dict[str, Any]:
    """Return the criteria of the two verdicts as options of a judge. No scale is used, so no ends are explained."""
    return {"criteria": CRITERIA, "ends": False}


def correlation_cases(items: Sequence[Item], responses: Iterable[Response]) -> Iterator[Case]:
    """Yield a case for every single answer with its picture."""
    return cases_of(items, responses, COSINE, criterion=CORRELATION)
