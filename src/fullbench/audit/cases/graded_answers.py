"""Answers of graded quality: of one question several answers, whose worth the scene itself tells."""

from __future__ import annotations

import random
from collections.abc import Iterator

from fullbench.audit.cases.synthetic_items import Asked, imagined
from fullbench.synthetic.question_meaning import Answer, Group
from fullbench.synthetic.questions import say, solve
from fullbench.synthetic.scenes import LABELS, WRITTEN
from fullbench.synthetic.vocabulary import COLOURS, SHAPES

DRAWS = 40


def graded(asked: Asked) -> dict[float, str]:
    """Answers by their quality (0 to 1 in quarters), the best first; at least a right one and a wrong one.

    >>> from fullbench.audit.cases.synthetic_items import asked
    >>> sorted(graded(asked(0, "pairs", 0)))
    [0.0, 0.25, 0.5, 1.0]
    """
    rng = random.Random(f"{asked.name}/graded")
    texts: dict[float, str] = {1.0: asked.right}
    for answer in _candidates(asked, rng):
        text = say(asked.query, answer)
        texts.setdefault(asked.quality(text), text)
    texts.setdefault(asked.quality(asked.wrong), asked.wrong)
    return {worth: texts[worth] for worth in sorted(texts, reverse=True)}


def _candidates(asked: Asked, rng: random.Random) -> Iterator[Answer]:
    """Answers that miss by a little, then by more, then those for other scenes."""
    query, right = asked.query, solve(asked.query, asked.scene)
    if isinstance(right, tuple):
        yield from _descriptions(right, rng)
    elif isinstance(right, int):
        yield from (right + off for off in rng.sample((1, -1, 2, -2, 3, 5, 7), 7) if right + off >= 0)
    elif query.task == "text":
        letters = list(str(right))
        for wrong in range(1, len(letters) + 1):
            changed = [rng.choice([letter for letter in WRITTEN if letter not in letters]) for _ in range(wrong)]
            yield "".join([*letters[:-wrong], *changed])
    elif query.task == "difference":
        verb, colour, shape = str(right).split(" ")
        turned = "removed" if verb == "added" else "added"
        other_colour = rng.choice([hue for hue in COLOURS if hue != colour])
        other_shape = rng.choice([form for form in SHAPES if form != shape])
        yield from (f"{verb} {other_colour} {shape}", f"{turned} {colour} {shape}", f"{turned} {colour} {other_shape}")
    elif query.task == "chart":
        yield from (bar.label for bar in asked.scene.bars if bar.label in LABELS and bar.label != right)
    elif query.task == "colour":
        yield from (colour for colour in COLOURS if colour != right)
    for _ in range(DRAWS):
        if (answer := imagined(query, asked.difficulty, rng)) is not None:
            yield answer


def _descriptions(right: tuple[Group, ...], rng: random.Random) -> Iterator[tuple[Group, ...]]:
    """Descriptions of which more and more groups have another colour."""
    groups = list(right)
    for place, (count, colour, shape) in enumerate(groups):
        groups[place] = (count, rng.choice([hue for hue in COLOURS if hue != colour]), shape)
        yield tuple(groups)
