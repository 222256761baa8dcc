"""Importer of lm-eval and lmms-eval samples: prompts, a model's answers, and metrics."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fullbench.core.benchmark import LoadedData
from fullbench.core.item import WITHOUT_PICTURES, Item
from fullbench.errors import InputError
from fullbench.files.exchange.format_detection import FileHead, detected_by
from fullbench.files.exchange.harness_metrics_as_marks import Measures, number_of
from fullbench.files.exchange.import_record_builder import (
    RecordBuilder,
    files_in,
    read_json,
    rows_of_files,
    stem_of,
    words_of,
)
from fullbench.files.exchange.message_parts import media_among

_LESS = {"wer", "cer", "ter", "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "brier_score"}
"""Metrics for which lower is better, if no results file says so."""


def is_harness_file(head: FileHead) -> bool:
    """Return True for samples, and for the file of results next to them."""
    if head.suffix == ".json":
        return "results" in head.path.name and {"results", "configs"} <= head.content.keys()
    return head.suffix == ".jsonl" and head.has("doc_id")


@detected_by(is_harness_file)
def import_lm_eval(path: Path, options: Mapping[str, str]) -> LoadedData:
    """Import lm-eval and lmms-eval samples (`samples_TASK_....jsonl`): doc_id, doc, target, arguments, resps, metrics.

    The contestant is the option `model`, or the file's folder; if results files in one folder are of several models, it
    is the model that they name. Each metric becomes a judge of its name, followed by a
    comma and the filter if the answer was filtered. The response is the model's own answer; if options were compared by
    likelihood, it is the likeliest. A results file next to the samples says for which metrics lower is better, how
    lmms-eval's filters are called, and whether pictures were shown. Option: `scale`, for metrics outside 0 to 1.
    """
    builder = RecordBuilder(path)
    measures = Measures(builder, options)
    patterns = ("samples_*.jsonl", "*_samples_*.jsonl", "*.jsonl")
    runs = {file: _read_run(file, _task_name(file)) for file in files_in(path, *patterns)}
    models_in: dict[Path, set[str]] = {}
    for file, run in runs.items():
        models_in.setdefault(file.parent, set()).update(filter(None, [run.model]))
    answers_by_item: dict[tuple[Path, str], list[tuple[str, int]]] = {}
    for file, line, row in rows_of_files(path, *patterns):
        if "doc_id" not in row:
            raise InputError(f"samples have a field 'doc_id'; found {', '.join(row)}", path=file, line=line)
        task, run = _task_name(file), runs[file]
        own_name = run.model if len(models_in[file.parent]) > 1 else ""
        model = options.get("model") or own_name or file.resolve().parent.name
        item = builder.add_item(_sample_item(builder, row, file, task, run))
        weighed_options = _weighed_options(row)
        before = answers_by_item.setdefault((file, item), [])
        filters = "filter" not in row and before  # lmms-eval repeats the answer for its next filter
        if filters:
            builder.leave_out("rows of a further filter: their marks belong to the answer of the first")
            shown_response = before[0]
        else:
            text = weighed_options[2] if weighed_options else _answer_text(builder, row)
            shown_response = (model, builder.add_response(item, model, (text,)))
            if shown_response[1]:
                builder.leave_out("further answers of a model to the same question: taken as its next samples")
        before.append(shown_response)
        how = words_of(row.get("filter")) or run.filter(len(before) - 1)
        for metric in _metric_names(row):
            value = number_of(row.get(metric))
            judge = metric if how in {"", "none"} else f"{metric},{how}"
            if value is None:
                builder.leave_out(f"values of {judge} that are no number")
            else:
                measures.add(judge, item, shown_response, value, task=task, less=run.less.get(metric, metric in _LESS))
    measures.settle()
    return builder.build()


class _Run(NamedTuple):
    """Facts from a results file: metrics where lower is better, filters in order, and whether pictures were shown."""

    less: Mapping[str, bool] = {}
    filters: tuple[str, ...] = ()
    pictures: bool | None = None
    model: str = ""

    def filter(self, number: int) -> str:
        if number < len(self.filters):
            return self.filters[number]
        return f"filter {number + 1}" if number else ""


def _read_run(file: Path, task: str) -> _Run:
    # lm-eval: 2024-05-01T12-30-00.123456; lmms-eval: 20240501_123000 at the beginning.
    stamp = re.search(r"\d{4}-\d{2}-\d{2}T[\d.-]+\d|^\d{8}_\d{6}", stem_of(file))
    names = [f"results_{stamp[0]}.json", f"{stamp[0]}_results.json"] if stamp else []
    results_path = next((candidate for name in names if (candidate := file.parent / name).is_file()), None)
    return _Run() if results_path is None else _parse_results(results_path, task)


def _parse_results(results: Path, task: str) -> _Run:
    content = read_json(results)
    parts = [content.get(name) for name in ("higher_is_better", "configs")] if isinstance(content, Mapping) else []
    better, config = ((part.get(task) if isinstance(part, Mapping) else None) or {} for part in (parts or [None] * 2))
    filters = config.get("filter_list")
    return _Run(
        {metric: not more for metric, more in better.items() if isinstance(more, bool)},
        tuple(str(filter_entry.get("name", "")) for filter_entry in filters) if isinstance(filters, list) else (),
        bool(config.get("doc_to_visual")) if config else None,
        words_of(content.get("model_name")) if isinstance(content, Mapping) else "",
    )


def _sample_item(builder: RecordBuilder, row: Mapping[str, Any], file: Path, task: str, run: _Run) -> Item:
    doc = row["doc"] if isinstance(row.get("doc"), Mapping) else {}
    weighed_options = _weighed_options(row)
    prompt = (weighed_options[0] or _prompt_text({}, doc)) if weighed_options else _prompt_text(row, doc)
    target = row.get("target")
    reference = target if isinstance(target, str) else None if target is None else json.dumps(target)
    if weighed_options and str(target).isdigit() and int(str(target)) < len(weighed_options[1]):
        reference = weighed_options[1][int(str(target))]
    tags = {"task": task} if task else {}
    name = f"{task}/{row['doc_id']}" if task else str(row["doc_id"])
    pictures, missing = media_among(_picture_names(row), file, None)
    if run.pictures and not pictures and not missing:
        missing = [f"{task}, doc {row['doc_id']}"]
    if missing:
        tags[WITHOUT_PICTURES] = "\n".join(missing)
    if name not in builder.items:
        if missing:
            builder.leave_out("pictures that the samples do not hold")
        elif run.pictures is None and "arguments" not in row and not pictures:
            builder.leave_out("questions of lmms-eval of which nothing here says whether pictures were shown with them")
    return Item.ask(name, prompt, *pictures, reference=reference, tags=tags)


def _task_name(file: Path) -> str:
    stem = stem_of(file)
    if stem.startswith("samples_"):
        return re.sub(r"_\d{4}-\d{2}-\d{2}T[\d.-]+$", "", stem.removeprefix("samples_"))
    return stem.partition("_samples_")[2]


def _prompt_text(row: Mapping[str, Any], doc: Mapping[str, Any]) -> str:
    arguments = row.get("arguments")
    first = _first_text(arguments)
    if isinstance(arguments, Mapping):
        first = _first_text(next(iter(arguments.values()), ""))
    if isinstance(row.get("input"), str):
        first = row["input"]
    return first or str(doc.get("question", doc.get("query", json.dumps(doc, ensure_ascii=False, default=str))))


def _weighed_options(row: Mapping[str, Any]) -> tuple[str, list[str], str] | None:
    """Return the prompt, the options compared by likelihood, and the likeliest; None if text was generated."""
    arguments = row.get("arguments")
    pairs = [list(entry.values()) if isinstance(entry, Mapping) else entry for entry in _list_values(arguments)]
    likelihoods = [
        number_of(entry[0]) if isinstance(entry, list) and entry else None
        for entry in _list_values(row.get("filtered_resps"))
    ]
    if len(pairs) < 2 or len(pairs) != len(likelihoods):
        return None
    texts = [tuple(entry[:2]) for entry in pairs if isinstance(entry, list) and len(entry) > 1]
    if len(texts) != len(pairs) or not all(isinstance(text, str) for pair in texts for text in pair):
        return None
    numbers = [number for number in likelihoods if number is not None]
    if len(numbers) != len(pairs):
        return None
    contexts = {context for context, _ in texts}
    options = [option.strip() if len(contexts) == 1 else context + option for context, option in texts]
    return contexts.pop() if len(contexts) == 1 else "", options, options[numbers.index(max(numbers))]


def _list_values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []


def _answer_text(builder: RecordBuilder, row: Mapping[str, Any]) -> str:
    """Return the model's answer; of several attempts, the filter's result, since that was scored."""
    replies = row.get("resps", row.get("filtered_resps"))
    while isinstance(replies, list) and len(replies) == 1:
        replies = replies[0]
    if isinstance(replies, list) and len({json.dumps(reply) for reply in replies}) > 1:
        builder.leave_out("answers that a filter made of several tries: taken as it left them")
        return _first_text(row.get("filtered_resps", replies))
    return _first_text(replies)


def _first_text(value: Any) -> str:
    while isinstance(value, list | tuple | Mapping) and value:
        value = next(iter(value.values())) if isinstance(value, Mapping) else value[0]
    return value if isinstance(value, str) else "" if value in (None, [], {}) else str(value)


def _picture_names(row: Mapping[str, Any]) -> list[str]:
    """Return the names of a sample's pictures; lm-eval stores only that there were some."""
    input_media = row.get("input_media")
    if isinstance(input_media, list):
        return [str(entry) for entry in input_media]
    visuals = [
        entry.get("visual")
        for arguments in _list_values(row.get("arguments"))
        for entry in _list_values(arguments)
        if isinstance(entry, Mapping) and entry.get("visual")
    ]
    return (
        [f"{row['doc_id']}#{at}" for at, _ in enumerate(_list_values(visuals[0]) or visuals[:1], 1)] if visuals else []
    )


_SAMPLE_FIELDS = {
    "doc_id",
    "doc",
    "target",
    "arguments",
    "resps",
    "filtered_resps",
    "doc_hash",
    "prompt_hash",
    "target_hash",
    "metrics",
    "filter",
    "input",
    "input_media",
    "token_counts",
}


def _metric_names(row: Mapping[str, Any]) -> list[str]:
    metric_names = row.get("metrics")
    return [
        str(name) for name in (metric_names if isinstance(metric_names, list) else row) if name not in _SAMPLE_FIELDS
    ]
