"""Importers of HelpSteer and Multimodal RewardBench 2 (MMRB2), and an exporter for HelpSteer3.

HelpSteer's preferences run from -3 (response 1 is much better) to 3. MMRB2's annotations run from 1 (response B is much
better) to 6, without a tie.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fullbench.core.ballot import GradedChoice, ballot
from fullbench.core.benchmark import LoadedData
from fullbench.core.item import Item, Part, Turn
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.harness_metrics_as_marks import number_of
from fullbench.files.exchange.import_record_builder import (
    RecordBuilder,
    as_list,
    files_in,
    question_id,
    read_json,
    rows_of_files,
    tags_of,
    text_of,
    words_of,
)
from fullbench.files.exchange.message_parts import (
    count_omitted_media,
    media_among,
    parse_conversation,
    picture_of,
    typed_parts,
)
from fullbench.files.row_readers import parse_json
from fullbench.files.row_writers import write_rows

SEVEN, SIX = GradedChoice(7), GradedChoice(6)


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
            raise InputError(
                "a row needs the conversation in 'context' or 'prompt', and its last turn is the user's",
                path=file,
                line=line,
            )
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
    votes = _mmrb2_votes(builder, pair.get("human_annotations"))
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


def _mmrb2_votes(builder: RecordBuilder, annotations: Any) -> list[Any]:
    """Return annotations from 1 to 6; the hub has them as JSON. Ratings of each response alone are counted."""
    if isinstance(annotations, str) and annotations:
        annotations = parse_json(annotations)
    if isinstance(annotations, Mapping):
        ratings = sum(len(as_list(letters)) for letters in annotations.values())
        builder.leave_out("ratings of one response by a letter, as the task `reasoning` has them", ratings)
        return []
    return as_list(annotations or [])


def _mmrb2_parts(content: Any, file: Path) -> tuple[Part, ...]:
    """Return texts and pictures of a list of [kind, value]; empty if a picture is missing."""
    parts: list[Part] = []
    for entry in as_list(content):
        if not (isinstance(entry, list) and len(entry) == 2):
            return ()
        kind, value = entry
        if kind == "image":
            if media_among([str(value)], file)[1]:
                return ()
            parts.append(picture_of(str(value), file))
        else:
            parts.append(words_of(value))
    return tuple(parts)


def graded_verdicts(
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
        raise InputError(f"the ledger has no usable verdict on {specs}, which this format needs")


def write_helpsteer(record: Record, path: Path, options: Mapping[str, str]) -> dict[str, int]:
    """Write verdicts on 6 or 7 levels as HelpSteer3's preferences, a row for every two responses.

    Option: `judge` (default: all judges). Every judge and person is an annotator of a row.
    """
    left_out: Counter[str] = Counter()
    by_pair: dict[tuple[str, str, tuple[tuple[str, int], ...]], list[Verdict]] = defaultdict(list)
    for verdict in graded_verdicts(record, options, left_out, {3}):
        by_pair[verdict.item, verdict.criterion, tuple(sorted(verdict.shown_responses))].append(verdict)
    rows = []
    for (item_id, criterion, keys), verdicts in by_pair.items():
        item = record.items.get(item_id)
        turns = item.turns if item else ()
        answers = [record.responses.get((item_id, *key)) for key in keys]
        votes = [_helpsteer_vote(verdict, keys) for verdict in verdicts]
        rows.append({
            "id": item_id, **({"criterion": criterion} if criterion != "overall" else {}),
            "context": [
                {"role": turn.role, "content": typed_parts(turn.parts) if turn.media else turn.text} for turn in turns
            ],
            **{f"response{place}": answer.text if answer else "" for place, answer in enumerate(answers, 1)},
            **{f"contestant{place}": name for place, (name, _) in enumerate(keys, 1)},
            "overall_preference": round(sum(vote["score"] for vote in votes) / len(votes)),
            "individual_preference": votes,
        })  # fmt: skip
    counts = {"rows": write_rows(path, rows), "preferences": sum(map(len, by_pair.values())), **left_out}
    return counts | count_omitted_media(record, questions=False, answers=True)


def _helpsteer_vote(verdict: Verdict, keys: Sequence[tuple[str, int]]) -> dict[str, Any]:
    marks = dict(zip(verdict.shown_responses, verdict.marks or (), strict=True))
    form = ballot(verdict.ballot)
    step = form.step_of([marks[key] for key in keys]) if isinstance(form, GradedChoice) else None
    return {"score": -(step or 0), "reasoning": verdict.text, "annotator": verdict.rater or verdict.judge}
