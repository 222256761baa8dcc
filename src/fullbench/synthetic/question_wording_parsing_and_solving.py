"""Questions about scenes: wording, parsing and solving.

A `Query` is the meaning of a question. `word_question` writes it in words, `parse_question` parses the words, and
`solve_query` answers it for a scene. The real scene gives the reference; the scene that a contestant read gives its
answer.
"""

from __future__ import annotations

import random
import re
from typing import get_args

from fullbench.synthetic import letter_picture_pair_and_sum_questions
from fullbench.synthetic.parsed_question_and_answer_types import Answer, Kind, Query, Task
from fullbench.synthetic.scenes import LABELS, TOP, Scene, Thing
from fullbench.synthetic.vocabulary import (
    COLOUR_ZH,
    COLOURS,
    SHAPES,
    Language,
    colours_in,
    count_of,
    join_phrases,
    noun_of,
    shapes_in,
)

TASKS: tuple[Task, ...] = get_args(Task)[:7]
"""Tasks of the synthetic benchmark; the wide one also has those of `wide_questions`."""
LANGUAGES: tuple[Language, ...] = get_args(Language)


_QUESTION_TEMPLATES: dict[tuple[str, str, Language], str] = {
    ("count", "", "en"): "How many {0}s are there in the picture?",
    ("count", "", "zh"): "图中有几个{0}？",
    ("colour", "", "en"): "What colour is the {0}?",
    ("colour", "", "zh"): "图中的{0}是什么颜色的？",
    ("colour", "largest", "en"): "What colour is the largest shape in the picture?",
    ("colour", "largest", "zh"): "图中最大的图形是什么颜色的？",
    ("position", "across", "en"): "Is the {0} to the left or to the right of the {1}?",
    ("position", "across", "zh"): "{0}在{1}的左边还是右边？",
    ("position", "down", "en"): "Is the {0} above or below the {1}?",
    ("position", "down", "zh"): "{0}在{1}的上方还是下方？",
    ("comparison", "", "en"): "Are there more {0}s than {1}s, fewer, or equally many?",
    ("comparison", "", "zh"): "图中的{0}比{1}多、少，还是一样多？",
    ("existence", "", "en"): "Is there any {0} in the picture?",
    ("existence", "", "zh"): "图中有{0}吗？",
    ("chart", "value", "en"): f"The axis runs from 0 to {TOP}. What value does bar {{detail}} show?",
    ("chart", "value", "zh"): f"坐标轴从0到{TOP}。{{detail}}柱的数值是多少？",
    ("chart", "", "en"): "Which bar is the tallest?",
    ("chart", "", "zh"): "哪根柱子最高？",
    **letter_picture_pair_and_sum_questions.QUESTION_TEMPLATES,
    ("description", "", "en"): "Describe the picture: which shapes, in which colours, how many of each?",
    ("description", "", "zh"): "请描述这幅图：其中的图形各是什么颜色，各有几个？",
}
# The first match wins, so the order matters: a Chinese description question also contains "几个", for example.
_TASK_PATTERNS: tuple[tuple[str, Task], ...] = (
    ("Describe|描述", "description"),
    *letter_picture_pair_and_sum_questions.TASK_PATTERNS,
    (r"\bbar\b|柱", "chart"),
    ("What colour|颜色", "colour"),
    ("left or to the right|above or below|左边还是右边|上方还是下方", "position"),
    ("equally many|一样多", "comparison"),
    ("Is there any|吗？", "existence"),
    ("How many|几个", "count"),
)
_KIND_COUNTS = {"position": (2, 2), "comparison": (2, 2), "problem": (2, 2), "count": (1, 99), "existence": (1, 99)}
"""Least and greatest number of kinds of things in a question; one for other tasks."""
_KIND = re.compile(
    rf"(?:\b({'|'.join(COLOURS)})\s+)?\b({'|'.join(SHAPES)}|shape)s?\b"
    rf"|(?:({'|'.join(COLOUR_ZH.values())})的)?(圆形|正方形|三角形|菱形|星形|图形)"
)


def word_question(query: Query) -> str:
    """Write the question in words.

    >>> (word_question(Query("count", "en", (Kind("red", "star"),))),
    ...  word_question(Query("count", "zh", (Kind("red", "star"),))))
    ('How many red stars are there in the picture?', '图中有几个红色的星形？')
    """
    form = "value" if query.task == "chart" and query.detail else "" if query.task == "problem" else query.detail
    nouns = [noun_of(*kind, query.language) for kind in query.kinds]
    return _QUESTION_TEMPLATES[query.task, form, query.language].format(
        *nouns, *query.detail.split(","), detail=query.detail
    )


