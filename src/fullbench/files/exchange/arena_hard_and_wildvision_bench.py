"""Importer and exporter of judged games: Arena-Hard (both versions) and WildVision-Bench.

A row has a model, a judge and games, each with a level from `A>>B` to `B>>A`; the baseline is A in the first game and B
in the second. Question and answers are in the prompt of each game. Where a release left the prompt out, they come from
its files of questions and answers.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fullbench.core.ballot import GradedChoice, ballot
from fullbench.core.benchmark import LoadedData
from fullbench.core.item import WITHOUT_PICTURES, Item, Turn
from fullbench.core.verdict import Fault, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.helpsteer_and_mmrb2 import graded_verdicts
from fullbench.files.exchange.import_record_builder import (
    RecordBuilder,
    as_list,
    files_in,
    question_id,
    rows_of_files,
    tags_of,
    text_of,
    words_of,
)
from fullbench.files.exchange.message_parts import count_omitted_media
from fullbench.files.row_writers import write_rows

GAMES = GradedChoice(5)
_MIRRORED = {"A<B": "B>A", "A<<B": "B>>A", "B<A": "A>B", "B<<A": "A>>B"}
_NO_VERDICT = {"INVALID", "NONE", ""}
_ANSWER = "<|The Start of Assistant {}'s Answer|>"
_END = "<|The End of Assistant {}'s Answer|>"
_QUESTION = "<|User Prompt|>"
_PROMPT = "\n".join(
    [_QUESTION, "{}\n", *(f"{_ANSWER}\n{{}}\n{_END}\n".replace("{}'s", f"{x}'s") for x in "AB")]
).rstrip()
_REFERENCE_FOLDER = re.compile(r"_reference_(.+)$")
_BASELINES = {"arena-hard-v0.1": "gpt-4-0314"}
"""Baseline of a benchmark whose judgments do not name it, by the benchmark's folder."""


def is_games_file(head: FileHead) -> bool:
    """Return True for judgments in games, and for the questions and answers of these benchmarks."""
    if head.suffix != ".jsonl":
        return False
    if head.has("model", "judge", "games") or head.has("uid", "prompt") or head.has("uid", "messages", "model"):
        return True
    if head.has("question_id", "instruction", "output", "model", "token_len"):
        return True
    if head.path.name.endswith("_battles.jsonl") and head.rows:  # counted from the games, without texts
        return set(head.rows[0]) == {"question_id", "model_a", "model_b", "winner"}
    choices = head.value("choices")
    turns = choices[0].get("turns") if isinstance(choices, list) and choices else head.value("turns")
    return bool(isinstance(turns, list) and turns and isinstance(turns[0], dict) and head.has("question_id"))


@dataclass
class _Texts:
    """Questions, and answers by question and model, from the files next to the judgments."""

    questions: dict[str, str] = field(default_factory=dict)
    answers: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any]) -> bool:
        """Add a question or an answer; return False for other rows."""
        name = words_of(row.get("question_id", row.get("uid")))
        model = words_of(row.get("model", row.get("model_id")))
        question = row.get("prompt", row.get("instruction", _turn_text(row.get("turns"))))
        if isinstance(question, str) and question:
            self.questions.setdefault(name, question.strip("\n"))
        answer = _answer_text(row)
        if is_answer := bool(model) and answer is not None:
            self.answers[name, model] = answer or ""
        return bool(name) and (bool(question) or is_answer)


def _turn_text(turns: Any) -> str | None:
    """Return the text of the last turn; None if there is none."""
    if not isinstance(turns, list) or not turns:
        return None
    turn = turns[-1]
    content = turn.get("content") if isinstance(turn, Mapping) else turn
    if isinstance(content, Mapping):
        content = content.get("answer")
    return content if isinstance(content, str) else None


def _answer_text(row: Mapping[str, Any]) -> str | None:
    choices = row.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return _turn_text(choices[0].get("turns"))
    return _turn_text(row["messages"]) if "messages" in row else row.get("output")


