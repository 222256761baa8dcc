"""Answers of graded quality: several answers to one question, whose quality follows from the scene."""

from __future__ import annotations

import random
from collections.abc import Iterator

from fullbench.audit.cases.synthetic_items import SceneQuestion, answer_for_random_scene
from fullbench.synthetic.question_meaning import Answer, Group
from fullbench.synthetic.questions import solve_query, word_answer
from fullbench.synthetic.scenes import LABELS, TEXT_LETTERS
from fullbench.synthetic.vocabulary import COLOURS, SHAPES

DRAWS = 40


def answers_by_quality(scene_question: SceneQuestion) -> dict[float, str]:
    """Return answers by quality (0 to 1 in quarters), best first; at least a right and a wrong one.

    >>> from fullbench.audit.cases.synthetic_items import draw_question
    >>> sorted(answers_by_quality(draw_question(0, "pairs", 0)))
    [0.0, 0.25, 0.5, 1.0]
    """
    rng = random.Random(f"{scene_question.name}/graded")
    texts: dict[float, str] = {1.0: scene_question.right}
    for answer in _candidate_answers(scene_question, rng):
        text = word_answer(scene_question.query, answer)
        texts.setdefault(scene_question.quality(text), text)
    texts.setdefault(scene_question.quality(scene_question.wrong), scene_question.wrong)
    return {worth: texts[worth] for worth in sorted(texts, reverse=True)}


def _candidate_answers(scene_question: SceneQuestion, rng: random.Random) -> Iterator[Answer]:
    """Yield answers that miss by a little, then by more, then answers for other scenes."""
    query, right = scene_question.query, solve_query(scene_question.query, scene_question.scene)
    if isinstance(right, tuple):
        yield from _wrong_descriptions(right, rng)
    elif isinstance(right, int):
        yield from (right + offset for offset in rng.sample((1, -1, 2, -2, 3, 5, 7), 7) if right + offset >= 0)
    elif query.task == "text":
        letters = list(str(right))
        for wrong_count in range(1, len(letters) + 1):
            changed_letters = [
                rng.choice([letter for letter in TEXT_LETTERS if letter not in letters]) for _ in range(wrong_count)
            ]
            yield "".join([*letters[:-wrong_count], *changed_letters])
    elif query.task == "difference":
        verb, colour, shape = str(right).split(" ")
        opposite_verb = "removed" if verb == "added" else "added"
        other_colour = rng.choice([hue for hue in COLOURS if hue != colour])
        other_shape = rng.choice([form for form in SHAPES if form != shape])
        yield from (
            f"{verb} {other_colour} {shape}",
            f"{opposite_verb} {colour} {shape}",
            f"{opposite_verb} {colour} {other_shape}",
        )
    elif query.task == "chart":
        yield from (bar.label for bar in scene_question.scene.bars if bar.label in LABELS and bar.label != right)
    elif query.task == "colour":
        yield from (colour for colour in COLOURS if colour != right)
    for _ in range(DRAWS):
        if (answer := answer_for_random_scene(query, scene_question.difficulty, rng)) is not None:
            yield answer


def _wrong_descriptions(right: tuple[Group, ...], rng: random.Random) -> Iterator[tuple[Group, ...]]:
    """Yield descriptions in which more and more groups have a wrong colour."""
    groups = list(right)
    for position, (count, colour, shape) in enumerate(groups):
        groups[position] = (count, rng.choice([hue for hue in COLOURS if hue != colour]), shape)
        yield tuple(groups)
