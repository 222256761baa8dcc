"""Importers of arena matches (LMArena, WildVision) and MT-Bench judgments; exporters for arenas and AlpacaEval."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from fullbench.core.ballot import GradedChoice, ballot, is_graded
from fullbench.core.benchmark import LoadedData
from fullbench.core.dialogue_turn_answers_and_criteria import join_references
from fullbench.core.item import WITHOUT_PICTURES, Item, Part, Turn, parts_content
from fullbench.core.response import Response
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.harness_metrics_as_marks import number_of
from fullbench.files.exchange.import_record_builder import (
    CHOICE,
    SHARE,
    TAGS,
    RecordBuilder,
    as_list,
    files_in,
    question_id,
    rows_of_files,
    tags_of,
    text_of,
    words_of,
)
from fullbench.files.exchange.message_parts import (
    count_omitted_media,
    media_columns,
    media_in_columns,
    parse_conversation,
    typed_parts,
)
from fullbench.files.picture_access_policy import data_uri
from fullbench.files.row_fields import SIDES, TIES
from fullbench.files.row_readers import parse_json
from fullbench.files.row_writers import write_rows

_BOTH_BAD = {"tie (bothbad)", "both_bad", "bothbad"}
_NO_REPLY = "$ERROR$"
"""FastChat's text for a judgment that no server returned."""


def is_arena_file(head: FileHead) -> bool:
    """Return True for matches of two named models with their outcome."""
    return head.has("model_a", "model_b") and any(
        head.has(name) for name in ("winner", "winner_model_a", "winner_tie", "level")
    )


@detected_by(is_arena_file)
def import_arena(path: Path, options: Mapping[str, str]) -> LoadedData:
    """Import matches: question_id, model_a, model_b, winner, conversation_a, conversation_b, and an image in some.

    Option `judge` names the judge (default: people, or the column `annotator` that `export arena` writes). The columns
    `judge`, `user_id` and `evaluation_session_id` distinguish people. If two conversations continue differently, the
    user's messages are the item, and all messages of a model are its response.
    """
    builder = RecordBuilder(path)
    for file, line, row in rows_of_files(path, "*.jsonl", "*.json", "*.parquet", "*.csv"):
        match_content = _parse_match(builder, row, file)
        if match_content is None:
            continue
        turns, answers = match_content
        media = media_in_columns(row, file)
        first = next(at for at, turn in enumerate(turns) if turn.role == "user")
        opening = Turn("user", (*media, *turns[first].parts))
        turns = (*turns[:first], opening, *turns[first + 1 :])
        name = words_of(row.get("question_id", row.get("id"))) or question_id(turns[-1].text)
        picture_names = _named_pictures(_message_list(row.get("conversation_a")))
        if picture_names:
            builder.leave_out("battles about pictures that the file only names")
        picture_tags = {WITHOUT_PICTURES: "\n".join(picture_names)} if picture_names else {}
        item = builder.add_item(Item(name, turns, tags={**tags_of(row), **picture_tags}))
        shown_responses = []
        for side, parts in zip("ab", answers, strict=True):
            who = text_of(row, f"model_{side}", path=file, line=line)
            shown_responses.append((who, builder.add_response(item, who, parts)))
        if shown_responses[0] == shown_responses[1]:
            builder.leave_out("battles of a model with itself")
            continue
        spec, marks = _graded_marks(row, file, line) or (CHOICE, _match_marks(row))
        if marks is None:
            builder.leave_out("battles without a winner")
            continue
        judge = options.get("judge") or words_of(row.get("annotator")) or PEOPLE
        people = ("rater",) if row.get("annotator") else ("judge", "user_id", "evaluation_session_id")
        rater = next(filter(None, (words_of(row.get(name)) for name in people)), "") if judge == PEOPLE else ""
        if words_of(row.get("winner")).lower() in _BOTH_BAD:
            builder.leave_out("battles that both sides lost ('both bad'): taken as ties")
        rounds = sum(turn.role == "user" for turn in turns)
        turn = row.get("turn")
        # Otherwise `turn` is the number of rounds, and all were judged.
        earlier = isinstance(turn, int) and 0 < turn < rounds
        criterion = words_of(row.get("criterion")) or (f"turn {turn}" if earlier else "overall")
        if builder.add_verdict(judge, item, shown_responses, spec, marks, rater=rater, criterion=criterion):
            builder.leave_out("further battles of the same two answers by the same judge: taken as next trials")
    return builder.build()


