"""What is asked: a question about a picture from each reviewer, an answer from the others, two rulings on each pair.

The words are ours. What they ask for is the paper's: a question and nothing else; an answer reached step by step; a
ruling on correctness alone, and one on visual understanding that leaves correctness aside.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from fullbench.nouns.ballot import Choice, Real
from fullbench.nouns.case import Case, Orders
from fullbench.nouns.case import cases as cases_of
from fullbench.nouns.criteria import CORRECTNESS, CORRELATION, VISUAL
from fullbench.nouns.item import Item, Turn
from fullbench.nouns.model import DECLINED
from fullbench.nouns.picture import Picture
from fullbench.nouns.response import Response

WRITE = (
    "You will examine how well others understand this picture. Write one question that can only be answered by looking "
    "at it, and whose right answer you are sure of. Reply with the question alone."
)
ANSWER = (
    "Answer the question about the picture. Say first what matters in the picture, then how it leads to the answer, "
    "step by step, and end with the answer itself in one plain sentence."
)
CRITERIA: Mapping[str, str] = {
    CORRECTNESS: (
        "which answer is right about the picture, and nothing else. If just one of them is right it wins, however it "
        "is written; if both are right, or both are wrong, it is a tie"
    ),
    VISUAL: (
        "how well each answer understands the picture: how exactly it says what is to be seen, how soundly it reasons, "
        "whether it finds things where they are, and whether it sees how they stand to each other. Leave aside whether "
        "the final answer is right"
    ),
}
BALLOT = Choice(tie=True)
COSINE = Real(-1, 1)


def writing(images: Mapping[str, Picture]) -> list[Item]:
    """For each picture the request to write a question about it."""
    return [Item.ask(f"ask {name}", WRITE, picture, tags={"image": name}) for name, picture in images.items()]


def cleaned(text: str) -> str:
    """The question that a reply consists of: without quotes, a leading label, or empty lines.

    >>> cleaned(' **Question:** "What stands on the left?"  ')
    'What stands on the left?'
    """
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    question = "\n".join(lines)
    question = re.sub(r"^[*_#\s]*(?:question|问题)\s*[:：][*_\s]*", "", question, flags=re.IGNORECASE)
    return question.strip(" \t\n\"'“”‘’*_`")


def questions(images: Mapping[str, Picture], written: Iterable[Response]) -> list[Item]:
    """What reviewers wrote, as items: each bears its picture and its author. An empty or refused reply gives none."""
    items = []
    names = {f"ask {name}": name for name in images}
    for response in written:
        name = names.get(response.item)
        asked = cleaned(response.text)
        if name is None or not asked or response.tags.get("stop") in DECLINED:
            continue
        turns = (Turn("system", (ANSWER,)), Turn("user", (images[name], asked)))
        tags = {"image": name, "reviewer": response.contestant}
        items.append(Item(f"{name} | {response.contestant}", turns, tags=tags))
    return sorted(items, key=lambda item: item.id)


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


def correlations(items: Sequence[Item], responses: Iterable[Response]) -> Iterator[Case]:
    """Every answer beside its picture, alone."""
    return cases_of(items, responses, COSINE, criterion=CORRELATION)
