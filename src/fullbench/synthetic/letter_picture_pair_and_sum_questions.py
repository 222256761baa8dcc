"""Question types of the wide synthetic benchmark: letters to read, two pictures to compare, sums.

A fourth type, the dialogue, needs no templates here: it has an earlier answer that may be wrong and a request to
look again.
"""

from __future__ import annotations

import random
import re
from collections import Counter

from fullbench.synthetic.parsed_question_and_answer_types import Answer, Kind, Query, Task
from fullbench.synthetic.scenes import Scene
from fullbench.synthetic.vocabulary import Language, colours_in, noun_of, numbers_in, shapes_in

TASKS = ("text", "difference", "problem")
LOOK_AGAIN = {
    "en": "Please look again. Is that right? Give the right answer.",
    "zh": "请再看一遍。刚才的回答对吗？请给出正确的回答。",
}
QUESTION_TEMPLATES: dict[tuple[str, str, Language], str] = {
    ("text", "", "en"): "Which letters are written in the picture?",
    ("text", "", "zh"): "图中写着哪些字母？",
    ("difference", "", "en"): "What has changed from the first picture to the second?",
    ("difference", "", "zh"): "第二幅图和第一幅图相比，有什么变化？",
    (
        "problem",
        "",
        "en",
    ): "Every {0} costs {2} coins and every {1} costs {3} coins. What do all of them cost together?",
    ("problem", "", "zh"): "每个{0}卖{2}元，每个{1}卖{3}元。全部加起来一共要多少元？",
}
TASK_PATTERNS: tuple[tuple[str, Task], ...] = (
    ("letters are written|哪些字母", "text"),
    ("has changed|有什么变化", "difference"),
    ("cost together|一共要多少元", "problem"),
)
_ADDED_PATTERN = re.compile(r"\b(?:added|new|appeared|more)\b|多了|增加|新增")
_REMOVED_PATTERN = re.compile(r"\b(?:removed|gone|missing|taken|disappeared|fewer)\b|少了|减少|消失")


def solve_wide_query(query: Query, scene: Scene) -> str | int | None:
    """Return the letters, the change or the sum, or None if the scene has none."""
    if query.task == "text":
        return scene.text or None
    if query.task == "difference":
        before, after = (Scene(things).groups() for things in (scene.earlier, scene.things))
        for verb, change in (("added", after - before), ("removed", before - after)):
            if change:
                (colour, shape), _ = change.most_common(1)[0]
                return f"{verb} {colour} {shape}"
        return None
    prices = [int(price) for price in query.detail.split(",")]
    return sum(price * scene.count(*kind) for price, kind in zip(prices, query.kinds, strict=True))


def word_wide_answer(query: Query, answer: Answer) -> str:
    """Write an answer as one plain sentence."""
    chinese = query.language == "zh"
    if query.task == "text":
        return f"图中写着{answer}。" if chinese else f"The letters are {answer}."
    if query.task == "problem":
        return f"一共要{answer}元。" if chinese else f"Together they cost {answer} coins."
    verb, colour, shape = str(answer).split(" ")
    noun = noun_of(colours_in(colour)[0], shapes_in(shape)[0], query.language)
    if chinese:
        return f"{'多' if verb == 'added' else '少'}了一个{noun}。"
    return f"{'An' if noun[0] in 'aeiou' else 'A'} {noun} was {verb}."


def measure_wide_quality(query: Query, right: Answer | None, text: str) -> float:
    """Return the quality of an answer in quarters: letters by edit distance, a change by the parts that are named."""
    if query.task == "text":
        words = re.findall(r"[A-Z]{2,}", text)
        return 0.0 if not words or right is None else _letter_accuracy(str(right), words[-1])
    if query.task == "problem":
        numbers = numbers_in(text)
        return float(bool(numbers) and numbers[-1] == right)
    if right is None:
        return 0.0
    verb, colour, shape = str(right).split(" ")
    verb_named = (_ADDED_PATTERN if verb == "added" else _REMOVED_PATTERN).search(text.lower()) is not None
    hits = (colour in colours_in(text)) + (shape in shapes_in(text))
    return (0.25 * hits + 0.5 * (hits == 2)) if verb_named else 0.25 * (hits == 2)


def _letter_accuracy(right: str, word: str) -> float:
    from rapidfuzz.distance import Levenshtein

    return int(4 * max(0.0, 1 - Levenshtein.distance(right, word) / len(right))) / 4


def invent_problem(language: Language, scene: Scene, rng: random.Random) -> Query | None:
    """Draw a sum over two kinds of things in the scene, with whole prices; None if it has fewer kinds."""
    kinds = sorted(Counter(scene.groups()))
    if len(kinds) < 2:
        return None
    prices = ",".join(str(price) for price in rng.sample(range(2, 7), 2))
    return Query("problem", language, tuple(Kind(*kind) for kind in rng.sample(kinds, 2)), prices)