def _named_pictures(messages: Any) -> list[str]:
    """Return pictures that a conversation gives only by name: FastChat writes ["words", ["name of a picture"]]."""
    contents = [message.get("content") for message in as_list(messages) if isinstance(message, Mapping)]
    lists = [part for content in contents if isinstance(content, list) for part in content if isinstance(part, list)]
    return [str(name) for names in lists for name in names]


def _parse_match(
    builder: RecordBuilder, row: Mapping[str, Any], file: Path
) -> tuple[tuple[Turn, ...], tuple[tuple[Part, ...], tuple[Part, ...]]] | None:
    first_talk, second_talk = (_conversation_turns(row.get(f"conversation_{side}"), file) for side in "ab")
    if first_talk and second_talk and not any(turn.role == "user" for turn in (*first_talk, *second_talk)):
        first_talk = second_talk = ()
    if first_talk and second_talk:
        if list(map(_turn_content, first_talk[:-1])) == list(map(_turn_content, second_talk[:-1])):
            return first_talk[:-1], (first_talk[-1].parts, second_talk[-1].parts)
        user_turns = [tuple(turn for turn in talk if turn.role != "assistant") for talk in (first_talk, second_talk)]
        if list(map(_turn_content, user_turns[0])) != list(map(_turn_content, user_turns[1])):
            builder.leave_out("matches whose two conversations have different questions")
            return None
        reply_parts = [
            tuple(part for turn in talk if turn.role == "assistant" for part in turn.parts)
            for talk in (first_talk, second_talk)
        ]
        return user_turns[0], (reply_parts[0] or ("",), reply_parts[1] or ("",))
    words = next((row[name] for name in ("question", "instruction", "prompt") if row.get(name) is not None), None)
    if words is None:
        builder.leave_out(
            "battles without a conversation or a question: they say who won, and not what was asked or answered "
            "(of FastChat's files, clean_battle_conv_....json has both)"
        )
        return None
    answers = [next((row[n] for n in (f"response_{s}", f"output_{s}") if row.get(n) is not None), None) for s in "ab"]
    return tuple(Turn("user", (text,)) for text in _cell_texts(words)), (
        _cell_texts(answers[0]),
        _cell_texts(answers[1]),
    )


def _turn_content(turn: Turn) -> tuple[str, list[Any]]:
    return turn.role, parts_content(turn.parts)


def _cell_texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a cell: one, or one per round, which some releases write as JSON in the cell."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = parse_json(value)
        except ValueError:
            return (value,)
    if isinstance(value, list) and value and all(text is None or isinstance(text, str) for text in value):
        return tuple(map(words_of, value))
    return (value if isinstance(value, str) else words_of(value),)


def _match_marks(row: Mapping[str, Any]) -> tuple[float, float] | None:
    winner = words_of(row.get("winner")).lower()
    outcomes = {"model_a": "winner_model_a", "model_b": "winner_model_b", "tie": "winner_tie"}
    winner = winner or next(
        (name for name, column in outcomes.items() if words_of(row.get(column)) in {"1", "1.0"}), ""
    )
    if winner in TIES:
        return (0.5, 0.5)
    return None if winner not in SIDES else (1.0, 0.0) if SIDES[winner] == 0 else (0.0, 1.0)


def _message_list(cell: Any) -> Any:
    """Return the messages of a cell; a table has them as JSON, or as Python writes them."""
    if not isinstance(cell, str) or not cell.lstrip().startswith("["):
        return cell
    try:
        return parse_json(cell)
    except ValueError:
        pass
    try:
        return ast.literal_eval(cell)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return cell


