"""Importers and exporters of graded comparisons: Arena-Hard, WildVision-Bench, HelpSteer, MMRB2.

Arena-Hard and WildVision-Bench write `A>>B` to `B>>A` for each game; the baseline is A in the first game and B in the
second. HelpSteer's preferences run from -3 (response 1 is much better) to 3. MMRB2's annotations run from 1 (response B
is much better) to 6, without a tie.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fullbench.core.ballot import GradedChoice, ballot
from fullbench.core.item import WITHOUT_PICTURES, Item, Part, Turn
from fullbench.core.reproduced_numbers_and_loaded_data import LoadedData
from fullbench.core.verdict import PEOPLE, Fault, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.harness_metrics_as_marks import number_of
from fullbench.files.exchange.import_record_builder import (
    RecordBuilder,
    as_list,
    files_in,
    parse_conversation,
    picture_of,
    pictures_among,
    question_id,
    read_json,
    rows_of_files,
    tags_of,
    text_of,
    words_of,
)
from fullbench.files.row_writers import write_rows

GAMES, SEVEN, SIX = GradedChoice(5), GradedChoice(7), GradedChoice(6)
_NO_VERDICT = {"INVALID", "NONE", ""}
_ANSWER = "<|The Start of Assistant {}'s Answer|>"
_END = "<|The End of Assistant {}'s Answer|>"
_QUESTION = "<|User Prompt|>"
_PROMPT = "\n".join(
    [_QUESTION, "{}\n", *(f"{_ANSWER}\n{{}}\n{_END}\n".replace("{}'s", f"{x}'s") for x in "AB")]
).rstrip()
_REFERENCE_FOLDER = re.compile(r"_reference_(.+)$")


def is_games_file(head: FileHead) -> bool:
    """Return True for judgments in games."""
    return head.suffix == ".jsonl" and head.has("model", "judge", "games")


@detected_by(is_games_file)
def import_judged_games(path: Path, options: Mapping[str, str]) -> LoadedData:
    """Import judgments of Arena-Hard (both versions) or WildVision-Bench: rows with `model`, `judge` and `games`.

    The baseline is the row's, or named by the folder (`..._reference_NAME`), else by the option `baseline`. Other files
    of a folder are skipped and counted.
    """
    builder = RecordBuilder(path)
    for file in files_in(path, "*.jsonl"):
        rows = list(rows_of_files(file))
        if not rows or "games" not in rows[0][2]:
            builder.leave_out("files without games")
            continue
        for _, line, row in rows:
            _add_games(builder, row, options, file, line)
    return builder.build()


def _add_games(
    builder: RecordBuilder, row: Mapping[str, Any], options: Mapping[str, str], file: Path, line: int
) -> None:
    model = text_of(row, "model", path=file, line=line)
    judge = text_of(row, "judge", path=file, line=line)
    folder = _REFERENCE_FOLDER.search(file.parent.name)
    baseline = words_of(row.get("baseline")) or options.get("baseline") or (folder[1] if folder else "")
    if not baseline:
        raise InputError(
            "the judgments do not name the model that all others meet; add --option baseline=NAME", path=file, line=line
        )
    if model == baseline:
        builder.leave_out("judgments of the baseline with itself", max(1, len(as_list(row["games"]))))
        return
    for number, game in enumerate(as_list(row["games"])):
        shown = _shown_in_game(game) if isinstance(game, Mapping) else None
        if shown is None:
            builder.leave_out("games without the question and both answers")
            continue
        question, answers, missing = shown
        tags = {**tags_of(row), **({WITHOUT_PICTURES: "\n".join(missing)} if missing else {})}
        name = words_of(row.get("question_id", row.get("uid"))) or question_id(question)
        item = builder.add_item(Item(name, (Turn("user", (question,)),), tags=tags))
        names = (model, baseline) if number % 2 else (baseline, model)
        shown_responses = [
            (who, builder.add_response(item, who, (answer,))) for who, answer in zip(names, answers, strict=True)
        ]
        score = words_of(game.get("score")).strip()
        step = GAMES.step_of_token(score)
        if step is None and score.upper() not in _NO_VERDICT:
            raise InputError(
                f"a score of a game is A>>B, A>B, A=B, B>A or B>>A; found {score[:40]!r}", path=file, line=line
            )
        marks: Sequence[float] | Fault = "unreadable" if step is None else GAMES.marks_of(step)
        judgment = game.get("judgment", game.get("judgement"))
        text = words_of(judgment.get("answer") if isinstance(judgment, Mapping) else judgment)
        builder.add_verdict(
            judge, item, shown_responses, GAMES.spec, marks, text=text, rater=words_of(row.get("rater")),
            criterion=words_of(row.get("criterion")) or "overall",
        )  # fmt: skip


def _shown_in_game(game: Mapping[str, Any]) -> tuple[str, tuple[str, str], list[str]] | None:
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


def is_helpsteer_file(head: FileHead) -> bool:
    """Return True for preferences of HelpSteer2 (`preference_strength`) and HelpSteer3."""
    names = ("response1", "response2", "overall_preference"), ("response_1", "response_2", "preference_strength")
    return any(head.has(*columns) for columns in names)


@detected_by(is_helpsteer_file)
def import_helpsteer(path: Path, _options: Mapping[str, str]) -> LoadedData:
    """Import preferences of HelpSteer2 or HelpSteer3, from -3 to 3: one vote for each annotator if they are there.

    Responses without the names that `export helpsteer` writes are the contestants `response1` and `response2`.
    """
    builder = RecordBuilder(path)
    for file, line, row in rows_of_files(path, "*.jsonl", "*.jsonl.gz", "*.parquet", "*.json"):
        talk = row.get("context", row.get("prompt"))
        turns = parse_conversation(talk, file) if isinstance(talk, list) else (Turn("user", (words_of(talk),)),)
        if not turns or turns[-1].role != "user":
            raise InputError("a row has the conversation in 'context' or 'prompt', the user last", path=file, line=line)
        name = words_of(row.get("id")) or question_id("\n".join(turn.text for turn in turns))
        item = builder.add_item(Item(name, turns, tags=tags_of(row)))
        shown_responses = []
        for number in "12":
            answer = text_of(row, f"response{number}", f"response_{number}", path=file, line=line)
            who = words_of(row.get(f"contestant{number}")) or f"response{number}"
            shown_responses.append((who, builder.add_response(item, who, (answer,))))
        for rater, preference, reason in _helpsteer_votes(builder, row):
            number_or_none = number_of(preference)
            if number_or_none is None or -number_or_none not in SEVEN.steps:
                raise InputError(
                    f"a preference runs from -3 to 3; found {str(preference)[:40]!r}", path=file, line=line
                )
            marks = SEVEN.marks_of(-int(number_or_none))
            builder.add_verdict(
                PEOPLE, item, shown_responses, SEVEN.spec, marks, rater=rater, text=reason,
                criterion=words_of(row.get("criterion")) or "overall",
            )  # fmt: skip
    return builder.build()


def _helpsteer_votes(builder: RecordBuilder, row: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Yield rater, preference and reason."""
    individual = [vote for vote in as_list(row.get("individual_preference")) if isinstance(vote, Mapping)]
    overall = row.get("overall_preference", row.get("preference_strength"))
    if individual:
        builder.leave_out("overall preferences, which are joined from those of the annotators", overall is not None)
    for number, vote in enumerate(individual, 1):
        rater = words_of(vote.get("annotator")) or f"annotator {number}"
        yield rater, vote.get("score"), words_of(vote.get("reasoning"))
    if not individual:
        yield "annotators together", overall, ""


