"""Importer of MM-Vet and MM-Vet v2: results (`{"v2_0": "text"}`), grades of several runs, and questions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fullbench.core.benchmark import LoadedData
from fullbench.core.item import WITHOUT_PICTURES, Item, Part, Turn
from fullbench.errors import InputError
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.harness_metrics_as_marks import number_of
from fullbench.files.exchange.import_record_builder import (
    RecordBuilder,
    as_list,
    files_in,
    read_json,
    stem_of,
    words_of,
)
from fullbench.files.exchange.message_parts import media_among, picture_of

_SCALE = "real:0-1"
_ID = re.compile(r"v\d+_\d+")
_GRADES = re.compile(r"-grade-\d+runs?(_.*)?$")
_PICTURE = re.compile(r"[\w./-]+\.(jpe?g|png|gif|webp)", re.IGNORECASE)


def is_mm_vet_file(head: FileHead) -> bool:
    """Return True for results, grades and questions, whose keys are `v1_0`, `v2_0` and so on."""
    return bool(head.content) and _ID.fullmatch(next(iter(head.content))) is not None


@detected_by(is_mm_vet_file)
def import_mm_vet(path: Path, options: Mapping[str, str]) -> LoadedData:
    """Import results of MM-Vet: `MODEL.json`, grades `MODEL_JUDGE-grade-1runs.json`, and the questions.

    The questions (`mm-vet.json` or `mm-vet-v2.json`, with their `images`) are not in its repository; put them next to
    the results. Each run of grades is a trial of the judge. Options: `model` and `judge`, if a file name does not say.
    """
    builder = RecordBuilder(path)
    questions: dict[str, Mapping[str, Any]] = {}
    question_folder, answers, grades = path, {}, {}
    for file in files_in(path, "*.json"):
        content = read_json(file)
        first = next(iter(content.values()), None) if isinstance(content, Mapping) else None
        if isinstance(first, str):
            answers[file] = content
        elif isinstance(first, Mapping) and "score" in first:
            grades[file] = content
        elif isinstance(first, Mapping) and "question" in first:
            questions, question_folder = {**questions, **content}, file
        else:
            builder.leave_out("files that are no results, grades or questions")
    models = {stem_of(file) if len(answers) > 1 else options.get("model") or stem_of(file) for file in answers}
    for file, texts in answers.items():
        model = stem_of(file) if len(answers) > 1 else options.get("model") or stem_of(file)
        for name, text in texts.items():
            item = builder.add_item(_question_item(builder, name, questions.get(name), question_folder))
            builder.add_response(item, model, (words_of(text),))
    for file, rows in grades.items():
        model, judge = _model_and_judge(file, models, options)
        for name, grade in rows.items():
            _add_grades(builder, name, grade, model=model, judge=judge)
    return builder.build()


def _model_and_judge(file: Path, models: set[str], options: Mapping[str, str]) -> tuple[str, str]:
    """Return the two names in the name of a file of grades."""
    name = _GRADES.sub("", stem_of(file))
    model = max((model for model in models if name.startswith(f"{model}_")), key=len, default="")
    if not model and options.get("judge") and name.endswith(f"_{options['judge']}"):
        model = name.removesuffix(f"_{options['judge']}")
    if not model:
        raise InputError(
            "the model of these grades is unknown. Put its file of answers, MODEL.json, next to the grades", path=file
        )
    judge = name.removeprefix(f"{model}_")
    return model, options.get("judge") or judge or "mm-vet"


def _add_grades(builder: RecordBuilder, name: str, grade: Any, *, model: str, judge: str) -> None:
    if (name, model, 0) not in builder.responses:
        builder.leave_out("grades of answers that are not here")
        return
    replies = as_list(grade.get("content"))
    for run, score in enumerate(as_list(grade.get("score"))):
        mark = number_of(score)
        if mark is None or not 0 <= mark <= 1:
            builder.leave_out("grades that are not from 0 to 1")
            continue
        reply = words_of(replies[run]) if run < len(replies) else ""
        builder.add_verdict(judge, name, [(model, 0)], _SCALE, [mark], text=reply)


def _question_item(builder: RecordBuilder, name: str, row: Mapping[str, Any] | None, file: Path) -> Item:
    if row is None:
        if name not in builder.items:
            builder.leave_out(
                "questions that are not here, named by their ids: put mm-vet.json or mm-vet-v2.json next to the results"
            )
        return Item(name, (Turn("user", (name,)),), tags={WITHOUT_PICTURES: name})
    # MM-Vet v2 writes pictures between the words: "text<IMG>v2_0.jpg<IMG>text".
    words = [part for part in words_of(row["question"]).split("<IMG>") if part]
    if row.get("imagename"):
        words.insert(0, words_of(row["imagename"]))
    parts: list[Part] = []
    missing: list[str] = []
    for word in words:
        if _PICTURE.fullmatch(word):
            place = word if not media_among([word], file)[1] else f"images/{word}"
            missing += media_among([place], file)[1]
            parts += [picture_of(place, file)] if not media_among([place], file)[1] else []
        else:
            parts.append(word)
    if missing and name not in builder.items:
        builder.leave_out("questions whose pictures are not next to them")
    capabilities = [words_of(capability) for capability in as_list(row.get("capability")) if capability]
    tags = {
        **({"capability": ", ".join(sorted(capabilities))} if capabilities else {}),
        **({WITHOUT_PICTURES: "\n".join(missing)} if missing else {}),
    }
    return Item(name, (Turn("user", tuple(parts) or ("",)),), words_of(row.get("answer")) or None, tags=tags)
