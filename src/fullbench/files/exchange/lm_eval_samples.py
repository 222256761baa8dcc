"""Samples of lm-eval and lmms-eval: what was asked, what a model said, and what each metric made of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fullbench.core.item import WITHOUT_PICTURES, Item
from fullbench.core.reproduction import Brought
from fullbench.errors import InputError
from fullbench.files.exchange.importer_base import Gathering, pictures_among, read_json, rows, stem_of, words_of
from fullbench.files.exchange.metric_scales import Measures, number_of

_LESS = {"wer", "cer", "ter", "perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "brier_score"}
"""Metrics of which less is better, where no results beside the samples say so."""


def samples(path: Path, options: Mapping[str, str]) -> Brought:
    """Samples of lm-eval and lmms-eval (`samples_TASK_....jsonl`): doc_id, doc, target, arguments, resps, and metrics.

    Who answered is the option `model`, or the folder that the file lies in. Each metric becomes a judge of its name,
    with the filter's behind a comma where an answer was filtered; the response is what the model itself said. Of
    several options that were weighed, it is the likeliest. A file of results beside the samples says of which metric
    less is better, what lmms-eval's filters are called, and whether it showed pictures. Option: `scale`, for metrics
    that go beyond 0 to 1.
    """
    held = Gathering(path)
    measures = Measures(held, options)
    runs: dict[Path, _Run] = {}
    said: dict[tuple[Path, str], list[tuple[str, int]]] = {}
    for file, line, row in rows(path, "samples_*.jsonl", "*_samples_*.jsonl", "*.jsonl"):
        if "doc_id" not in row:
            raise InputError(f"samples have a field 'doc_id'; found {', '.join(row)}", path=file, line=line)
        model = options.get("model") or file.resolve().parent.name
        task = _task(file)
        run = runs[file] if file in runs else runs.setdefault(file, _run(file, task))
        item = held.item(_asked(held, row, file, task, run))
        weighed = _weighed(row)
        before = said.setdefault((file, item), [])
        filters = "filter" not in row and before  # lmms-eval: the same answer again, behind its next filter
        if filters:
            held.leave_out("rows of a further filter: their marks stand beside the answer of the first")
            shown = before[0]
        else:
            shown = (model, held.response(item, model, (weighed[2] if weighed else _answer(held, row),)))
        before.append(shown)
        how = words_of(row.get("filter")) or run.filter(len(before) - 1)
        for metric in _metrics(row):
            value = number_of(row.get(metric))
            judge = metric if how in {"", "none"} else f"{metric},{how}"
            if value is None:
                held.leave_out(f"values of {judge} that are no number")
            else:
                measures.add(judge, item, shown, value, of=task, less=run.less.get(metric, metric in _LESS))
    measures.settle()
    return held.brought()


class _Run(NamedTuple):
    """What the results beside some samples say of their task: of which metrics less is better, its filters in their
    order, and whether pictures were shown."""

    less: Mapping[str, bool] = {}
    filters: tuple[str, ...] = ()
    pictures: bool | None = None

    def filter(self, number: int) -> str:
        """What the filter is called behind which an answer stands for the first, second... time."""
        if number < len(self.filters):
            return self.filters[number]
        return f"filter {number + 1}" if number else ""


def _run(file: Path, task: str) -> _Run:
    """What is known of a task's run, from the results that both harnesses write beside their samples."""
    stamp = re.search(r"\d{4}-\d{2}-\d{2}T[\d.-]+\d|^\d{8}_\d{6}", stem_of(file))
    names = [f"results_{stamp[0]}.json", f"{stamp[0]}_results.json"] if stamp else []
    found = next((beside for name in names if (beside := file.parent / name).is_file()), None)
    return _Run() if found is None else _told(found, task)


def _told(results: Path, task: str) -> _Run:
    content = read_json(results)
    parts = [content.get(name) for name in ("higher_is_better", "configs")] if isinstance(content, Mapping) else []
    better, config = ((part.get(task) if isinstance(part, Mapping) else None) or {} for part in (parts or [None] * 2))
    filters = config.get("filter_list")
    return _Run(
        {metric: not more for metric, more in better.items() if isinstance(more, bool)},
        tuple(str(one.get("name", "")) for one in filters) if isinstance(filters, list) else (),
        bool(config.get("doc_to_visual")) if config else None,
    )