def is_mmrb2_file(head: FileHead) -> bool:
    """Return True for built files of pairs."""
    pairs = head.content.get("pairs")
    return isinstance(pairs, list) and bool(pairs) and isinstance(pairs[0], dict) and "response_a" in pairs[0]


@detected_by(is_mmrb2_file)
def import_mmrb2(path: Path, _options: Mapping[str, str]) -> LoadedData:
    """Import pairs of Multimodal RewardBench 2: its built files (`t2i.json` ...), with pictures next to them.

    Annotations of 1 to 6 are votes on `choice:6`. Where there are none, the chosen response is a vote on `choice`.
    """
    builder = RecordBuilder(path)
    for file in files_in(path, "*.json"):
        content = read_json(file)
        pairs = content.get("pairs") if isinstance(content, Mapping) else None
        if not isinstance(pairs, list):
            builder.leave_out("files without pairs")
            continue
        for pair in pairs:
            if isinstance(pair, Mapping):
                _add_mmrb2_pair(builder, pair, file)
    return builder.build()


def _add_mmrb2_pair(builder: RecordBuilder, pair: Mapping[str, Any], file: Path) -> None:
    name = words_of(pair.get("id", pair.get("pair_id")))
    sides = [pair.get(f"response_{side}") for side in "ab"]
    if not pair.get("prompt_content"):
        builder.leave_out("pairs without their prompt, which MMRB2's build adds")
        return
    contents = [
        pair["prompt_content"],
        *(side.get("response_content") if isinstance(side, Mapping) else None for side in sides),
    ]
    all_parts = [_mmrb2_parts(content, file) for content in contents]
    if not all(all_parts):
        builder.leave_out("pairs whose pictures are not next to the file, or without a response")
        return
    question, *answers = all_parts
    models = [words_of(side.get("model_name", side.get("model"))) for side in sides if isinstance(side, Mapping)]
    metadata = pair.get("prompt_metadata")
    category = words_of(metadata.get("category")) if isinstance(metadata, Mapping) else ""
    tags = {"dataset": words_of(pair.get("prompt_source")), **({"category": category} if category else {})}
    item = builder.add_item(Item(name, (Turn("user", question),), tags=tags))
    shown_responses = []
    for model, parts in zip(models, answers, strict=True):
        who = model or "model"
        shown_responses.append((who, builder.add_response(item, who, parts)))
    votes = as_list(pair.get("human_annotations") or [])
    chosen = words_of(pair.get("chosen", pair.get("human_preference")))
    for number, vote in enumerate(votes, 1):
        if vote not in range(1, 7):
            raise InputError(f"an annotation of the pair {name!r} is 1 to 6; found {str(vote)[:40]!r}", path=file)
        step = int(vote) - 3 if vote > 3 else int(vote) - 4
        builder.add_verdict(PEOPLE, item, shown_responses, SIX.spec, SIX.marks_of(step), rater=f"annotator {number}")
    if votes:
        builder.leave_out("chosen responses, which are joined from the annotations", bool(chosen))
    elif chosen in {"A", "B"}:
        marks = (1.0, 0.0) if chosen == "A" else (0.0, 1.0)
        builder.add_verdict(PEOPLE, item, shown_responses, "choice", marks, rater="annotators together")
    else:
        builder.leave_out("pairs without a vote")


