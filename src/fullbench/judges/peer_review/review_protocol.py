"""What is asked: a question about a picture from each reviewer, an answer from the others, two rulings on each pair.

The words are in the files of `prompts`. What they ask for is the paper's: a question and nothing else; an answer
reached step by step; a ruling on correctness alone, and one on visual understanding that leaves correctness aside.
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
from fullbench.core.item import INSTRUCTED, REQUEST, Item, Turn
from fullbench.core.model import DECLINED
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.rubric import CORRELATION
from fullbench.judges.peer_review.review_prompts import Wording, shipped

CRITERIA: Mapping[str, str] = shipped().criteria
"""What each of the two rulings goes by, in the usual words."""
BALLOT = Choice(tie=True)
COSINE = Real(-1, 1)
OPTIONS = "options"
"""The tag of a question with options: how many there are."""
KEY = "key"
"""The tag of a question with options: the letter of the right one."""


def writing(images: Mapping[str, Picture], wording: Wording | None = None) -> list[Item]:
    """For each picture the request to write a question about it."""
    said = wording or shipped()
    return [
        Item.ask(f"ask {name}{_marked(said)}", said.write, picture, tags={"image": name, REQUEST: "question"})
        for name, picture in images.items()
    ]


def _marked(wording: Wording) -> str:
    return f" [{wording.mark}]" if wording.mark else ""


def cleaned(text: str) -> str:
    """The question that a reply consists of: without quotes, a leading label, or empty lines.

    >>> cleaned(' **Question:** "What stands on the left?"  ')
    'What stands on the left?'
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    question = "\n".join(lines)
    question = re.sub(r"^[*_#\s]*(?:question|问题)\s*[:：][*_\s]*", "", question, flags=re.IGNORECASE)
    return question.strip(" \t\n\"'“”‘’*_`")


def questions(images: Mapping[str, Picture], written: Iterable[Response], wording: Wording | None = None) -> list[Item]:
    """What reviewers wrote, as items: each bears its picture and its author. An empty or refused reply gives none."""
    said = wording or shipped()
    items = []
    names = {f"ask {name}{_marked(said)}": name for name in images}
    for response in written:
        name = names.get(response.item)
        asked = cleaned(response.text)
        if name is None or not asked or response.tags.get("stop") in DECLINED:
            continue
        turns = (Turn("system", (said.answer,)), Turn("user", (images[name], asked)))
        tags = {"image": name, "reviewer": response.contestant, INSTRUCTED: "yes"}
        items.append(Item(f"{name} | {response.contestant}{_marked(said)}", turns, tags=tags))
    return sorted(items, key=lambda item: item.id)


def given(items: Sequence[Item], wording: Wording | None = None) -> list[Item]:
    """Questions that nobody had to write, as contestants are asked them: with how they are to be answered before them.

    What shares a picture shares the tag `image`, by which reviews are kept together.
    """
    said = wording or shipped()
    asked = []
    for item in items:
        image = item.tags.get("image") or (item.pictures[0].digest[:16] if item.pictures else item.id)
        tags = {**{name: value for name, value in item.tags.items() if name != "reviewer"}, "image": image}
        turns = item.turns
        if turns[0].role != "system":
            turns = (Turn("system", (said.choose if OPTIONS in item.tags else said.answer,)), *turns)
            tags[INSTRUCTED] = "yes"
        asked.append(replace(item, id=f"{item.id}{_marked(said)}", turns=turns, tags=tags))
    return sorted(asked, key=lambda item: item.id)


def reviews(
    items: Sequence[Item], responses: Iterable[Response], *, orders: Orders = "shuffled", trials: int = 1, seed: int = 0
) -> Iterator[Case]:
    """Every two answers to a question, ruled on twice: by correctness and by visual understanding.

    Nobody is shown an answer to a question that its own author gave. Which of two is shown first is drawn from the
    seed, or both orders are heard.
    """
    author = {item.id: item.tags.get("reviewer") for item in items}
    answers = [response for response in responses if response.contestant != author.get(response.item)]
    by_criterion = [
        cases_of(items, answers, BALLOT, size=2, orders=orders, criterion=criterion, trials=trials, seed=seed)
        for criterion in CRITERIA
    ]
    return chain(*by_criterion)


def wording() -> dict[str, Any]:
    """What each of the two rulings goes by; the words around it are those of any judge of pairs: no scale has ends."""
    return {"criteria": CRITERIA, "ends": False}


def correlations(items: Sequence[Item], responses: Iterable[Response]) -> Iterator[Case]:
    """Every answer beside its picture, alone."""
    return cases_of(items, responses, COSINE, criterion=CORRELATION)