def _conversation_turns(cell: Any, path: Path) -> tuple[Turn, ...]:
    messages = _message_list(cell)
    if not isinstance(messages, list):
        return ()
    return parse_conversation(
        (message for entry in messages for message in (entry if isinstance(entry, list) else [entry])), path
    )


def is_mt_bench_file(head: FileHead) -> bool:
    """Return True for questions, answers and judgments of MT-Bench, whose turns are texts."""
    if head.suffix != ".jsonl" or not head.has("question_id"):
        return False
    choices = head.value("choices")
    turns = choices[0].get("turns") if isinstance(choices, list) and choices else head.value("turns")
    if isinstance(turns, list) and turns:
        return isinstance(turns[0], str)
    return head.has("judge", "turn") and (head.has("model", "score") or head.has("model_1", "model_2", "g1_winner"))


@detected_by(is_mt_bench_file)
def import_mt_bench(path: Path, _options: Mapping[str, str]) -> LoadedData:
    """Import a folder of MT-Bench: question.jsonl, model_answer/*.jsonl, model_judgment/*.jsonl.
    Each turn is a criterion. References come from reference_answer or from the question's own row.
    """
    builder = RecordBuilder(path)
    entries = [entry for name in files_in(path, "*.jsonl") for entry in rows_of_files(name)]
    references: dict[str, str] = {}
    for file, line, row in entries:
        if file.parent.name == "reference_answer" and "choices" in row:
            reference_text = join_references(list(map(words_of, _answer_turns(row, file, line)[0])))
            if references.setdefault(str(row.get("question_id")), reference_text) != reference_text:
                builder.leave_out(f"references by {file.stem} that differ from another's: the first one's are taken")
    for _, _, row in entries:
        if isinstance(row.get("turns"), list) and "question_id" in row:
            name, own_reference = str(row["question_id"]), row.get("reference")
            reference = references.get(name) or (
                join_references(list(map(words_of, own_reference))) if isinstance(own_reference, list) else None
            )
            builder.add_item(
                Item(name, tuple(Turn("user", (str(turn),)) for turn in row["turns"]), reference, tags=tags_of(row))
            )
    for file, line, row in entries:
        item = str(row.get("question_id"))
        if file.parent.name == "reference_answer" or not ("choices" in row or "judge" in row):
            continue
        if item not in builder.items:
            builder.leave_out("answers and judgments of questions that are not here")
        elif "choices" in row:
            for turns in _answer_turns(row, file, line):
                builder.add_response(item, text_of(row, "model_id", path=file, line=line), tuple(map(words_of, turns)))
        else:
            _add_judgment(builder, row, item, file, line)
    return builder.build()


def _answer_turns(row: Mapping[str, Any], file: Path, line: int) -> list[list[Any]]:
    choices = row["choices"] if isinstance(row["choices"], list) else []
    turns = [
        choice["turns"] for choice in choices if isinstance(choice, Mapping) and isinstance(choice.get("turns"), list)
    ]
    if not turns or len(turns) != len(choices):
        raise InputError("'choices' of an answer is a list of {'turns': [...]}", path=file, line=line)
    return turns


_WINNER_MARKS = {"model_1": (1.0, 0.0), "model_2": (0.0, 1.0), "tie": (0.5, 0.5)}


def _add_judgment(builder: RecordBuilder, row: Mapping[str, Any], item: str, file: Path, line: int) -> None:
    judge = str(row["judge"][0] if isinstance(row["judge"], list) and row["judge"] else row["judge"])
    for contestants, spec, marks, text in (
        _score_judgments(row, file, line) if "score" in row else _pair_judgments(row, file, line)
    ):
        if marks is None and (not text or text == _NO_REPLY):
            builder.leave_out("judgments without a score" if spec != CHOICE else "judgments without a winner")
            continue
        answers = [(name, 0) for name in contestants]
        trial = builder.add_verdict(
            judge, item, answers, spec, marks or "unreadable", criterion=f"turn {row.get('turn', 1)}", text=text
        )
        if trial:
            builder.leave_out("further judgments of the same answers: taken as next trials")