def _mmrb2_parts(content: Any, file: Path) -> tuple[Part, ...]:
    """Return texts and pictures of a list of [kind, value]; empty if a picture is missing."""
    parts: list[Part] = []
    for entry in as_list(content):
        if not (isinstance(entry, list) and len(entry) == 2):
            return ()
        kind, value = entry
        if kind == "image":
            if pictures_among([str(value)], file)[1]:
                return ()
            parts.append(picture_of(str(value), file))
        else:
            parts.append(words_of(value))
    return tuple(parts)


_Games = dict[tuple[Any, ...], dict[bool, Verdict]]
"""Item, criterion, model, both samples, judge, rater and trial: verdicts with the baseline first (False) or second."""


def write_judged_games(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Write verdicts on 4 or 5 levels as Arena-Hard's judgments. Options: `baseline`, and `judge` (default: all)."""
    left_out: Counter[str] = Counter()
    verdicts = list(_graded_verdicts(record, options, left_out, {2}))
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
    return {"judgments": write_rows(path, rows), **left_out}


def _graded_verdicts(
    record: Record, options: Mapping[str, str], left_out: Counter[str], strengths: set[int]
) -> Iterator[Verdict]:
    """Yield the usable verdicts on graded choices with this number of strengths; count all others."""
    usable = 0
    for verdict in record.where(judge=options["judge"]) if "judge" in options else record:
        form = ballot(verdict.ballot)
        if not isinstance(form, GradedChoice) or form.strengths not in strengths:
            left_out[f"verdicts on {verdict.ballot} left out"] += 1
        elif verdict.marks is None:
            left_out["verdicts without marks left out"] += 1
        else:
            usable += 1
            yield verdict
    if not usable:
        specs = " or ".join(f"choice:{2 * strength + tie}" for strength in sorted(strengths) for tie in (0, 1))
        raise InputError(f"the ledger holds no usable verdict on {specs}, which this format is for")


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


def write_helpsteer(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Write verdicts on 6 or 7 levels as HelpSteer3's preferences, a row for every two responses.

    Option: `judge` (default: all judges). Every judge and person is an annotator of a row.
    """
    left_out: Counter[str] = Counter()
    by_pair: dict[tuple[str, str, tuple[tuple[str, int], ...]], list[Verdict]] = defaultdict(list)
    for verdict in _graded_verdicts(record, options, left_out, {3}):
        by_pair[verdict.item, verdict.criterion, tuple(sorted(verdict.shown_responses))].append(verdict)
    rows = []
    for (item_id, criterion, keys), verdicts in by_pair.items():
        item = record.items.get(item_id)
        turns = item.turns if item else ()
        answers = [record.responses.get((item_id, *key)) for key in keys]
        votes = [_helpsteer_vote(verdict, keys) for verdict in verdicts]
        rows.append({
            "id": item_id, **({"criterion": criterion} if criterion != "overall" else {}),
            "context": [{"role": turn.role, "content": turn.text} for turn in turns],
            **{f"response{place}": answer.text if answer else "" for place, answer in enumerate(answers, 1)},
            **{f"contestant{place}": name for place, (name, _) in enumerate(keys, 1)},
            "overall_preference": round(sum(vote["score"] for vote in votes) / len(votes)),
            "individual_preference": votes,
        })  # fmt: skip
    return {"rows": write_rows(path, rows), "preferences": sum(map(len, by_pair.values())), **left_out}


def _helpsteer_vote(verdict: Verdict, keys: Sequence[tuple[str, int]]) -> dict[str, Any]:
    marks = dict(zip(verdict.shown_responses, verdict.marks or (), strict=True))
    form = ballot(verdict.ballot)
    step = form.step_of([marks[key] for key in keys]) if isinstance(form, GradedChoice) else None
    return {"score": -(step or 0), "reasoning": verdict.text, "annotator": verdict.rater or verdict.judge}
