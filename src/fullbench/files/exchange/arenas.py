"""Battles of arenas (LMArena, WildVision), MT-Bench's judgments, and AlpacaEval's outputs and annotations."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from fullbench.errors import InputError
from fullbench.files.exchange.common import (
    Gathering,
    conversation,
    files_in,
    picture_of,
    question_id,
    read_json,
    rows,
    text_of,
    words_of,
)
from fullbench.files.fields import SIDES, TIES
from fullbench.files.nouns import PICTURES
from fullbench.files.writers import write_rows
from fullbench.nouns.item import Item, Turn
from fullbench.nouns.record import Record
from fullbench.nouns.reproduction import Brought
from fullbench.nouns.verdict import PEOPLE

CHOICE = "choice+tie"
SHARE = "real:0-1"


def battles(path: Path, options: Mapping[str, str]) -> Brought:
    """Battles: question_id, model_a, model_b, winner, conversation_a, conversation_b, and an image in some.

    Options: `judge`, who ruled (people, where it is left out). The columns `judge` and `user_id` tell people apart.
    """
    held = Gathering(path)
    judge = options.get("judge", PEOPLE)
    for file, line, row in rows(path, "*.jsonl", "*.json", "*.parquet"):
        talks = {side: _said(row.get(f"conversation_{side}"), file) for side in "ab"}
        turns = talks["a"][:-1] if len(talks["a"]) > 1 else ()
        if not turns:
            asked = row.get("question", row.get("instruction", row.get("prompt")))
            if asked is None:
                held.leave_out("battles without a conversation or a question")
                continue
            turns = (Turn("user", (str(asked),)),)
        if row.get("image") is not None:
            first = turns[0]
            turns = (Turn(first.role, (picture_of(row["image"], file), *first.parts)), *turns[1:])
        name = str(row.get("question_id") or question_id(turns[-1].text))
        item = held.item(Item(name, turns, tags=_tags(row)))
        shown = []
        for side in "ab":
            who = text_of(row, f"model_{side}", path=file, line=line)
            last = (
                talks[side][-1].parts
                if talks[side]
                else (words_of(row.get(f"response_{side}", row.get(f"output_{side}"))),)
            )
            shown.append((who, held.response(item, who, last)))
        if shown[0] == shown[1]:
            held.leave_out("battles of a model with itself")
            continue
        winner = str(row.get("winner", "")).lower()
        if winner in TIES:
            marks = (0.5, 0.5)
        elif winner in SIDES:
            marks = (1.0, 0.0) if SIDES[winner] == 0 else (0.0, 1.0)
        else:
            held.leave_out("battles without a winner")
            continue
        rater = str(row.get("judge", row.get("user_id", ""))) if judge == PEOPLE else ""
        held.rule(judge, item, shown, CHOICE, marks, rater=rater)
    return held.brought()


def _said(messages: Any, path: Path) -> tuple[Turn, ...]:
    return conversation(messages, path) if isinstance(messages, list) else ()


def _tags(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: str(row[name]) for name in ("language", "category", "domain", "dataset") if isinstance(row.get(name), str)
    }


def mt_bench(path: Path, _options: Mapping[str, str]) -> Brought:
    """A folder of MT-Bench: question.jsonl, model_answer/*.jsonl, model_judgment/*.jsonl; each turn is a criterion."""
    held = Gathering(path)
    files = files_in(path, "*.jsonl")
    for _, _, row in (entry for name in files for entry in rows(name)):
        if "turns" in row and "question_id" in row:
            asked = [Turn("user", (str(turn),)) for turn in row["turns"]]
            held.item(Item(str(row["question_id"]), tuple(asked), tags=_tags(row)))
    for file, line, row in (entry for name in files for entry in rows(name)):
        item = str(row.get("question_id"))
        if "choices" in row:
            for choice in row["choices"]:
                held.response(
                    item, text_of(row, "model_id", path=file, line=line), tuple(map(words_of, choice["turns"]))
                )
        elif "judge" in row:
            _judgment(held, row, item)
    return held.brought()


def _judgment(held: Gathering, row: Mapping[str, Any], item: str) -> None:
    judge = row["judge"][0] if isinstance(row["judge"], list) else str(row["judge"])
    criterion = f"turn {row.get('turn', 1)}"
    if "score" in row:
        if row["score"] is None or not 1 <= float(row["score"]) <= 10:
            held.leave_out("judgments without a score")
            return
        text = str(row.get("judgment", ""))
        held.rule(
            judge, item, [(str(row["model"]), 0)], "real:1-10", [float(row["score"])], criterion=criterion, text=text
        )
        return
    pair = [str(row["model_1"]), str(row["model_2"])]
    for number in (1, 2):
        winner = str(row.get(f"g{number}_winner", "error"))
        if winner not in {"model_1", "model_2", "tie"}:
            held.leave_out("judgments without a winner")
            continue
        won = {"model_1": (1.0, 0.0), "model_2": (0.0, 1.0), "tie": (0.5, 0.5)}[winner]
        order = 1 if number == 1 else -1
        text = str(row.get(f"g{number}_judgment", ""))
        held.rule(
            judge, item, [(name, 0) for name in pair[::order]], CHOICE, won[::order], criterion=criterion, text=text
        )


def _output(row: Mapping[str, Any], name: str, file: Path, line: int) -> str:
    """The words of an answer, which may be none; the field itself has to be there."""
    return "" if row.get(name, "") is None else text_of(row, name, path=file, line=line)


def alpaca_eval(path: Path, _options: Mapping[str, str]) -> Brought:
    """AlpacaEval's outputs (instruction, output, generator) and annotations (output_1, output_2, preference).

    They have no ids: a question is its words with its `input`, pictures and data set, or its `question_id` where a row
    has one. An annotator that weighs (a preference of 1.3) marks both answers by shares, whose mean is its win rate.
    """
    held = Gathering(path)
    entries = [(file, line, row) for file in files_in(path, "*.json") for line, row in _array(file)]
    asked = [_question(row, file, line) for file, line, row in entries]
    sources: dict[str, set[str]] = {}
    for question in asked:
        sources.setdefault(question.id, set()).update(filter(None, [question.tags.get("dataset")]))
    shares = [_share(row.get("preference")) for _, _, row in entries]
    weighing = {
        _annotator(row) for (_, _, row), share in zip(entries, shares, strict=True) if share not in {None, 0, 0.5, 1}
    }
    for (file, line, row), question, share in zip(entries, asked, shares, strict=True):
        several = len(sources[question.id]) > 1  # the same words in several data sets are several questions
        name = question_id(f"{question.id} {question.tags.get('dataset', '')}") if several else question.id
        item = held.item(replace(question, id=name))
        sides = [""] if "generator" in row else ["_1", "_2"]
        shown = []
        for side in sides:
            who = text_of(row, f"generator{side}", path=file, line=line)
            shown.append((who, held.response(item, who, (_output(row, f"output{side}", file, line),))))
            if shown[-1][1]:
                held.leave_out("further answers of a model to the same question: taken as its next samples")
        if len(shown) == 1:
            continue
        if shown[0] == shown[1]:
            held.leave_out("annotations of an answer beside itself")
        elif share is None:
            held.leave_out("annotations without a preference")
        else:
            judge = _annotator(row)
            text = row.get("raw_completion") or ""
            trial = held.rule(
                judge, item, shown, SHARE if judge in weighing else CHOICE, (1 - share, share),
                rater=words_of(row.get("rater")), text=text if isinstance(text, str) else json.dumps(text),
            )  # fmt: skip
            if trial:
                held.leave_out("further annotations of the same two answers: taken as next trials")
    return held.brought()


def _array(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    content = read_json(file)
    if not isinstance(content, list) or not all(isinstance(row, Mapping) for row in content):
        raise InputError("AlpacaEval's files hold one array of objects [{...}]", path=file)
    yield from enumerate(content, 1)


def _question(row: Mapping[str, Any], file: Path, line: int) -> Item:
    """What a row asks; its id is a digest of that, unless it has one."""
    words = text_of(row, "instruction", path=file, line=line)
    if extra := words_of(row.get("input")):
        words = f"{words}\n\n{extra}"
    pictures = [
        picture_of(value, file) for name in ("pictures", *PICTURES) for value in _listed(row.get(name)) if value
    ]
    name = words_of(row.get("question_id")) or question_id("\n".join([words, *(one.digest for one in pictures)]))
    return Item(name, (Turn("user", (*pictures, words)),), tags=_tags(row))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _annotator(row: Mapping[str, Any]) -> str:
    return str(row.get("annotator") or "alpaca_eval")


def _share(preference: Any) -> float | None:
    """How much of a preference is the second answer's; older releases write a draw as 0."""
    try:
        number = float(preference)
    except (TypeError, ValueError):
        return None
    return 0.5 if number == 0 else number - 1 if 1 <= number <= 2 else None


def write_battles(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Comparisons of two as LMArena's battles. Options: `judge`, whose; all where it is left out."""
    battle_rows = []
    compared, without = _pairs(record, options)
    for verdict, pair, marks in compared:
        winner = "tie" if marks[0] == marks[1] else "model_a" if marks[0] > marks[1] else "model_b"
        item = record.items.get(verdict.item)
        row = {"question_id": verdict.item, "model_a": pair[0][0], "model_b": pair[1][0], "winner": winner}
        row |= {"judge": verdict.rater or verdict.judge, "turn": 1, "tstamp": verdict.at}
        for side, (who, sample) in zip("ab", pair, strict=True):
            answer = record.responses.get((verdict.item, who, sample))
            talk = [] if item is None else [{"role": turn.role, "content": turn.text} for turn in item.turns]
            row[f"conversation_{side}"] = [*talk, {"role": "assistant", "content": answer.text if answer else ""}]
        battle_rows.append(row)
    return {"battles": write_rows(path, battle_rows), **without}


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
        dataset = {"dataset": item.tags["dataset"]} if item and "dataset" in item.tags else {}
        alpaca_rows.append({
            "instruction": item.question if item else verdict.item, "question_id": verdict.item, **dataset,
            "output_1": answers[0].text if answers[0] else "", "generator_1": pair[0][0],
            "output_2": answers[1].text if answers[1] else "", "generator_2": pair[1][0],
            "annotator": verdict.judge, **({"rater": verdict.rater} if verdict.rater else {}),
            "preference": preference, "raw_completion": verdict.text,
        })  # fmt: skip
    return {"annotations": write_rows(path, alpaca_rows), **without}


def _pairs(record: Record, options: Mapping[str, str]) -> tuple[list[tuple[Any, Any, Any]], dict[str, int]]:
    """Every two responses that a verdict compares, and how many verdicts compare none, if there are such."""
    wanted = record.where(judge=options["judge"]) if "judge" in options else record
    compared: list[tuple[Any, Any, Any]] = []
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
