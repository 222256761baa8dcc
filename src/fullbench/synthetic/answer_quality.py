"""How right an answer is, given a scene: the real one for the truth, the one made out for a contestant that reviews.

Quality is 0 to 1 in quarters, so that a score of 1 to 5 states it without loss. Words beyond the answer neither help
nor hurt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from fullbench.synthetic import wide_questions
from fullbench.synthetic.question_meaning import Query
from fullbench.synthetic.questions import solve
from fullbench.synthetic.scenes import LABELS, Scene
from fullbench.synthetic.vocabulary import Colour, Shape, colours_in, groups_in, numbers_in

_PLACES = {"左边": "left", "右边": "right", "上方": "above", "下方": "below"}
_AMOUNTS = {"多": "more", "少": "fewer", "一样多": "equal", "less": "fewer"}


def quality(query: Query, scene: Scene, text: str) -> float:
    """How right an answer is, from 0 to 1 in quarters.

    A count that is off by one is half right and off by two a quarter; a chart's value loses a quarter for each unit; a
    choice among words (a colour, a place, yes or no) is right or wrong, and one of two when it names two; a
    description gets the harmonic mean of how much of it is there and how much of what is there it names.
    """
    right = solve(query, scene)
    match query.task:
        case "description":
            return _overlap(scene.groups(), text)
        case "count" | "chart" if isinstance(right, int):
            numbers = numbers_in(text)
            off = abs(numbers[-1] - right) if numbers else None
            credit = {0: 1.0, 1: 0.5, 2: 0.25} if query.task == "count" else {0: 1.0, 1: 0.75, 2: 0.5, 3: 0.25}
            return 0.0 if off is None else credit.get(off, 0.0)
        case "text" | "difference" | "problem":
            return wide_questions.quality(query, right, text)
    named = set(_named(query, text))
    return _quarters(1 / len(named)) if right in named else 0.0


def _named(query: Query, text: str) -> Iterable[str]:
    """The options that an answer names."""
    low = text.lower()
    match query.task:
        case "colour":
            return colours_in(text)
        case "position":
            return [
                _PLACES.get(word, word)
                for word in re.findall(r"\b(?:left|right|above|below)\b|左边|右边|上方|下方", low)
            ]
        case "comparison":
            words = re.findall(r"\b(?:more|fewer|less|equal)(?=\b|ly)|一样多|多|少", low)
            return [_AMOUNTS.get(word, word) for word in words]
        case "existence":
            ruled = re.search(r"\b(yes|there is|no|not|none)\b|(没有|不存在|有|存在)", low)
            return [] if ruled is None else ["yes" if ruled[0] in {"yes", "there is", "有", "存在"} else "no"]
    return re.findall(rf"(?<![A-Za-z])[{LABELS}](?![A-Za-z])", text)


def _overlap(there: Counter[tuple[Colour, Shape]], text: str) -> float:
    named: Counter[tuple[Colour, Shape]] = Counter()
    for number, colour, shape in groups_in(text):
        named[colour, shape] += number
    both = sum(min(count, named[kind]) for kind, count in there.items())
    return _quarters(2 * both / (sum(there.values()) + sum(named.values())))


def _quarters(share: float) -> float:
    return round(4 * share) / 4