_Judgment = tuple[list[str], str, tuple[float, ...] | None, str]
"""Contestants shown, ballot, marks (None if unreadable), and the judge's text."""


def _score_judgments(row: Mapping[str, Any], file: Path, line: int) -> list[_Judgment]:
    score = number_of(row["score"])
    marks = (score,) if score is not None and 1 <= score <= 10 else None
    return [([text_of(row, "model", path=file, line=line)], "real:1-10", marks, words_of(row.get("judgment")))]


def _pair_judgments(row: Mapping[str, Any], file: Path, line: int) -> list[_Judgment]:
    pair = [text_of(row, f"model_{number}", path=file, line=line) for number in (1, 2)]
    judgments: list[_Judgment] = []
    for number, order in ((1, 1), (2, -1)):
        winner_marks = _WINNER_MARKS.get(str(row.get(f"g{number}_winner")))
        marks = None if winner_marks is None else winner_marks[::order]
        judgments.append((pair[::order], CHOICE, marks, words_of(row.get(f"g{number}_judgment"))))
    return judgments


_Pair = tuple[Verdict, tuple[tuple[str, int], tuple[str, int]], tuple[float, float]]
"""A verdict, two of the responses that it compares, and their marks."""


def write_arena(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Write comparisons of two as LMArena matches. Option: `judge` (default: all judges)."""
    match_rows = []
    pairs, omitted_counts = _compared_pairs(record, options)
    for verdict, pair, marks in pairs:
        winner = "tie" if marks[0] == marks[1] else "model_a" if marks[0] > marks[1] else "model_b"
        item = record.items.get(verdict.item)
        row: dict[str, Any] = {
            "question_id": verdict.item,
            "model_a": pair[0][0],
            "model_b": pair[1][0],
            "winner": winner,
            **_level_column(verdict),
        }
        row |= {"judge": verdict.rater or verdict.judge, "annotator": verdict.judge, "rater": verdict.rater}
        row |= {
            "turn": _round_number(verdict.criterion, item),
            "anony": True,
            "tstamp": verdict.at,
            **_tags_and_criterion(verdict, item),
        }
        for side, (who, sample) in zip("ab", pair, strict=True):
            row[f"conversation_{side}"] = _conversation_messages(
                item, record.responses.get((verdict.item, who, sample))
            )
        if item is not None and item.pictures and not _has_other_media(item):
            row["images"] = [data_uri(picture) for picture in item.pictures]
        match_rows.append(row)
    return {"battles": write_rows(path, match_rows), **_judge_counts(pairs), **omitted_counts}


def _level_column(verdict: Verdict) -> dict[str, str]:
    """Return the level of a graded choice, and its ballot, as columns that `import arena` reads."""
    if not is_graded(verdict.ballot):
        return {}
    written = ballot(verdict.ballot).write(verdict.marks or ())
    return {"level": written.strip("[]"), "ballot": verdict.ballot}


def _graded_marks(row: Mapping[str, Any], file: Path, line: int) -> tuple[str, tuple[float, ...]] | None:
    """Return the ballot and the marks of a row with a `level` such as `A>>B`."""
    level, spec = words_of(row.get("level")), words_of(row.get("ballot")) or "choice:5"
    if not level or not is_graded(spec):
        return None
    form = ballot(spec)
    step = form.step_of_token(level) if isinstance(form, GradedChoice) else None
    if not isinstance(form, GradedChoice) or step is None:
        raise InputError(f"{level[:40]!r} is not a level of {spec}", path=file, line=line)
    return spec, form.marks_of(step)


def _round_number(criterion: str, item: Item | None) -> int:
    """Return the round that was judged, or the number of rounds if all were, as arenas do."""
    name, _, number = criterion.partition(" ")
    if name == "turn" and number.isdigit():
        return int(number)
    return sum(turn.role == "user" for turn in item.turns) if item else 1


def _tags_and_criterion(verdict: Verdict, item: Item | None) -> dict[str, str]:
    tags = {name: item.tags[name] for name in TAGS if item and name in item.tags}
    return tags if verdict.criterion == "overall" else {**tags, "criterion": verdict.criterion}


def _judge_counts(pairs: list[_Pair]) -> dict[str, int]:
    """Count rows by judge if there are several, since one rating of all would mix them."""
    counts = Counter(verdict.judge for verdict, _, _ in pairs)
    if len(counts) < 2:
        return {}
    last = max(counts)
    last_label = f"by {last}; --judge NAME writes one judge's alone, which ratings need"
    return {last_label if judge == last else f"by {judge}": counts[judge] for judge in sorted(counts)}


def _conversation_messages(item: Item | None, answer: Response | None) -> list[dict[str, Any]]:
    """Return question and answer as messages; pictures of a question are a column of the row, other files are parts."""
    turns = item.turns if item else ()
    has_parts = item is not None and _has_other_media(item)
    answers: list[Any] = [part for part in answer.parts if isinstance(part, str)] if answer else [""]
    user_turns = [turn for turn in turns if turn.role == "user"]
    rounds = len(answers) == len(user_turns) > 1 and not any(turn.role == "assistant" for turn in turns)
    content: Any = typed_parts(answer.parts) if answer is not None and answer.media else "\n".join(answers)
    messages: list[dict[str, Any]] = []
    for turn in turns:
        messages.append({"role": turn.role, "content": typed_parts(turn.parts) if has_parts else turn.text})
        if rounds and turn.role == "user":
            messages.append({"role": "assistant", "content": answers.pop(0)})
    return messages if rounds else [*messages, {"role": "assistant", "content": content}]


def _has_other_media(item: Item) -> bool:
    return any(part.kind != "image" for part in item.media)


def write_alpaca(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Write comparisons of two as AlpacaEval annotations. Option: `judge` (default: all judges)."""
    alpaca_rows = []
    pairs, omitted_counts = _compared_pairs(record, options)
    for verdict, pair, marks in pairs:
        item = record.items.get(verdict.item)
        answers = [record.responses.get((verdict.item, *entrant)) for entrant in pair]
        preference = 1.5 if marks[0] == marks[1] else 1.0 if marks[0] > marks[1] else 2.0
        if (verdict.ballot == SHARE or is_graded(verdict.ballot)) and math.isclose(sum(marks), 1):
            preference = 1 + marks[1]
        files = media_columns(item.media) if item else {}
        alpaca_rows.append({
            "instruction": item.question if item else verdict.item, "question_id": verdict.item,
            **_tags_and_criterion(verdict, item), **files,
            "output_1": answers[0].text if answers[0] else "", "generator_1": pair[0][0],
            "output_2": answers[1].text if answers[1] else "", "generator_2": pair[1][0],
            "annotator": verdict.judge, **({"rater": verdict.rater} if verdict.rater else {}),
            "preference": preference, "raw_completion": verdict.text,
        })  # fmt: skip
    count = write_rows(path, alpaca_rows)
    omitted_counts |= count_omitted_media(record, questions=False, answers=True)
    return {"annotations": count, **_judge_counts(pairs), **omitted_counts}


def _compared_pairs(record: Record, options: Mapping[str, str]) -> tuple[list[_Pair], dict[str, int]]:
    judge_record = record.where(judge=options["judge"]) if "judge" in options else record
    pairs: list[_Pair] = []
    omitted_counts: Counter[str] = Counter()
    for verdict in judge_record:
        if verdict.marks is None:
            omitted_counts["verdicts without marks left out"] += 1
            continue
        marked_responses = list(zip(verdict.shown_responses, verdict.marks, strict=True))
        if len(marked_responses) == 1:
            omitted_counts["verdicts on one response left out"] += 1
        pairs += [
            (verdict, (first[0], second[0]), (first[1], second[1]))
            for first, second in combinations(marked_responses, 2)
        ]
    if not pairs:
        who = f" of {options['judge']!r}" if "judge" in options else ""
        raise InputError(
            f"the record has no comparison of two responses{who}; judges there: {', '.join(record.judges)}"
        )
    return pairs, dict(omitted_counts)