@detected_by(is_games_file)
def import_judged_games(path: Path, options: Mapping[str, str]) -> LoadedData:
    """Import judgments of Arena-Hard (both versions) or WildVision-Bench: rows with `model`, `judge` and `games`.

    The baseline is the row's, or the option `baseline`, or named by the folder (`..._reference_NAME`, or that of
    Arena-Hard v0.1). Files of questions and answers fill in what a game does not have. Other files of a folder are
    skipped and counted.
    """
    builder = RecordBuilder(path)
    texts = _Texts()
    judgments: list[Path] = []
    for file in files_in(path, "*.jsonl"):
        is_known = False
        for _, line, row in rows_of_files(file):
            if "games" in row:
                judgments.append(file)
                is_known = True
                break
            is_known = texts.add(row) or is_known
            if not is_known and line > _MOST_FOREIGN_ROWS:
                break
        if not is_known:
            builder.leave_out("files without games, questions or answers")
    incomplete = []
    for file in judgments:
        for _, line, row in rows_of_files(file):
            if not _add_games(builder, texts, row, options, file=file, line=line):
                incomplete.append((file, line, row))
    # Later, since other games of the same questions name their pictures.
    for file, line, row in incomplete:
        _add_games(builder, texts, row, options, file=file, line=line, from_files=True)
    if not judgments:
        _add_texts(builder, texts)
    elif builder.items:
        judged = {(item, who) for item, who, _ in builder.responses}
        builder.leave_out("answers without a judgment", len(texts.answers.keys() - judged))
        lacking = sum(WITHOUT_PICTURES in item.tags for item in builder.items.values())
        builder.leave_out("questions with pictures that the games only name", lacking)
    return builder.build()


_MOST_FOREIGN_ROWS = 100


def _add_texts(builder: RecordBuilder, texts: _Texts) -> None:
    """Add questions and answers that nobody has judged yet."""
    for name, question in texts.questions.items():
        builder.add_item(Item(name, (Turn("user", (question,)),)))
    for (name, model), answer in texts.answers.items():
        if name in builder.items:
            builder.add_response(name, model, (answer,))
        else:
            builder.leave_out("answers to questions that are not here")


def _add_games(
    builder: RecordBuilder, texts: _Texts, row: Mapping[str, Any], options: Mapping[str, str], *, file: Path, line: int,
    from_files: bool = False,
) -> bool:  # fmt: skip
    """Add the games of a row whose prompts have the question and both answers; return False if some do not.

    With `from_files`, add only the others, with texts from the files of questions and answers.
    """
    model = text_of(row, "model", path=file, line=line)
    judge = text_of(row, "judge", path=file, line=line)
    baseline = (
        words_of(row.get("baseline"))
        or options.get("baseline")
        or _baseline_of_folder(builder, file, is_counted=not from_files)
    )
    if not baseline:
        raise InputError(
            "the judgments do not name the model that all others are compared with; add --option baseline=NAME",
            path=file,
            line=line,
        )
    if model == baseline:
        builder.leave_out("judgments of the baseline with itself", max(1, len(as_list(row["games"]))))
        return True
    is_complete = True
    name = words_of(row.get("question_id", row.get("uid")))
    for number, game in enumerate(as_list(row["games"])):
        if not isinstance(game, Mapping):
            builder.leave_out("games without a judgment", not from_files)
            continue
        names = (model, baseline) if number % 2 else (baseline, model)
        shown = _shown_in_game(game)
        if (shown is None) != from_files:
            is_complete = is_complete and shown is not None
            continue
        if shown is None:
            shown = _shown_by_files(texts, name, names)
            what = "taken from the files of questions and answers" if shown else "left out"
            builder.leave_out(f"games without the question and both answers: {what}")
        if shown is None:
            continue
        question, answers, missing = shown
        stored_item = builder.items.get(name)
        tags = {**tags_of(row), **({WITHOUT_PICTURES: "\n".join(missing)} if missing else {})}
        if from_files and stored_item is not None and stored_item.question == question:
            item = name
        else:
            item = builder.add_item(Item(name or question_id(question), (Turn("user", (question,)),), tags=tags))
        shown_responses = [
            (who, builder.add_response(item, who, (answer,))) for who, answer in zip(names, answers, strict=True)
        ]
        judgment = game.get("judgment", game.get("judgement"))
        text = words_of(judgment.get("answer") if isinstance(judgment, Mapping) else judgment)
        builder.add_verdict(
            judge, item, shown_responses, GAMES.spec, _marks_of_score(builder, game.get("score")), text=text,
            rater=words_of(row.get("rater")), criterion=words_of(row.get("criterion")) or "overall",
        )  # fmt: skip
    return is_complete


def _baseline_of_folder(builder: RecordBuilder, file: Path, *, is_counted: bool) -> str:
    folder = _REFERENCE_FOLDER.search(file.parent.name)
    if folder:
        return folder[1]
    baseline = next((_BASELINES[part] for part in file.resolve().parts if part in _BASELINES), "")
    if baseline and is_counted:
        builder.leave_out(f"judgments that do not name the baseline: {baseline}, that of the benchmark, is taken")
    return baseline


