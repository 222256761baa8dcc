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
from fullbench.files.pictures import data_uri
from fullbench.files.readers import parse_json
from fullbench.files.writers import write_rows
from fullbench.nouns.item import Item, Part, Turn, parts_content
from fullbench.nouns.record import Record
from fullbench.nouns.reproduction import Brought
from fullbench.nouns.response import Response
from fullbench.nouns.verdict import PEOPLE

CHOICE = "choice+tie"
SHARE = "real:0-1"


def battles(path: Path, options: Mapping[str, str]) -> Brought:
    """Battles: question_id, model_a, model_b, winner, conversation_a, conversation_b, and an image in some.

    Options: `judge`, who ruled (people, where it is left out). The columns `judge`, `user_id` and
    `evaluation_session_id` tell people apart. Where two conversations went on differently, what the user said is the
    item, and all that a model answered is its response.
    """
    held = Gathering(path)
    judge = options.get("judge", PEOPLE)
    for file, line, row in rows(path, "*.jsonl", "*.json", "*.parquet"):
        battle = _battle(held, row, file)
        if battle is None:
            continue
        turns, answers = battle
        pictures = [picture_of(one, file) for name in ("image", "images") for one in _listed(row.get(name)) if one]
        first = next(at for at, turn in enumerate(turns) if turn.role == "user")
        opening = Turn("user", (*pictures, *turns[first].parts))
        turns = (*turns[:first], opening, *turns[first + 1 :])
        name = words_of(row.get("question_id", row.get("id"))) or question_id(turns[-1].text)
        item = held.item(Item(name, turns, tags=_tags(row)))
        shown = []
        for side, parts in zip("ab", answers, strict=True):
            who = text_of(row, f"model_{side}", path=file, line=line)
            shown.append((who, held.response(item, who, parts)))
        if shown[0] == shown[1]:
            held.leave_out("battles of a model with itself")
            continue
        marks = _won(row)
        if marks is None:
            held.leave_out("battles without a winner")
            continue
        people = (words_of(row.get(name)) for name in ("judge", "user_id", "evaluation_session_id"))
        rater = next(filter(None, people), "") if judge == PEOPLE else ""
        rounds = sum(turn.role == "user" for turn in turns)
        turn = row.get("turn")
        earlier = isinstance(turn, int) and 0 < turn < rounds  # else it is the number of rounds, and all were judged
        held.rule(judge, item, shown, CHOICE, marks, rater=rater, criterion=f"turn {turn}" if earlier else "overall")
    return held.brought()


def _battle(
    held: Gathering, row: Mapping[str, Any], file: Path
) -> tuple[tuple[Turn, ...], tuple[tuple[Part, ...], tuple[Part, ...]]] | None:
    """What was asked in a battle, and what each of the two answered; None, and counted, where that cannot be told."""
    one, other = (_said(row.get(f"conversation_{side}"), file) for side in "ab")
    if one and other and not any(turn.role == "user" for turn in (*one, *other)):
        one = other = ()
    if one and other:
        if list(map(_content, one[:-1])) == list(map(_content, other[:-1])):
            return one[:-1], (one[-1].parts, other[-1].parts)
        asked = [tuple(turn for turn in talk if turn.role != "assistant") for talk in (one, other)]
        if list(map(_content, asked[0])) != list(map(_content, asked[1])):
            held.leave_out("battles whose two conversations ask different things")
            return None
        said = [
            tuple(part for turn in talk if turn.role == "assistant" for part in turn.parts) for talk in (one, other)
        ]
        return asked[0], (said[0] or ("",), said[1] or ("",))
    words = next((row[name] for name in ("question", "instruction", "prompt") if row.get(name) is not None), None)
    if words is None:
        held.leave_out("battles without a conversation or a question")
        return None
    answers = [next((row[n] for n in (f"response_{s}", f"output_{s}") if row.get(n) is not None), None) for s in "ab"]
    return tuple(Turn("user", (text,)) for text in _texts(words)), (_texts(answers[0]), _texts(answers[1]))


def _content(turn: Turn) -> tuple[str, list[Any]]:
    return turn.role, parts_content(turn.parts)


