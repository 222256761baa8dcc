"""Importer of Inspect logs: samples, a model's answers, and each scorer's scores."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fullbench.core.benchmark import LoadedData
from fullbench.core.item import Item, Part, Turn
from fullbench.errors import InputError
from fullbench.files.bounded_archives import BoundedArchive
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.harness_metrics_as_marks import Measures
from fullbench.files.exchange.import_record_builder import RecordBuilder, as_list, files_in, read_json, words_of
from fullbench.files.exchange.message_parts import OmittedPart, parse_conversation, parts_of


def is_inspect_log(head: FileHead) -> bool:
    """Return True for logs: archives, and objects with the part `eval`."""
    keys = head.content.keys()
    return head.suffix == ".eval" or ("eval" in keys and bool(keys & {"version", "status", "samples"}))


@detected_by(is_inspect_log)
def import_inspect(path: Path, options: Mapping[str, str]) -> LoadedData:
    """Import Inspect logs, `.eval` or `.json`, one or a folder; each scorer becomes a judge of its name.
    Option: `scale`, for scores outside 0 to 1.
    """
    builder = RecordBuilder(path)
    measures = Measures(builder, options)
    for file in files_in(path, "*.eval", "*.json"):
        run, samples = _read_log(file)
        task, model = str(run.get("task", "")), str(run.get("model", "model"))
        for sample in samples:
            _add_sample(builder, measures, sample, file, task=task, model=model)
    measures.settle()
    return builder.build()


def _add_sample(builder: RecordBuilder, measures: Measures, sample: Any, file: Path, *, task: str, model: str) -> None:
    if not isinstance(sample, Mapping) or not isinstance(sample.get("scores") or {}, Mapping):
        raise InputError("a sample of Inspect is an object with 'input', 'output' and 'scores'", path=file)
    sample = _with_attachments(sample)
    name = f"{task}/{sample.get('id')}" if task else str(sample.get("id"))
    target = sample.get("target")
    reference = ", ".join(map(str, target)) if isinstance(target, list) else target
    item = builder.add_item(
        Item(name, _question_turns(sample, file), reference or None, tags={"task": task} if task else {})
    )
    if sample.get("error"):
        builder.leave_out("samples that ended in an error: their items are here, their answers are not")
        return
    _count_steps(builder, sample)
    number = builder.add_response(item, model, _answer_parts(sample, file))
    for scorer, raw_score in (sample.get("scores") or {}).items():
        score = raw_score if isinstance(raw_score, Mapping) else {"value": raw_score}
        for criterion, mark in _marks_by_criterion(score.get("value")).items():
            if mark is None:
                builder.leave_out(f"scores of {scorer} that are no grade and no number")
            else:
                measures.add(
                    str(scorer), item, (model, number), mark, criterion=criterion, task=task,
                    text=str(score.get("explanation") or ""),
                )  # fmt: skip


_ATTACHMENT = "attachment://"


def _with_attachments(sample: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a sample with the texts and pictures that Inspect moved to its attachments in their places."""
    attachments = sample.get("attachments")
    if not isinstance(attachments, Mapping) or not attachments:
        return sample

    def restore(value: Any) -> Any:
        if isinstance(value, str):
            return attachments.get(value.removeprefix(_ATTACHMENT), value) if value.startswith(_ATTACHMENT) else value
        if isinstance(value, list):
            return [restore(part) for part in value]
        return {key: restore(part) for key, part in value.items()} if isinstance(value, Mapping) else value

    return {key: restore(sample.get(key)) for key in ("id", "input", "target", "output", "messages", "scores", "error")}


def _question_turns(sample: Mapping[str, Any], file: Path) -> tuple[Turn, ...]:
    question = sample.get("input")
    if not isinstance(question, list):
        return (Turn("user", parts_of(question, file)),)
    return parse_conversation(question, file)


def _count_steps(builder: RecordBuilder, sample: Mapping[str, Any]) -> None:
    """Count the messages between the question and the final answer, which are not part of the response."""
    messages = [message for message in as_list(sample.get("messages") or []) if isinstance(message, Mapping)]
    asked = sample.get("input")
    first = next((at for at, message in enumerate(messages) if message.get("role") == "assistant"), len(messages))
    replies = [message for message in messages[first:] if message.get("role") == "assistant"]
    calls = sum(len(message.get("tool_calls") or ()) for message in replies)
    results = [message for message in messages[first:] if message.get("role") == "tool"]
    pictures = sum(
        isinstance(part, Mapping) and part.get("type") == "image"
        for message in messages[first:] for part in as_list(message.get("content"))
    )  # fmt: skip
    builder.leave_out("tool calls of models: only the final answer is taken", calls)
    builder.leave_out("results of tools", len(results))
    builder.leave_out("pictures in the messages after the question, such as screenshots", pictures)
    own_words = max(0, len(replies) - 1)
    builder.leave_out("earlier messages of models: only the final answer is taken", own_words)
    system = sum(message.get("role") == "system" for message in messages[:first])
    if system and not any(isinstance(turn, Mapping) and turn.get("role") == "system" for turn in as_list(asked)):
        builder.leave_out("system messages that a solver put before the question", system)


def _read_log(file: Path) -> tuple[Mapping[str, Any], Iterator[Any]]:
    if file.suffix != ".eval":
        log = read_json(file)
        samples = log.get("samples") or [] if isinstance(log, Mapping) else None
        if not isinstance(samples, list) or not isinstance(log.get("eval"), Mapping):
            raise InputError("this is not a log of Inspect: its part 'eval' is missing", path=file)
        return log["eval"], iter(samples)
    samples = _read_samples(file)
    return next(samples)["eval"], samples


def _read_samples(file: Path) -> Iterator[Any]:
    """Yield the head of an archived log, then its samples one by one."""
    try:
        with BoundedArchive(file) as archive:
            names = sorted(member.filename for member in archive.members)
            head = json.loads(archive.read_member("header.json" if "header.json" in names else "_journal/start.json"))
            if not isinstance(head["eval"], Mapping):
                raise TypeError("its part 'eval' is not an object")
            yield head
            for name in names:
                if name.startswith("samples/"):
                    yield json.loads(archive.read_member(name))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"this log cannot be read ({error}); `inspect log convert --to json` writes one that can be read be read",
            path=file,
        ) from error


def _answer_parts(sample: Mapping[str, Any], file: Path) -> tuple[Part, ...]:
    """Return the answer; its message instead of its text if it has files."""
    output: Mapping[str, Any] = sample["output"] if isinstance(sample.get("output"), Mapping) else {}
    choices = output.get("choices") or [{}]
    content = (choices[0].get("message") or {}).get("content")
    parts = parts_of(content, file) if isinstance(content, list) else ()
    if any(not isinstance(part, str) for part in parts):
        return parts
    if isinstance(output.get("completion"), str):
        return (str(output["completion"]),)
    texts = [part for part in parts if isinstance(part, str) and not isinstance(part, OmittedPart)]
    return ("".join(texts),) if parts else (words_of(content),)


_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, True: 1.0, False: 0.0}


def _marks_by_criterion(value: Any) -> dict[str, float | None]:
    marks: dict[str, float | None] = {}
    for criterion, grade in (value if isinstance(value, Mapping) else {"overall": value}).items():
        mark = _GRADES.get(grade, grade) if isinstance(grade, str | bool | int | float) else None
        marks[str(criterion)] = mark if isinstance(mark, int | float) and math.isfinite(mark) else None
    return marks