def parse_question(question: str) -> Query | None:
    """Parse a question; return None if it is not a synthetic one.

    >>> parse_question("How many red stars are there in the picture?")
    Query(task='count', language='en', kinds=(Kind(colour='red', shape='star'),), detail='')
    """
    task = next((task for mark, task in _TASK_PATTERNS if re.search(mark, question)), None)
    if task is None:
        return None
    language: Language = "zh" if re.search(r"[\u4e00-\u9fff]", question) else "en"
    kinds = tuple(_parse_kind(phrase) for phrase in _KIND.finditer(question))
    detail = ""
    if task == "position":
        detail = "across" if re.search("left|左边", question) else "down"
    elif task == "chart" and (label := re.search(rf"bar ([{LABELS}])\b|([{LABELS}])柱", question)):
        detail = label[1] or label[2]
    elif task == "colour" and re.search("largest|最大", question):
        detail, kinds = "largest", ()
    elif task == "problem":
        detail = ",".join(re.findall(r"\d+", question)[:2])
    if task in {"chart", "description", "text", "difference"}:
        return Query(task, language, (), detail)
    # Reject text that only resembles a question, such as a prompt with several: it names too many things.
    min_kinds, max_kinds = _KIND_COUNTS.get(task, (1, 99)) if detail != "largest" else (0, 0)
    return Query(task, language, kinds, detail) if min_kinds <= len(kinds) <= max_kinds else None


def _parse_kind(phrase: re.Match[str]) -> Kind:
    colours, shapes = colours_in(phrase[0]), shapes_in(phrase[0])
    return Kind(colours[0] if colours else None, shapes[0] if shapes else None)


def solve_query(query: Query, scene: Scene) -> Answer | None:
    """Answer a question about a scene, or return None if the scene lacks the things in question."""
    match query.task:
        case "count":
            return scene.count(*query.kinds[0])
        case "existence":
            return "yes" if scene.count(*query.kinds[0]) else "no"
        case "comparison":
            lead = scene.count(*query.kinds[0]) - scene.count(*query.kinds[1])
            return "more" if lead > 0 else "fewer" if lead < 0 else "equal"
        case "description":
            return tuple((count, *kind) for kind, count in sorted(scene.groups().items())) or None
        case "colour":
            matching_things = scene.things_of_kind(*query.kinds[0]) if query.kinds else list(scene.things)
            return max(matching_things, key=lambda thing: thing.radius).colour if matching_things else None
        case "position":
            return _solve_position(query, scene)
        case "text" | "difference" | "problem":
            return letter_picture_pair_and_sum_questions.solve_wide_query(query, scene)
    return _solve_chart(query, scene)


def _solve_position(query: Query, scene: Scene) -> str | None:
    first, second = (scene.things_of_kind(*kind)[:1] for kind in query.kinds)
    if not first or not second:
        return None
    if query.detail == "across":
        return "left" if first[0].x < second[0].x else "right"
    return "above" if first[0].y < second[0].y else "below"


def _solve_chart(query: Query, scene: Scene) -> str | int | None:
    if not query.detail:
        return max(scene.bars, key=lambda bar: bar.value).label if scene.bars else None
    return next((bar.value for bar in scene.bars if bar.label == query.detail), None)


_SAY_ZH = {
    "left": "左边", "right": "右边", "above": "上方", "below": "下方", "more": "多", "fewer": "少",
}  # fmt: skip


def word_answer(query: Query, answer: Answer) -> str:
    """Write an answer as one plain sentence in the question's language."""
    if query.task in letter_picture_pair_and_sum_questions.TASKS:
        return letter_picture_pair_and_sum_questions.word_wide_answer(query, answer)
    return _say_zh(query, answer) if query.language == "zh" else _say_en(query, answer)


def _say_en(query: Query, answer: Answer) -> str:
    nouns = [noun_of(*kind, "en") for kind in query.kinds]
    match query.task:
        case "count":
            number = int(answer) if isinstance(answer, int) else 0
            verb = "is" if number == 1 else "are"
            return f"There {verb} {count_of(number, *query.kinds[0], 'en')} in the picture."
        case "existence":
            return f"Yes, there is {_with_article(nouns[0])}." if answer == "yes" else f"No, there is no {nouns[0]}."
        case "comparison" if answer == "equal":
            return f"There are equally many {nouns[0]}s and {nouns[1]}s."
        case "comparison":
            return f"There are {answer} {nouns[0]}s than {nouns[1]}s."
        case "colour":
            return f"The {nouns[0] if nouns else 'largest shape'} is {answer}."
        case "position":
            place = f"to the {answer} of" if query.detail == "across" else answer
            return f"The {nouns[0]} is {place} the {nouns[1]}."
        case "chart":
            return f"Bar {query.detail} shows {answer}." if query.detail else f"Bar {answer} is the tallest."
    return f"The picture shows {join_phrases(_group_phrases(answer, 'en'), 'en')}."


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun.startswith("o") else f"a {noun}"