def _texts(value: Any) -> tuple[str, ...]:
    """The texts of a cell: one, or those of each round, which some releases write as JSON within it."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = parse_json(value)
        except ValueError:
            return (value,)
    if isinstance(value, list) and value and all(one is None or isinstance(one, str) for one in value):
        return tuple(map(words_of, value))
    return (value if isinstance(value, str) else words_of(value),)


def _won(row: Mapping[str, Any]) -> tuple[float, float] | None:
    """Marks of both sides, by the winner's name or by a column for each outcome."""
    winner = words_of(row.get("winner")).lower()
    outcomes = {"model_a": "winner_model_a", "model_b": "winner_model_b", "tie": "winner_tie"}
    winner = winner or next(
        (name for name, column in outcomes.items() if words_of(row.get(column)) in {"1", "1.0"}), ""
    )
    if winner in TIES:
        return (0.5, 0.5)
    return None if winner not in SIDES else (1.0, 0.0) if SIDES[winner] == 0 else (0.0, 1.0)


def _said(messages: Any, path: Path) -> tuple[Turn, ...]:
    if not isinstance(messages, list):
        return ()
    return conversation((one for entry in messages for one in (entry if isinstance(entry, list) else [entry])), path)


def _tags(row: Mapping[str, Any]) -> dict[str, str]:
    names = ("language", "category", "domain", "dataset")
    return {name: str(row[name]) for name in names if isinstance(row.get(name), str)}


def mt_bench(path: Path, _options: Mapping[str, str]) -> Brought:
    """A folder of MT-Bench: question.jsonl, model_answer/*.jsonl, model_judgment/*.jsonl; each turn is a criterion.

    What lies in reference_answer, or stands beside a question, is its reference.
    """
    held = Gathering(path)
    entries = [entry for name in files_in(path, "*.jsonl") for entry in rows(name)]
    right = {
        str(row.get("question_id")): "\n".join(map(words_of, _choices(row, file, line)[0]))
        for file, line, row in entries if file.parent.name == "reference_answer" and "choices" in row
    }  # fmt: skip
    for _, _, row in entries:
        if isinstance(row.get("turns"), list) and "question_id" in row:
            name, own = str(row["question_id"]), row.get("reference")
            reference = right.get(name) or ("\n".join(map(words_of, own)) if isinstance(own, list) else None)
            held.item(
                Item(name, tuple(Turn("user", (str(turn),)) for turn in row["turns"]), reference, tags=_tags(row))
            )
    for file, line, row in entries:
        item = str(row.get("question_id"))
        if file.parent.name == "reference_answer" or not ("choices" in row or "judge" in row):
            continue
        if item not in held.items:
            held.leave_out("answers and judgments of questions that are not here")
        elif "choices" in row:
            for turns in _choices(row, file, line):
                held.response(item, text_of(row, "model_id", path=file, line=line), tuple(map(words_of, turns)))
        else:
            _judgment(held, row, item, file, line)
    return held.brought()


def _choices(row: Mapping[str, Any], file: Path, line: int) -> list[list[Any]]:
    """What a model answered, a list of turns for each of its answers."""
    choices = row["choices"] if isinstance(row["choices"], list) else []
    turns = [
        choice["turns"] for choice in choices if isinstance(choice, Mapping) and isinstance(choice.get("turns"), list)
    ]
    if not turns or len(turns) != len(choices):
        raise InputError("'choices' of an answer is a list of {'turns': [...]}", path=file, line=line)
    return turns


def _judgment(held: Gathering, row: Mapping[str, Any], item: str, file: Path, line: int) -> None:
    judge = str(row["judge"][0] if isinstance(row["judge"], list) and row["judge"] else row["judge"])
    criterion = f"turn {row.get('turn', 1)}"
    if "score" in row:
        if row["score"] is None or not 1 <= float(row["score"]) <= 10:
            held.leave_out("judgments without a score")
            return
        text = str(row.get("judgment", ""))
        held.rule(
            judge,
            item,
            [(text_of(row, "model", path=file, line=line), 0)],
            "real:1-10",
            [float(row["score"])],
            criterion=criterion,
            text=text,
        )
        return
    pair = [text_of(row, f"model_{number}", path=file, line=line) for number in (1, 2)]
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
            row[f"conversation_{side}"] = _talk(item, record.responses.get((verdict.item, who, sample)))
        if item is not None and item.pictures:
            row["images"] = [data_uri(picture) for picture in item.pictures]
        battle_rows.append(row)
    return {"battles": write_rows(path, battle_rows), **without}


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
