"""Offline sample of AlignMMBench in two languages: two questions per task in several wordings, drawn pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fullbench.analysis.critic_train_test_split import split_responses
from fullbench.benchmarks.align_mm.release_files import case_of
from fullbench.benchmarks.align_mm.task_names import task_of
from fullbench.core.item import Item, Turn
from fullbench.core.picture import Picture
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.files.readers import read_rows
from fullbench.judges.baselines import ChanceJudge, LengthJudge, ReferenceJudge
from fullbench.picture_decoding import encode_png

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw


# Pictures are drawn on demand: simple scenes with an obvious right answer.
_SIZE = (240, 160)


def _draw_night(draw: ImageDraw) -> None:
    draw.rectangle((0, 0, *_SIZE), fill="#101a40")
    draw.rectangle((0, 125, *_SIZE), fill="#1d3a22")
    draw.rectangle((60, 70, 140, 130), fill="#8a7a68")
    draw.polygon([(50, 70), (100, 35), (150, 70)], fill="#a03c30")
    draw.rectangle((80, 78, 104, 98), fill="#ffe27a")
    draw.ellipse((185, 15, 215, 45), fill="#f2f0dc")


def _draw_apples(draw: ImageDraw) -> None:
    draw.rectangle((0, 0, *_SIZE), fill="#8b5e3c")
    for place in range(7):
        left, top = 12 + 32 * place, 60 + 12 * (place % 2)
        draw.ellipse((left, top, left + 28, top + 28), fill="#c62828" if place < 5 else "#4caf50")
        draw.line((left + 14, top, left + 16, top - 8), fill="#3e2723", width=2)


def _draw_pyramids(draw: ImageDraw) -> None:
    draw.rectangle((0, 0, *_SIZE), fill="#9fd0f0")
    draw.rectangle((0, 115, *_SIZE), fill="#e0c184")
    for left, right, top in ((20, 130, 30), (110, 180, 65), (170, 225, 80)):
        draw.polygon([(left, 120), ((left + right) // 2, top), (right, 120)], fill="#c49a53", outline="#8a6a33")


def _draw_chart(draw: ImageDraw) -> None:
    draw.line((20, 140, 225, 140), fill="black", width=2)
    for place, value in enumerate((12, 20, 8)):
        left = 40 + 62 * place
        draw.rectangle((left, 140 - 5 * value, left + 40, 140), fill="#2457c5")
        draw.text((left + 10, 122 - 5 * value), str(value), fill="black")


def _draw_sign(draw: ImageDraw) -> None:
    draw.rectangle((0, 0, *_SIZE), fill="#d9d2c5")
    draw.rectangle((40, 40, 200, 110), fill="#1a7f5a", outline="white", width=4)
    draw.text((82, 68), "OPEN 9-17", fill="white")


def _draw_snail(draw: ImageDraw) -> None:
    draw.rectangle((0, 120, *_SIZE), fill="#6da34d")
    draw.rounded_rectangle((40, 104, 195, 122), 9, fill="#c8a27a")
    for inset in (0, 10, 20):
        draw.ellipse((75 + inset, 45 + inset, 145 - inset, 110 - inset), outline="#7a4b1e", width=5)
    draw.line((185, 106, 200, 84), fill="#c8a27a", width=4)
    draw.text((88, 28), "EXPRESS", fill="#b00020")


def _draw_triangle(draw: ImageDraw) -> None:
    draw.polygon([(40, 130), (160, 130), (40, 40)], outline="black", width=3)
    draw.rectangle((40, 118, 52, 130), outline="black")
    for place, text in (((95, 136), "4"), ((26, 80), "3"), ((108, 72), "?")):
        draw.text(place, text, fill="black")


def _draw_cups(draw: ImageDraw) -> None:
    draw.rectangle((30, 30, 110, 130), fill="#2457c5")
    draw.arc((95, 55, 135, 105), 270, 90, fill="#2457c5", width=8)
    draw.rectangle((160, 90, 200, 130), fill="#f08c2e")
    draw.arc((190, 98, 212, 122), 270, 90, fill="#f08c2e", width=5)


_SCENES: dict[str, Callable[[ImageDraw], None]] = {
    "apples": _draw_apples,
    "chart": _draw_chart,
    "cups": _draw_cups,
    "night": _draw_night,
    "pyramids": _draw_pyramids,
    "sign": _draw_sign,
    "snail": _draw_snail,
    "triangle": _draw_triangle,
}


@cache
def draw_picture(name: str) -> Picture:
    """Draw one of the sample's pictures."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", _SIZE, "white")
    _SCENES[name](ImageDraw.Draw(image))
    return Picture.from_bytes(encode_png(image), name=name)


