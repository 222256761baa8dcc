"""A small sample in two languages, made by us, that runs offline: two questions for each task, in several wordings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fullbench.benchmarks.align_mm.drawing import picture
from fullbench.benchmarks.align_mm.release import case_of
from fullbench.benchmarks.align_mm.tasks import task_of
from fullbench.analysis.critic_train_test_split import split
from fullbench.files.readers import read_rows
from fullbench.judges.baselines import ChanceJudge, LengthJudge, ReferenceJudge
from fullbench.core.item import Item, Turn
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict

SEEDS = Path(__file__).parent / "sample" / "seeds.jsonl"
CONTESTANTS: Mapping[str, Sequence[str]] = {
    "steady": ("right", "right", "right"),
    "fickle": ("right", "short", "wrong"),
    "terse": ("short", "short", "short"),
    "steady without image": ("blind", "blind", "blind"),
}
"""What each contestant makes of the first, second and third wording of a question."""
_DOUBT = {"right": 11, "short": 3, "wrong": 7, "blind": 5}
"""Every how manyth answer of a kind people mark down by one, as people do."""


@cache
def _seeds() -> tuple[dict[str, Any], ...]:
    return tuple(row for _, row in read_rows(SEEDS))


def items() -> list[Item]:
    """All items, wording by wording."""
    return [_item(row, variant) for row in _seeds() for variant in range(len(row["questions"]))]


def _item(row: Mapping[str, Any], variant: int) -> Item:
    task = task_of(row["task"])
    exchanges = [(turn["user"], turn["assistant"]) for turn in row["history"]]
    turns = [turn for asked, answered in exchanges for turn in (Turn("user", (asked,)), Turn("assistant", (answered,)))]
    turns.append(Turn("user", (row["questions"][variant],)))
    turns[0] = Turn("user", (picture(row["picture"]), *turns[0].parts))
    tags = {
        "seed": row["id"],
        "variant": str(variant),
        "task": task.name,
        "category": task.category,
        "language": row["language"],
    }
    return Item(f"{row['id']}-{variant}", tuple(turns), row["reference"], tags=tags)


def _answers() -> Iterator[tuple[Mapping[str, Any], int, str, str]]:
    """Every seed, wording, contestant, and the kind of answer that it gives there."""
    for row in _seeds():
        for variant in range(len(row["questions"])):
            for contestant, kinds in CONTESTANTS.items():
                yield row, variant, contestant, kinds[variant]


def responses() -> list[Response]:
    """What the four contestants answer; `terse` is the one that no critic may learn from."""
    answers = [
        Response.say(f"{row['id']}-{variant}", contestant, row["answers"][kind])
        for row, variant, contestant, kind in _answers()
    ]
    return split(answers, {item.id: item for item in items()}, external={"terse"})


def record() -> Record:
    """The sample with people's scores, and what length, chance and overlap with the reference make of it."""
    asked = {item.id: item for item in items()}
    answers = {(response.item, response.contestant): response for response in responses()}
    cases = [case_of(asked[response.item], response) for response in answers.values()]
    verdicts: list[Verdict] = list(_labels(asked, answers))
    for judge in (LengthJudge(), ChanceJudge(0), ReferenceJudge()):
        verdicts += [heard for heard in judge.hear(cases) if isinstance(heard, Verdict)]
    return Record(tuple(verdicts), asked, answers)


def _labels(asked: Mapping[str, Item], answers: Mapping[tuple[str, str], Response]) -> Iterator[Verdict]:
    """People's scores: one for each kind of answer, and now and then one less."""
    for place, (row, variant, contestant, kind) in enumerate(_answers()):
        name = f"{row['id']}-{variant}"
        mark = max(1, row["people"][kind] - (place % _DOUBT[kind] == 0))
        yield Verdict.of(case_of(asked[name], answers[name, contestant]), PEOPLE, (mark,))
