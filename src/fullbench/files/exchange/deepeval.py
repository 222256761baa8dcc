"""Importer of DeepEval's test runs, as it saves them in `.deepeval` and in its results folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fullbench.core.benchmark import LoadedData
from fullbench.core.item import WITHOUT_PICTURES, Item, Part, Turn
from fullbench.errors import InputError
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.harness_metrics_as_marks import Measures, number_of
from fullbench.files.exchange.import_record_builder import RecordBuilder, files_in, question_id, read_json, words_of
from fullbench.files.exchange.message_parts import media_among, picture_of

_PICTURE = re.compile(r"\[DEEPEVAL:IMAGE:([^\]]+)\]")


def is_deepeval_file(head: FileHead) -> bool:
    """Return True for test runs, with and without a wrapper."""
    return _test_run(head.content) is not None


def _test_run(content: Any) -> Mapping[str, Any] | None:
    run = content.get("testRunData", content) if isinstance(content, Mapping) else None
    return run if isinstance(run, Mapping) and run.keys() & {"testCases", "conversationalTestCases"} else None


@detected_by(is_deepeval_file)
def import_deepeval(path: Path, options: Mapping[str, str]) -> LoadedData:
    """Import test runs of DeepEval: inputs, outputs and metrics.

    The judge is the model that evaluated a metric, and the metric is its criterion; a metric without a model is a judge
    of its own. The contestant is the hyperparameter `model`, or the run's identifier, or the option `model`.
    Options: `model`; `scale`, for scores outside 0 to 1.
    """
    builder = RecordBuilder(path)
    measures = Measures(builder, options)
    for file in files_in(path, "*.json"):
        run = _test_run(read_json(file))
        if run is None:
            raise InputError("this is not a test run of DeepEval: 'testCases' is missing", path=file)
        parameters = run["hyperparameters"] if isinstance(run.get("hyperparameters"), Mapping) else {}
        named = next((value for key, value in parameters.items() if key.lower() == "model"), None)
        model = options.get("model") or (named if isinstance(named, str) else "") or words_of(run.get("identifier"))
        for case in run.get("testCases") or ():
            _add_test(builder, measures, case, model or "model", file)
        for case in run.get("conversationalTestCases") or ():
            _add_dialogue(builder, measures, case, model or "model", file)
    measures.settle()
    return builder.build()


def _add_test(builder: RecordBuilder, measures: Measures, case: Mapping[str, Any], model: str, file: Path) -> None:
    parts, missing = _text_and_pictures(case, words_of(case.get("input")), file)
    context = [words_of(entry) for name in ("context", "retrievalContext") for entry in case.get(name) or ()]
    if context:
        builder.leave_out("contexts of tests, which the question does not have")
    item = builder.add_item(_test_item(case, (Turn("user", parts),), missing, words_of(case.get("expectedOutput"))))
    if case.get("actualOutput") is None:
        builder.leave_out("tests without an output")
        return
    builder.leave_out("tool calls of models: only the output is taken", len(case.get("toolsCalled") or ()))
    output, _ = _text_and_pictures(case, words_of(case["actualOutput"]), file)
    _add_metrics(builder, measures, case, item, (model, builder.add_response(item, model, output)))


def _add_dialogue(builder: RecordBuilder, measures: Measures, case: Mapping[str, Any], model: str, file: Path) -> None:
    turns = [turn for turn in case.get("turns") or () if isinstance(turn, Mapping)]
    asked = tuple(
        Turn("user", _text_and_pictures(case, words_of(turn.get("content")), file)[0])
        for turn in turns if turn.get("role") == "user"
    )  # fmt: skip
    replies = tuple(words_of(turn.get("content")) for turn in turns if turn.get("role") == "assistant")
    if not asked or not replies:
        builder.leave_out("dialogues without turns of both sides")
        return
    item = builder.add_item(_test_item(case, asked, [], words_of(case.get("expectedOutcome"))))
    _add_metrics(builder, measures, case, item, (model, builder.add_response(item, model, replies)))


def _test_item(case: Mapping[str, Any], turns: tuple[Turn, ...], missing: list[str], reference: str) -> Item:
    name = question_id("\n".join(turn.text for turn in turns))
    tags = {
        **({"test": words_of(case["name"])} if case.get("name") else {}),
        **({WITHOUT_PICTURES: "\n".join(missing)} if missing else {}),
    }
    return Item(name, turns, reference or None, tags=tags)


def _add_metrics(
    builder: RecordBuilder, measures: Measures, case: Mapping[str, Any], item: str, shown_response: tuple[str, int]
) -> None:
    for metric in case.get("metricsData") or ():
        name, score = words_of(metric.get("name")) or "metric", number_of(metric.get("score"))
        if metric.get("error") or score is None:
            builder.leave_out(f"scores of {name} that ended in an error or are missing")
            continue
        model = words_of(metric.get("evaluationModel"))
        measures.add(
            model or name, item, shown_response, score, criterion=name if model else "overall",
            text=words_of(metric.get("reason")),
        )  # fmt: skip


def _text_and_pictures(case: Mapping[str, Any], text: str, file: Path) -> tuple[tuple[Part, ...], list[str]]:
    """Return a text with its pictures in their places, and the names of missing ones."""
    images = case["imagesMapping"] if isinstance(case.get("imagesMapping"), Mapping) else {}
    parts: list[Part] = []
    missing: list[str] = []
    for place, part in enumerate(_PICTURE.split(text)):
        if place % 2 == 0:
            parts += [part] if part else []
            continue
        image = images.get(part)
        source = _picture_source(image) if isinstance(image, Mapping) else ""
        if source and not media_among([source], file)[1]:
            parts.append(picture_of(source, file))
        else:
            missing.append(source or part)
    return tuple(parts) or ("",), missing


def _picture_source(image: Mapping[str, Any]) -> str:
    """Return a data URI of a picture in the file, or its name."""
    code = next((image[name] for name in ("dataBase64", "data_base64") if image.get(name)), None)
    if code:
        kind = next((image[name] for name in ("mimeType", "mime_type") if image.get(name)), "image/png")
        return f"data:{kind};base64,{code}"
    url = words_of(image.get("url"))
    return url if url.startswith(("http://", "https://")) else words_of(image.get("filename")) or url