def _asked(held: Gathering, row: Mapping[str, Any], file: Path, task: str, run: _Run) -> Item:
    """What a sample was about, with its pictures, or with the names of those that are not here."""
    doc = row["doc"] if isinstance(row.get("doc"), Mapping) else {}
    weighed = _weighed(row)
    prompt = (weighed[0] or _prompt({}, doc)) if weighed else _prompt(row, doc)
    target = row.get("target")
    reference = target if isinstance(target, str) else None if target is None else json.dumps(target)
    if weighed and str(target).isdigit() and int(str(target)) < len(weighed[1]):
        reference = weighed[1][int(str(target))]
    tags = {"task": task} if task else {}
    name = f"{task}/{row['doc_id']}" if task else str(row["doc_id"])
    found, missing = pictures_among(_media(row), file)
    if run.pictures and not found and not missing:
        missing = [f"{task}, doc {row['doc_id']}"]
    if missing:
        tags[WITHOUT_PICTURES] = "\n".join(missing)
    if name not in held.items:
        if missing:
            held.leave_out("pictures that the samples do not hold")
        elif run.pictures is None and "arguments" not in row and not found:
            held.leave_out("questions of lmms-eval of which nothing here says whether pictures were shown with them")
    return Item.ask(name, prompt, *found, reference=reference, tags=tags)


def _task(file: Path) -> str:
    stem = stem_of(file)
    if stem.startswith("samples_"):
        return re.sub(r"_\d{4}-\d{2}-\d{2}T[\d.-]+$", "", stem.removeprefix("samples_"))
    return stem.partition("_samples_")[2]


def _prompt(row: Mapping[str, Any], doc: Mapping[str, Any]) -> str:
    arguments = row.get("arguments")
    first = _first_text(arguments)
    if isinstance(arguments, Mapping):
        first = _first_text(next(iter(arguments.values()), ""))
    if isinstance(row.get("input"), str):
        first = row["input"]
    return first or str(doc.get("question", doc.get("query", json.dumps(doc, ensure_ascii=False, default=str))))


def _weighed(row: Mapping[str, Any]) -> tuple[str, list[str], str] | None:
    """What was asked, the options whose likelihoods were compared, and the likeliest; None where text was generated."""
    arguments = row.get("arguments")
    pairs = [list(one.values()) if isinstance(one, Mapping) else one for one in _values(arguments)]
    likelihoods = [
        number_of(one[0]) if isinstance(one, list) and one else None for one in _values(row.get("filtered_resps"))
    ]
    if len(pairs) < 2 or len(pairs) != len(likelihoods):
        return None
    texts = [tuple(one[:2]) for one in pairs if isinstance(one, list) and len(one) > 1]
    if len(texts) != len(pairs) or not all(isinstance(text, str) for pair in texts for text in pair):
        return None
    numbers = [number for number in likelihoods if number is not None]
    if len(numbers) != len(pairs):
        return None
    contexts = {context for context, _ in texts}
    options = [option.strip() if len(contexts) == 1 else context + option for context, option in texts]
    return contexts.pop() if len(contexts) == 1 else "", options, options[numbers.index(max(numbers))]


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else []


def _answer(held: Gathering, row: Mapping[str, Any]) -> str:
    """What the model said; of several tries, what the filter made of them, which is what was marked."""
    said = row.get("resps", row.get("filtered_resps"))
    while isinstance(said, list) and len(said) == 1:
        said = said[0]
    if isinstance(said, list) and len({json.dumps(one) for one in said}) > 1:
        held.leave_out("answers that a filter made of several tries: taken as it left them")
        return _first_text(row.get("filtered_resps", said))
    return _first_text(said)


def _first_text(value: Any) -> str:
    while isinstance(value, list | tuple | Mapping) and value:
        value = next(iter(value.values())) if isinstance(value, Mapping) else value[0]
    return value if isinstance(value, str) else "" if value in (None, [], {}) else str(value)


def _media(row: Mapping[str, Any]) -> list[str]:
    """The pictures that were asked about, by name; lm-eval writes no more of them than that they were there."""
    named = row.get("input_media")
    if isinstance(named, list):
        return [str(one) for one in named]
    shown = [one.get("visual") for arguments in _values(row.get("arguments")) for one in _values(arguments)
             if isinstance(one, Mapping) and one.get("visual")]  # fmt: skip
    return [f"{row['doc_id']}#{at}" for at, _ in enumerate(_values(shown[0]) or shown[:1], 1)] if shown else []


_KNOWN = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "doc_hash", "prompt_hash", "target_hash",
          "metrics", "filter", "input", "input_media", "token_counts"}  # fmt: skip


def _metrics(row: Mapping[str, Any]) -> list[str]:
    named = row.get("metrics")
    return [str(name) for name in (named if isinstance(named, list) else row) if name not in _KNOWN]