def _marks_of_score(builder: RecordBuilder, score: Any) -> Sequence[float] | Fault:
    text = words_of(score).strip()
    step = GAMES.step_of_token(_MIRRORED.get(text, text))
    if step is not None:
        return GAMES.marks_of(step)
    if text.upper() not in _NO_VERDICT:
        builder.leave_out("scores that are no level from A>>B to B>>A: taken as unreadable")
    return "unreadable"


_Shown = tuple[str, tuple[str, str], list[str]]
"""Question, both answers, and names of pictures."""


def _shown_by_files(texts: _Texts, name: str, models: tuple[str, str]) -> _Shown | None:
    question, answers = texts.questions.get(name), [texts.answers.get((name, model)) for model in models]
    if question is None or answers[0] is None or answers[1] is None:
        return None
    return question, (answers[0], answers[1]), []


def _shown_in_game(game: Mapping[str, Any]) -> _Shown | None:
    """Return the question, both answers and the names of pictures; None if the prompt does not have them."""
    prompt = game.get("user_prompt", game.get("prompt"))
    parts = as_list(prompt)
    if parts and isinstance(parts[-1], Mapping) and "role" in parts[-1]:
        parts = as_list(parts[-1].get("content"))
    text = "".join(
        part if isinstance(part, str) else words_of(part.get("text")) if isinstance(part, Mapping) else ""
        for part in parts
    )
    missing = [words_of(part.get("image")) for part in parts if isinstance(part, Mapping) and part.get("image")]
    head, first, rest = text.partition(_ANSWER.format("A") + "\n")
    answer_a, middle, tail = rest.partition("\n" + _END.format("A"))
    _, second, rest = tail.partition(_ANSWER.format("B") + "\n")
    answer_b, end, _ = rest.rpartition("\n" + _END.format("B"))
    if not (first and middle and second and end):
        return None
    return head.partition(_QUESTION)[2].strip("\n") or head.strip("\n"), (answer_a, answer_b), missing


_Games = dict[tuple[Any, ...], dict[bool, Verdict]]
"""Item, criterion, model, both samples, judge, rater and trial: verdicts with the baseline first (False) or second."""


def write_judged_games(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Write verdicts on 4 or 5 levels as Arena-Hard's judgments. Options: `baseline`, and `judge` (default: all)."""
    left_out: Counter[str] = Counter()
    verdicts = list(graded_verdicts(record, options, left_out, {2}))
    baseline = options.get("baseline", "")
    names = sorted({name for verdict in verdicts for name in verdict.contestants})
    if baseline not in names:
        what = f"{baseline!r} is none of them" if baseline else "add --option baseline=NAME"
        raise InputError(f"Arena-Hard's judgments compare all models with one of {', '.join(names)}; {what}")
    games: _Games = defaultdict(dict)
    for verdict in verdicts:
        if baseline not in verdict.contestants:
            left_out["verdicts without the baseline left out"] += 1
            continue
        is_second = verdict.contestants[1] == baseline
        (_, of_baseline), (model, of_model) = verdict.shown_responses[:: -1 if is_second else 1]
        key = (
            verdict.item,
            verdict.criterion,
            model,
            of_model,
            of_baseline,
            verdict.judge,
            verdict.rater,
            verdict.trial,
        )
        games[key][is_second] = verdict
    rows = []
    for (item, criterion, model, *_, judge, rater, _trial), by_order in games.items():
        if False not in by_order:
            left_out["verdicts with the baseline second only left out"] += 1
            continue
        cells = [_game_cell(record, by_order[order]) for order in (False, True) if order in by_order]
        rows.append({
            "question_id": item, "uid": item, "model": model, "baseline": baseline, "judge": judge,
            **({"rater": rater} if rater else {}), **({"criterion": criterion} if criterion != "overall" else {}),
            "games": cells,
        })  # fmt: skip
    counts = {"judgments": write_rows(path, rows), **left_out}
    return counts | count_omitted_media(record, questions=True, answers=True)


def _level(verdict: Verdict) -> str:
    form = ballot(verdict.ballot)
    return form.write(verdict.marks or ()).strip("[]")


def _game_cell(record: Record, verdict: Verdict) -> dict[str, str]:
    answers = [record.responses.get((verdict.item, *key)) for key in verdict.shown_responses]
    item = record.items.get(verdict.item)
    texts = [answer.text if answer else "" for answer in answers]
    return {
        "user_prompt": _PROMPT.format(item.question if item else "", *texts),
        "judgment": verdict.text,
        "score": _level(verdict),
    }
