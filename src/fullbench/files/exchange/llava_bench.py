"""Importer of LLaVA-Bench, and of Vicuna's reviews before it: questions, answers, and two scores for each pair."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fullbench.core.benchmark import LoadedData
from fullbench.core.item import WITHOUT_PICTURES, Item, Turn
from fullbench.core.verdict import Fault
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.harness_metrics_as_marks import number_of
from fullbench.files.exchange.import_record_builder import (
    RecordBuilder,
    as_list,
    rows_of_files,
    tags_of,
    text_of,
    words_of,
)
from fullbench.files.exchange.message_parts import media_among, picture_of

_SCALE = "real:0-10"
"""Reviews ask for 1 to 10; some scores are 0."""
_HIGHEST = 10
_FILES = ("*.jsonl",)


def is_llava_bench_file(head: FileHead) -> bool:
    """Return True for reviews, answers, questions, and captions of pictures."""
    if head.suffix != ".jsonl":
        return False
    if head.has("question_id", "answer1_id", "answer2_id") or head.has("question_id", "text", "answer_id", "model_id"):
        return True
    if head.has("image", "caption") and len(head.rows[0]) <= _CAPTION_COLUMNS:
        return True
    return head.has("question_id", "text") and not (head.has("answer_id") or head.has("model_id"))


_CAPTION_COLUMNS = 3


@detected_by(is_llava_bench_file)
def import_llava_bench(path: Path, options: Mapping[str, str]) -> LoadedData:
    """Import LLaVA-Bench: questions, answers and reviews (`.jsonl`), and the captions of pictures if they are there.

    A review gives two answers a score each, from 1 to 10, which are two verdicts here, since LLaVA-Bench reports mean
    scores; [-1, -1] is an unreadable reply. Answers are found by the ids that reviews name. Option: `judge`, the name
    of the reviewer, if the reviews do not name it.
    """
    builder = RecordBuilder(path)
    entries = list(rows_of_files(path, *_FILES))
    captions = {
        words_of(row["image"]): "\n".join(map(words_of, as_list(row["caption"])))
        for _, _, row in entries if "caption" in row and "image" in row
    }  # fmt: skip
    for file, line, row in entries:
        if "question_id" in row and "text" in row and not row.keys() & {"answer_id", "model_id", "answer1_id"}:
            name = words_of(row["question_id"])
            builder.add_item(_question_item(builder, row, captions, name=name, file=file, line=line))
    answers: dict[str, tuple[str, str, int]] = {}
    for file, line, row in entries:
        if "answer1_id" not in row and row.keys() & {"answer_id", "model_id"}:
            item = words_of(row.get("question_id"))
            if item not in builder.items:
                asked = {**row, "text": row.get("prompt") or item}
                builder.leave_out("questions that are not here: taken from the prompts or ids of answers")
                builder.add_item(_question_item(builder, asked, {}, name=item, file=file, line=line))
            model = words_of(row.get("model_id")) or file.stem
            sample = builder.add_response(item, model, (text_of(row, "text", path=file, line=line),))
            answers[words_of(row.get("answer_id")) or f"{item} {model}"] = (item, model, sample)
    for _, _, row in entries:
        if "answer1_id" in row:
            _add_review(builder, answers, row, options)
        elif "question_id" not in row and "caption" not in row:
            builder.leave_out("rows that are no question, answer or review")
    return builder.build()


def _question_item(
    builder: RecordBuilder, row: Mapping[str, Any], captions: Mapping[str, str], *, name: str, file: Path, line: int
) -> Item:
    image = words_of(row.get("image"))
    places = [place for place in (image, f"images/{image}") if image and not media_among([place], file)[1]]
    pictures = [picture_of(places[0], file)] if places else []
    if image and not places:
        builder.leave_out("questions whose pictures are not next to them")
    tags = {**tags_of(row), **({WITHOUT_PICTURES: image} if image and not places else {})}
    caption = captions.get(image)
    text = text_of(row, "text", path=file, line=line)
    return Item(name, (Turn("user", (*pictures, text)),), captions=(caption,) if caption else (), tags=tags)


def _add_review(
    builder: RecordBuilder, answers: Mapping[str, tuple[str, str, int]], row: Mapping[str, Any],
    options: Mapping[str, str],
) -> None:  # fmt: skip
    pair = [answers.get(words_of(row[f"answer{number}_id"])) for number in (1, 2)]
    first, second = pair
    if first is None or second is None or first[0] != second[0]:
        builder.leave_out("reviews of answers that are not here")
        return
    if first == second:
        builder.leave_out("reviews that compare an answer with itself")
        return
    scores = [number_of(score) for score in as_list(row.get("tuple", row.get("score")))]
    is_readable = len(scores) == len(pair) and all(score is not None and 0 <= score <= _HIGHEST for score in scores)
    judge = options.get("judge") or words_of(row.get("reviewer_id")) or "llava-bench"
    text = words_of(row.get("content", row.get("text")))
    trials = []
    for answer, score in zip((first, second), scores if is_readable else [None, None], strict=True):
        marks: list[float] | Fault = "unreadable" if score is None else [score]
        trials.append(builder.add_verdict(judge, first[0], [answer[1:]], _SCALE, marks, text=text))
    if all(trials):
        builder.leave_out("further reviews of the same two answers: taken as next trials")