def _say_zh(query: Query, answer: Answer) -> str:
    nouns = [noun_of(*kind, "zh") for kind in query.kinds]
    match query.task:
        case "count":
            return f"图中有{count_of(int(answer) if isinstance(answer, int) else 0, *query.kinds[0], 'zh')}。"
        case "existence":
            return f"有，图中有{nouns[0]}。" if answer == "yes" else f"没有，图中没有{nouns[0]}。"
        case "comparison" if answer == "equal":
            return f"{nouns[0]}和{nouns[1]}一样多。"
        case "comparison":
            return f"{nouns[0]}比{nouns[1]}{_SAY_ZH[str(answer)]}。"
        case "colour":
            return f"{nouns[0] if nouns else '最大的图形'}是{COLOUR_ZH[str(answer)]}的。"
        case "position":
            return f"{nouns[0]}在{nouns[1]}的{_SAY_ZH[str(answer)]}。"
        case "chart":
            return f"{query.detail}柱的数值是{answer}。" if query.detail else f"{answer}柱最高。"
    return f"图中有{join_phrases(_group_phrases(answer, 'zh'), 'zh')}。"


def _group_phrases(answer: Answer, language: Language) -> list[str]:
    return [count_of(*group, language) for group in answer] if isinstance(answer, tuple) else []


def invent_query(task: Task, language: Language, scene: Scene, rng: random.Random) -> Query | None:
    """Draw a fair question of this task about the scene, or return None if the scene allows none."""
    if task in {"description", "text", "difference"}:
        return Query(task, language)
    if task == "problem":
        return letter_picture_pair_and_sum_questions.invent_problem(language, scene, rng)
    if task == "chart":
        return Query(task, language, (), rng.choice([*(bar.label for bar in scene.bars), "", ""]))
    if task == "colour":
        return _invent_colour_query(language, scene, rng)
    if task == "position":
        return _invent_position_query(language, scene, rng)
    shapes = sorted({thing.shape for thing in scene.things})
    colours = sorted({thing.colour for thing in scene.things})
    if task == "comparison":
        return (
            Query(task, language, tuple(Kind(None, shape) for shape in rng.sample(shapes, 2))) if shapes[1:] else None
        )
    all_kinds = [Kind(colour, shape) for colour in colours for shape in shapes]
    if task == "existence":
        present_kinds = [kind for kind in all_kinds if scene.count(*kind)]
        missing = [kind for kind in all_kinds if not scene.count(*kind)]
        return Query(task, language, (rng.choice(missing if missing and rng.random() < 0.5 else present_kinds),))
    kinds = [Kind(colour) for colour in colours] + [Kind(None, shape) for shape in shapes]
    kinds += [kind for kind in all_kinds if scene.count(*kind) > 1]
    return Query("count", language, (rng.choice([kind for kind in kinds if scene.count(*kind) > 1] or kinds),))


def _invent_colour_query(language: Language, scene: Scene, rng: random.Random) -> Query | None:
    single_kinds = [Kind(None, shape) for shape in SHAPES if scene.count(None, shape) == 1]
    if single_kinds and rng.random() < 0.7:
        return Query("colour", language, (rng.choice(single_kinds),))
    radii = sorted((thing.radius for thing in scene.things), reverse=True)
    if radii[0] > 1.25 * radii[1]:
        return Query("colour", language, (), "largest")
    return Query("colour", language, (rng.choice(single_kinds),)) if single_kinds else None


def _invent_position_query(language: Language, scene: Scene, rng: random.Random) -> Query | None:
    single_things = [thing for thing in scene.things if scene.count(thing.colour, thing.shape) == 1]
    pairs = [
        (first, second, detail)
        for first in single_things
        for second in single_things
        for detail, gap in (("across", abs(first.x - second.x)), ("down", abs(first.y - second.y)))
        if gap > 30
    ]
    if not pairs:
        return None
    first, second, detail = rng.choice(pairs)
    return Query("position", language, (_kind_of(first), _kind_of(second)), detail)


def _kind_of(thing: Thing) -> Kind:
    return Kind(thing.colour, thing.shape)
