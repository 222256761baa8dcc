"""Comparisons of two responses as others write them: battles of arenas, annotations of AlpacaEval."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from fullbench.errors import InputError
from fullbench.files.exchange.common import SHARE, TAGS
from fullbench.files.pictures import data_uri
from fullbench.files.writers import write_rows
from fullbench.core.item import Item
from fullbench.core.record import Record
from fullbench.core.response import Response
from fullbench.core.verdict import Verdict

_Pair = tuple[Verdict, tuple[tuple[str, int], tuple[str, int]], tuple[float, float]]
"""A verdict, two of the responses that it compares, and their marks."""


def write_battles(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Comparisons of two as LMArena's battles. Options: `judge`, whose; all where it is left out."""
    battle_rows = []
    compared, without = _pairs(record, options)
    for verdict, pair, marks in compared:
        winner = "tie" if marks[0] == marks[1] else "model_a" if marks[0] > marks[1] else "model_b"
        item = record.items.get(verdict.item)
        row: dict[str, Any] = {
            "question_id": verdict.item,
            "model_a": pair[0][0],
            "model_b": pair[1][0],
            "winner": winner,
        }
        row |= {"judge": verdict.rater or verdict.judge, "annotator": verdict.judge, "rater": verdict.rater}
        row |= {"turn": _turn(verdict.criterion, item), "anony": True, "tstamp": verdict.at, **_about(verdict, item)}
        for side, (who, sample) in zip("ab", pair, strict=True):
            row[f"conversation_{side}"] = _talk(item, record.responses.get((verdict.item, who, sample)))
        if item is not None and item.pictures:
            row["images"] = [data_uri(picture) for picture in item.pictures]
        battle_rows.append(row)
    return {"battles": write_rows(path, battle_rows), **_whose(compared), **without}


def _turn(criterion: str, item: Item | None) -> int:
    """The round that a ruling is on; where it is on all, their number, as arenas have it."""
    name, _, number = criterion.partition(" ")
    if name == "turn" and number.isdigit():
        return int(number)
    return sum(turn.role == "user" for turn in item.turns) if item else 1


def _about(verdict: Verdict, item: Item | None) -> dict[str, str]:
    """What a comparison is of: tags that others know, and the criterion where it is not the usual one."""
    tags = {name: item.tags[name] for name in TAGS if item and name in item.tags}
    return tags if verdict.criterion == "overall" else {**tags, "criterion": verdict.criterion}


def _whose(compared: list[_Pair]) -> dict[str, int]:
    """How many are whose, where several judges' stand in one file: a rating of all of them would mix them."""
    counts = Counter(verdict.judge for verdict, _, _ in compared)
    if len(counts) < 2:
        return {}
    last = max(counts)
    mixed = f"by {last}; --judge NAME writes one judge's alone, which ratings need"
    return {mixed if judge == last else f"by {judge}": counts[judge] for judge in sorted(counts)}


def _talk(item: Item | None, answer: Response | None) -> list[dict[str, str]]:
    """A conversation with an answer at its end, or with an answer to each turn where there are as many."""
    turns = item.turns if item else ()
    said = [part for part in answer.parts if isinstance(part, str)] if answer else [""]
    asked = [turn for turn in turns if turn.role == "user"]
    rounds = len(said) == len(asked) > 1 and not any(turn.role == "assistant" for turn in turns)
    messages = []
    for turn in turns:
        messages.append({"role": turn.role, "content": turn.text})
        if rounds and turn.role == "user":
            messages.append({"role": "assistant", "content": said.pop(0)})
    return messages if rounds else [*messages, {"role": "assistant", "content": "\n".join(said)}]


def write_alpaca(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Comparisons of two as AlpacaEval's annotations. Options: `judge`, whose; all where it is left out."""
    alpaca_rows = []
    compared, without = _pairs(record, options)
    for verdict, pair, marks in compared:
        item = record.items.get(verdict.item)
        answers = [record.responses.get((verdict.item, *entrant)) for entrant in pair]
        preference = 1.5 if marks[0] == marks[1] else 1.0 if marks[0] > marks[1] else 2.0
        if verdict.ballot == SHARE and math.isclose(sum(marks), 1):
            preference = 1 + marks[1]
        pictures = [data_uri(picture) for picture in item.pictures] if item else []
        alpaca_rows.append({
            "instruction": item.question if item else verdict.item, "question_id": verdict.item,
            **_about(verdict, item), **({"pictures": pictures} if pictures else {}),
            "output_1": answers[0].text if answers[0] else "", "generator_1": pair[0][0],
            "output_2": answers[1].text if answers[1] else "", "generator_2": pair[1][0],
            "annotator": verdict.judge, **({"rater": verdict.rater} if verdict.rater else {}),
            "preference": preference, "raw_completion": verdict.text,
        })  # fmt: skip
    return {"annotations": write_rows(path, alpaca_rows), **_whose(compared), **without}


def _pairs(record: Record, options: Mapping[str, str]) -> tuple[list[_Pair], dict[str, int]]:
    """Every two responses that a verdict compares, and how many verdicts compare none, if there are such."""
    wanted = record.where(judge=options["judge"]) if "judge" in options else record
    compared: list[_Pair] = []
    left: Counter[str] = Counter()
    for verdict in wanted:
        if verdict.marks is None:
            left["verdicts without marks left out"] += 1
            continue
        shown = list(zip(verdict.shown, verdict.marks, strict=True))
        if len(shown) == 1:
            left["verdicts on one response left out"] += 1
        compared += [
            (verdict, (first[0], second[0]), (first[1], second[1])) for first, second in combinations(shown, 2)
        ]
    if not compared:
        who = f" of {options['judge']!r}" if "judge" in options else ""
        raise InputError(
            f"the record holds no comparison of two responses{who}; judges there: {', '.join(record.judges)}"
        )
    return compared, dict(left)
