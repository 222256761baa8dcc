"""Battles of arenas (LMArena, WildVision), and MT-Bench's judgments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fullbench.errors import InputError
from fullbench.files.exchange.common import (
    CHOICE,
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
from fullbench.files.exchange.measures import number_of
from fullbench.files.fields import SIDES, TIES
from fullbench.files.readers import parse_json
from fullbench.core.item import WITHOUT_PICTURES, Item, Part, Turn, parts_content
from fullbench.core.reproduction import Brought
from fullbench.core.verdict import PEOPLE

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
