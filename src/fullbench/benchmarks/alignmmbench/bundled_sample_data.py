"""Offline sample of AlignMMBench in two languages: two questions per task in several wordings, drawn pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fullbench.analysis.scored_answer_split_for_critic_training import split_responses
from fullbench.benchmarks.alignmmbench.release_files import case_of
from fullbench.benchmarks.alignmmbench.task_names import task_of
from fullbench.core.item import Item, Turn
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.files.row_readers import read_rows
from fullbench.judges.baselines import ChanceJudge, LengthJudge, ReferenceJudge

_FOLDER = Path(__file__).parent / "sample"
SEEDS = _FOLDER / "seeds.jsonl"
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


@cache
def _read_sample_picture(name: str) -> Picture:
    return Picture.from_bytes((_FOLDER / "pictures" / f"{name}.png").read_bytes(), name=name)


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
    turns[0] = Turn("user", (_read_sample_picture(row["picture"]), *turns[0].parts))
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
