"""Battles of arenas (LMArena, WildVision), and MT-Bench's judgments."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from fullbench.core.item import WITHOUT_PICTURES, Item, Part, Turn, parts_content
from fullbench.core.record import Record
from fullbench.core.reproduction import Brought
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import InputError
from fullbench.files.exchange.importer_base import (
    CHOICE,
    SHARE,
    TAGS,
    Gathering,
    conversation,
    files_in,
    listed,
    picture_of,
    question_id,
    rows,
    tags_of,
    text_of,
    words_of,
)
from fullbench.files.exchange.metric_scales import number_of
from fullbench.files.picture_access_policy import data_uri
from fullbench.files.readers import parse_json
from fullbench.files.row_fields import SIDES, TIES
from fullbench.files.writers import write_rows

_BOTH_BAD = {"tie (bothbad)", "both_bad", "bothbad"}
_NO_REPLY = "$ERROR$"
"""What FastChat writes in place of a judgment that no server gave."""


def battles(path: Path, options: Mapping[str, str]) -> Brought:
    """Battles: question_id, model_a, model_b, winner, conversation_a, conversation_b, and an image in some.

    Options: `judge`, who ruled (people, where it is left out, or the column `annotator` that `export arena` writes).
    The columns `judge`, `user_id` and `evaluation_session_id` tell people apart. Where two conversations went on
    differently, what the user said is the item, and all that a model answered is its response.
    """
    held = Gathering(path)
    for file, line, row in rows(path, "*.jsonl", "*.json", "*.parquet", "*.csv"):
        battle = _battle(held, row, file)
        if battle is None:
            continue
        turns, answers = battle
        pictures = [picture_of(one, file) for name in ("image", "images") for one in listed(row.get(name)) if one]
        first = next(at for at, turn in enumerate(turns) if turn.role == "user")
        opening = Turn("user", (*pictures, *turns[first].parts))
        turns = (*turns[:first], opening, *turns[first + 1 :])
        name = words_of(row.get("question_id", row.get("id"))) or question_id(turns[-1].text)
        named = _named_pictures(row.get("conversation_a"))
        if named:
            held.leave_out("battles about pictures that the file only names")
        unseen = {WITHOUT_PICTURES: "\n".join(named)} if named else {}
        item = held.item(Item(name, turns, tags={**tags_of(row), **unseen}))
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
        judge = options.get("judge") or words_of(row.get("annotator")) or PEOPLE
        people = ("rater",) if row.get("annotator") else ("judge", "user_id", "evaluation_session_id")
        rater = next(filter(None, (words_of(row.get(name)) for name in people)), "") if judge == PEOPLE else ""
        if words_of(row.get("winner")).lower() in _BOTH_BAD:
            held.leave_out("battles that both sides lost ('both bad'): taken as ties")
        rounds = sum(turn.role == "user" for turn in turns)
        turn = row.get("turn")
        earlier = isinstance(turn, int) and 0 < turn < rounds  # else it is the number of rounds, and all were judged
        criterion = words_of(row.get("criterion")) or (f"turn {turn}" if earlier else "overall")
        if held.rule(judge, item, shown, CHOICE, marks, rater=rater, criterion=criterion):
            held.leave_out("further battles of the same two answers by the same judge: taken as next trials")
    return held.brought()


def _named_pictures(messages: Any) -> list[str]:
    """Pictures that a conversation has by name alone: FastChat writes ["words", ["name of a picture"]]."""
    contents = [one.get("content") for one in listed(messages) if isinstance(one, Mapping)]
    lists = [part for content in contents if isinstance(content, list) for part in content if isinstance(part, list)]
    return [str(name) for names in lists for name in names]


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
        held.leave_out(
            "battles without a conversation or a question: they say who won, and not what was asked or answered "
            "(of FastChat's files, clean_battle_conv_....json has both)"
        )
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


def mt_bench(path: Path, _options: Mapping[str, str]) -> Brought:
    """A folder of MT-Bench: question.jsonl, model_answer/*.jsonl, model_judgment/*.jsonl; each turn is a criterion.

    What lies in reference_answer, or stands beside a question, is its reference.
    """
    held = Gathering(path)
    entries = [entry for name in files_in(path, "*.jsonl") for entry in rows(name)]
    right: dict[str, str] = {}
    for file, line, row in entries:
        if file.parent.name == "reference_answer" and "choices" in row:
            told = "\n".join(map(words_of, _choices(row, file, line)[0]))
            if right.setdefault(str(row.get("question_id")), told) != told:
                held.leave_out(f"references by {file.stem} that differ from another's: the first one's are taken")
    for _, _, row in entries:
        if isinstance(row.get("turns"), list) and "question_id" in row:
            name, own = str(row["question_id"]), row.get("reference")
            reference = right.get(name) or ("\n".join(map(words_of, own)) if isinstance(own, list) else None)
            held.item(
                Item(name, tuple(Turn("user", (str(turn),)) for turn in row["turns"]), reference, tags=tags_of(row))
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


_WON = {"model_1": (1.0, 0.0), "model_2": (0.0, 1.0), "tie": (0.5, 0.5)}


def _judgment(held: Gathering, row: Mapping[str, Any], item: str, file: Path, line: int) -> None:
    judge = str(row["judge"][0] if isinstance(row["judge"], list) and row["judge"] else row["judge"])
    for shown, ballot, marks, text in _single(row, file, line) if "score" in row else _both(row, file, line):
        if marks is None and (not text or text == _NO_REPLY):
            held.leave_out("judgments without a score" if ballot != CHOICE else "judgments without a winner")
            continue
        answers = [(name, 0) for name in shown]
        trial = held.rule(
            judge, item, answers, ballot, marks or "unreadable", criterion=f"turn {row.get('turn', 1)}", text=text
        )
        if trial:
            held.leave_out("further judgments of the same answers: taken as next trials")


_Ruling = tuple[list[str], str, tuple[float, ...] | None, str]
"""Whose answers were shown, the ballot, the marks, if any could be read, and the judge's words."""


def _single(row: Mapping[str, Any], file: Path, line: int) -> list[_Ruling]:
    score = number_of(row["score"])
    marks = (score,) if score is not None and 1 <= score <= 10 else None
    return [([text_of(row, "model", path=file, line=line)], "real:1-10", marks, words_of(row.get("judgment")))]


def _both(row: Mapping[str, Any], file: Path, line: int) -> list[_Ruling]:
    """What was ruled on two answers in both orders."""
    pair = [text_of(row, f"model_{number}", path=file, line=line) for number in (1, 2)]
    rulings: list[_Ruling] = []
    for number, order in ((1, 1), (2, -1)):
        won = _WON.get(str(row.get(f"g{number}_winner")))
        marks = None if won is None else won[::order]
        rulings.append((pair[::order], CHOICE, marks, words_of(row.get(f"g{number}_judgment"))))
    return rulings


# Comparisons of two responses as others write them: battles of arenas, annotations of AlpacaEval.

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
