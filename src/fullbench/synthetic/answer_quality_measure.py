"""Quality of an answer from 0 to 1, given a scene.

The truth uses the real scene; a reviewing contestant uses the scene that it read from the picture. Quality comes
in quarters, so a score of 1 to 5 expresses it without loss. Extra words neither help nor hurt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from fullbench.synthetic import letter_picture_pair_and_sum_questions
from fullbench.synthetic.parsed_question_and_answer_types import Query
from fullbench.synthetic.question_wording_parsing_and_solving import solve_query
from fullbench.synthetic.scenes import LABELS, Scene
from fullbench.synthetic.vocabulary import Colour, Shape, colours_in, groups_in, numbers_in

_PLACES = {"左边": "left", "右边": "right", "上方": "above", "下方": "below"}
_AMOUNTS = {"多": "more", "少": "fewer", "一样多": "equal", "less": "fewer"}


def measure_quality(query: Query, scene: Scene, text: str) -> float:
    """Return the quality of an answer, from 0 to 1 in quarters.

    A count off by one gets a half, off by two a quarter. A chart value loses a quarter per unit. A choice among words
    (a colour, a place, yes or no) is right or wrong; naming two options halves it. A description gets the Dice overlap
    of the things in the scene and the things that it names.
    """
    right = solve_query(query, scene)
    match query.task:
        case "description":
            return _description_overlap(scene.groups(), text)
        case "count" | "chart" if isinstance(right, int):
            numbers = numbers_in(text)
            distance = abs(numbers[-1] - right) if numbers else None
            credit = {0: 1.0, 1: 0.5, 2: 0.25} if query.task == "count" else {0: 1.0, 1: 0.75, 2: 0.5, 3: 0.25}
            return 0.0 if distance is None else credit.get(distance, 0.0)
        case "text" | "difference" | "problem":
            return letter_picture_pair_and_sum_questions.measure_wide_quality(query, right, text)
    named_options = set(_find_named_options(query, text))
    return _round_to_quarter(1 / len(named_options)) if right in named_options else 0.0


def _find_named_options(query: Query, text: str) -> Iterable[str]:
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
            answer_match = re.search(r"\b(yes|there is|no|not|none)\b|(没有|不存在|有|存在)", low)
            return (
                []
                if answer_match is None
                else ["yes" if answer_match[0] in {"yes", "there is", "有", "存在"} else "no"]
            )
    return re.findall(rf"(?<![A-Za-z])[{LABELS}](?![A-Za-z])", text)


def _description_overlap(scene_groups: Counter[tuple[Colour, Shape]], text: str) -> float:
    named_groups: Counter[tuple[Colour, Shape]] = Counter()
    for number, colour, shape in groups_in(text):
        named_groups[colour, shape] += number
    shared_count = sum(min(count, named_groups[kind]) for kind, count in scene_groups.items())
    return _round_to_quarter(2 * shared_count / (sum(scene_groups.values()) + sum(named_groups.values())))


def _round_to_quarter(share: float) -> float:
    return round(4 * share) / 4