SEEDS = Path(__file__).parent / "sample" / "seeds.jsonl"
CONTESTANTS: Mapping[str, Sequence[str]] = {
    "steady": ("right", "right", "right"),
    "fickle": ("right", "short", "wrong"),
    "terse": ("short", "short", "short"),
    "steady without image": ("blind", "blind", "blind"),
}
"""Kind of answer of each contestant to the first, second and third wording of a question."""
_MARK_DOWN_INTERVALS = {"right": 11, "short": 3, "wrong": 7, "blind": 5}
"""For each kind of answer, people mark every n-th one lower by one point, to imitate disagreement."""


@cache
def _read_seeds() -> tuple[dict[str, Any], ...]:
    return tuple(row for _, row in read_rows(SEEDS))


def sample_items() -> list[Item]:
    """Return all items, one per wording."""
    return [_build_item(row, variant) for row in _read_seeds() for variant in range(len(row["questions"]))]


def _build_item(row: Mapping[str, Any], variant: int) -> Item:
    task = task_of(row["task"])
    exchanges = [(turn["user"], turn["assistant"]) for turn in row["history"]]
    turns = [
        turn for question, answer in exchanges for turn in (Turn("user", (question,)), Turn("assistant", (answer,)))
    ]
    turns.append(Turn("user", (row["questions"][variant],)))
    turns[0] = Turn("user", (draw_picture(row["picture"]), *turns[0].parts))
    tags = {
        "seed": row["id"],
        "variant": str(variant),
        "task": task.name,
        "category": task.category,
        "language": row["language"],
    }
    return Item(f"{row['id']}-{variant}", tuple(turns), row["reference"], tags=tags)


def _answer_kinds() -> Iterator[tuple[Mapping[str, Any], int, str, str]]:
    for row in _read_seeds():
        for variant in range(len(row["questions"])):
            for contestant, kinds in CONTESTANTS.items():
                yield row, variant, contestant, kinds[variant]


def sample_responses() -> list[Response]:
    """Return the answers of the four contestants; `terse` is excluded from critic training."""
    answers = [
        Response.say(f"{row['id']}-{variant}", contestant, row["answers"][kind])
        for row, variant, contestant, kind in _answer_kinds()
    ]
    return split_responses(answers, {item.id: item for item in sample_items()}, external={"terse"})


def sample_record() -> Record:
    """Return the sample with people's scores and the verdicts of the length, chance and reference baselines."""
    items_by_id = {item.id: item for item in sample_items()}
    answers = {(response.item, response.contestant): response for response in sample_responses()}
    cases = [case_of(items_by_id[response.item], response) for response in answers.values()]
    verdicts: list[Verdict] = list(_people_verdicts(items_by_id, answers))
    for judge in (LengthJudge(), ChanceJudge(0), ReferenceJudge()):
        verdicts += [verdict for verdict in judge.judge(cases) if isinstance(verdict, Verdict)]
    return Record(tuple(verdicts), items_by_id, answers)


def _people_verdicts(items_by_id: Mapping[str, Item], answers: Mapping[tuple[str, str], Response]) -> Iterator[Verdict]:
    """One score per kind of answer, at fixed intervals one point less."""
    for place, (row, variant, contestant, kind) in enumerate(_answer_kinds()):
        name = f"{row['id']}-{variant}"
        mark = max(1, row["people"][kind] - (place % _MARK_DOWN_INTERVALS[kind] == 0))
        yield Verdict.from_case(case_of(items_by_id[name], answers[name, contestant]), PEOPLE, (mark,))
