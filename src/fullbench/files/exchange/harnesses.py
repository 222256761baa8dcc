"""What evaluation harnesses leave on disk: VLMEvalKit's tables, lm-eval's and lmms-eval's samples, Inspect's logs."""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from fullbench.errors import InputError, MissingExtra
from fullbench.files.exchange.common import (
    Gathering,
    conversation,
    files_in,
    parts_of,
    picture_of,
    pictures_among,
    read_json,
    rows,
    words_of,
)
from fullbench.files.exchange.sheets import sheet_rows
from fullbench.nouns.item import WITHOUT_PICTURES, Item, Part, Turn
from fullbench.nouns.reproduction import Brought

SHARE = "real:0-1"
_MARKED = ("hit", "score", "match", "eval_score")
_UNANSWERED = "Failed to obtain answer"
"""What VLMEvalKit writes in place of an answer that no server gave."""


def vlmevalkit(path: Path, options: Mapping[str, str]) -> Brought:
    """A benchmark's TSV (index, image, question, A, B, C, D, answer), or result sheets with a column `prediction`.

    A folder may hold several of both. A sheet is called MODEL_BENCHMARK.xlsx, or MODEL_BENCHMARK_JUDGE_result.xlsx; the
    model is the option `model`, the folder that the sheet lies in, or what stands before the benchmark. Columns `hit`
    and `score` become verdicts of the judge in the name (option `judge`).
    """
    held = Gathering(path)
    files = files_in(path, "*.tsv", "*.xlsx")
    benchmarks = [file for file in files if not _predicts(file)]
    sheets = [file for file in files if file not in benchmarks]
    titles = _titles(sheets, [file.stem for file in benchmarks], options)
    of = {**{file: file.stem for file in benchmarks}, **{file: title[1] for file, title in titles.items()}}
    several = len(set(of.values())) > 1
    pictures: dict[tuple[str, str], str] = {}
    known: dict[tuple[str, str], str] = {}
    unanswered: set[tuple[str, str]] = set()
    for file in [*benchmarks, *sheets]:
        model, benchmark, judge = titles.get(file, ("", file.stem, ""))
        for line, row in sheet_rows(file):
            index = words_of(row.get("index", row.get("id", line)))
            place = (benchmark, index)
            image = row.get("image")
            if isinstance(image, str) and image:
                pictures[place] = pictures.get((benchmark, image), image)  # one that occurs again is named by its index
            if place not in known:
                name = f"{benchmark}/{index}" if several else index
                item = _asked(name, row, pictures.get(place), file)
                if not item.pictures and benchmark not in {one.stem for one in benchmarks}:
                    held.leave_out("pictures that the sheets do not hold: put the benchmark's .tsv beside them")
                    item = replace(item, tags={**item.tags, WITHOUT_PICTURES: f"{benchmark}.tsv, index {index}"})
                known[place] = held.item(item)
            if "prediction" not in row:
                continue
            answer = words_of(row["prediction"])
            if _UNANSWERED in answer:
                unanswered.add((known[place], model))
                continue
            sample = held.response(known[place], model, (answer,))
            for column in _MARKED:
                mark = _number(row.get(column))
                if mark is not None and 0 <= mark <= 1:
                    held.rule(judge, known[place], [(model, sample)], SHARE, [mark], criterion=column)
                elif row.get(column) is not None:
                    held.leave_out(f"marks in the column {column!r} that are no share from 0 to 1")
    for _ in unanswered:
        held.leave_out("answers that VLMEvalKit could not obtain")
    return held.brought()


def _predicts(file: Path) -> bool:
    return "prediction" in next(iter(sheet_rows(file)))[1]


def _titles(sheets: list[Path], benchmarks: list[str], options: Mapping[str, str]) -> dict[Path, tuple[str, str, str]]:
    """Model, benchmark and judge of every sheet, by its name and by the names around it."""
    parts = {file: _model(file, benchmarks, options.get("model")) for file in sheets}
    known = sorted({*benchmarks, *(rest for _, rest in parts.values())}, key=len)
    titles = {}
    for file, (model, rest) in parts.items():
        whole = [name for name in known if f"{rest}_".startswith(f"{name}_")]
        benchmark = next((name for name in reversed(whole) if name in benchmarks), whole[0])
        judge = re.sub(r"_?(result|score)$", "", rest.removeprefix(benchmark).removeprefix("_"))
        titles[file] = (model, benchmark, options.get("judge") or judge or "vlmevalkit")
    return titles


def _model(file: Path, benchmarks: list[str], named: str | None) -> tuple[str, str]:
    """The model of a sheet, and what of the sheet's name follows it."""
    stem = file.stem
    around = [named, *(parent.name for parent in file.resolve().parents)]
    for model in filter(None, around):
        if stem.startswith(f"{model}_"):
            return model, stem.removeprefix(f"{model}_")
    for benchmark in sorted(benchmarks, key=len, reverse=True):
        model, found, rest = f"{stem}_".partition(f"_{benchmark}_")
        if found:
            return named or model, f"{benchmark}_{rest}".strip("_")
    if named is None and stem.count("_") != 1:
        raise InputError(
            f"which part of {stem!r} is the model's name? Put the sheet into a folder of that name, the benchmark's "
            ".tsv beside it, or say --option model=NAME",
            path=file,
        )
    model, _, rest = stem.partition("_")
    return named or model, stem if named else rest


def _asked(name: str, row: Mapping[str, Any], image: str | None, file: Path) -> Item:
    if "question" not in row:
        raise InputError(f"a row has no 'question'; found {', '.join(row)}; is it a file of this kind?", path=file)
    options = [f"{letter}. {row[letter]}" for letter in ascii_uppercase if row.get(letter) not in {None, ""}]
    hint = [f"Hint: {row['hint']}"] if isinstance(row.get("hint"), str) and row["hint"] else []
    words = "\n".join([*hint, words_of(row["question"]), *options])
    parts: list[Part] = [picture_of(f"data:;base64,{code}", file) for code in _coded(image)]
    tags = {name: str(row[name]) for name in ("category", "l2-category", "split") if row.get(name) is not None}
    if not image and isinstance(row.get("image_path"), str):
        found, missing = pictures_among(_quoted(row["image_path"]), file)
        parts.extend(found)
        tags |= {WITHOUT_PICTURES: "\n".join(missing)} if missing else {}
    answer = row.get("answer")
    return Item(name, (Turn("user", (*parts, words)),), None if answer is None else str(answer), tags=tags)


def _coded(image: str | None) -> list[str]:
    """The pictures of a cell, in base64: one, or several in brackets as Python writes a list."""
    if image is None or not image.startswith("["):
        return [image] if image else []
    return re.findall(r"[A-Za-z0-9+/=]{16,}", image)


def _quoted(names: str) -> list[str]:
    """The names in a cell: one, or several in brackets as Python writes a list."""
    return re.findall(r"['\"]([^'\"]+)['\"]", names) if names.startswith("[") else [names]


def _number(value: Any) -> float | None:
    """A number, as a sheet or a metric has it: also as text, as a truth, or as the `score` of a mapping."""
    if isinstance(value, Mapping):
        value = value.get("score")
    try:
        number = {"true": 1.0, "false": 0.0}.get(str(value).lower(), math.nan)
        number = float(value) if math.isnan(number) else number
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def samples(path: Path, options: Mapping[str, str]) -> Brought:
    """Samples of lm-eval and lmms-eval (`samples_TASK_....jsonl`): doc_id, doc, target, arguments, resps, and metrics.

    Who answered is the option `model`, or the folder that the file lies in. Each metric becomes a judge of its name,
    with the filter's behind a comma where an answer was filtered; the response is what the model itself said. Of
    several options that were weighed, it is the likeliest.
    """
    held = Gathering(path)
    for file, line, row in rows(path, "samples_*.jsonl", "*_samples_*.jsonl", "*.jsonl"):
        if "doc_id" not in row:
            raise InputError(f"samples have a field 'doc_id'; found {', '.join(row)}", path=file, line=line)
        model = options.get("model") or file.resolve().parent.name
        doc = row["doc"] if isinstance(row.get("doc"), Mapping) else {}
        weighed = _weighed(row)
        prompt = (weighed[0] or _prompt({}, doc)) if weighed else _prompt(row, doc)
        target = row.get("target")
        reference = target if isinstance(target, str) else None if target is None else json.dumps(target)
        if weighed and str(target).isdigit() and int(str(target)) < len(weighed[1]):
            reference = weighed[1][int(str(target))]
        task = _task(file)
        tags = {"task": task} if task else {}
        found, missing = pictures_among(_media(row), file)
        if missing:
            held.leave_out("pictures that the samples do not hold")
            tags[WITHOUT_PICTURES] = "\n".join(missing)
        name = f"{task}/{row['doc_id']}" if task else str(row["doc_id"])
        item = held.item(Item.ask(name, prompt, *found, reference=reference, tags=tags))
        answer = weighed[2] if weighed else _answer(held, row)
        shown = [(model, held.response(item, model, (answer,)))]
        how = words_of(row.get("filter"))
        for metric in _metrics(row):
            value = _number(row.get(metric))
            judge = metric if how in {"", "none"} else f"{metric},{how}"
            if value is None:
                held.leave_out(f"values of {judge} that are no number")
            elif 0 <= value <= 1:
                held.rule(judge, item, shown, SHARE, [value])
            else:
                held.leave_out(f"values of {judge} that are no share from 0 to 1")
    return held.brought()


def _task(file: Path) -> str:
    stem = file.stem
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
        _number(one[0]) if isinstance(one, list) and one else None for one in _values(row.get("filtered_resps"))
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


def inspect(path: Path, _options: Mapping[str, str]) -> Brought:
    """Logs of Inspect, `.eval` or `.json`, one or a folder of them; each scorer becomes a judge of its name."""
    held = Gathering(path)
    for file in files_in(path, "*.eval", "*.json"):
        run, logged = _log(file)
        task, model = str(run.get("task", "")), str(run.get("model", "model"))
        for sample in logged:
            if not isinstance(sample, Mapping) or not isinstance(sample.get("scores") or {}, Mapping):
                raise InputError("a sample of Inspect is an object with 'input', 'output' and 'scores'", path=file)
            asked = sample.get("input")
            turns = conversation(asked, file) if isinstance(asked, list) else (Turn("user", parts_of(asked, file)),)
            target = sample.get("target")
            reference = ", ".join(map(str, target)) if isinstance(target, list) else target
            name = f"{task}/{sample.get('id')}" if task else str(sample.get("id"))
            item = held.item(Item(name, turns, reference or None, tags={"task": task} if task else {}))
            if sample.get("error"):
                held.leave_out("samples that ended in an error: their items are here, their answers are not")
                continue
            number = held.response(item, model, (_completion(sample),))
            for scorer, score in (sample.get("scores") or {}).items():
                _scored(held, str(scorer), item, (model, number), score)
    return held.brought()


def _log(file: Path) -> tuple[Mapping[str, Any], Iterator[Any]]:
    """What a log says of its run, and its samples."""
    if file.suffix != ".eval":
        log = read_json(file)
        samples = log.get("samples") or [] if isinstance(log, Mapping) else None
        if not isinstance(samples, list) or not isinstance(log.get("eval"), Mapping):
            raise InputError("this is no log of Inspect: it has no part 'eval'", path=file)
        return log["eval"], iter(samples)
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            start = "header.json" if "header.json" in names else "_journal/start.json"
            run = json.loads(_member(archive, file, start))["eval"]
            sample_logs = [
                json.loads(_member(archive, file, name)) for name in sorted(names) if name.startswith("samples/")
            ]
    except (OSError, zipfile.BadZipFile, KeyError, TypeError, ValueError, NotImplementedError) as error:
        raise InputError(
            f"this log cannot be read ({error}); `inspect log convert --to json` writes one that can", path=file
        ) from error
    return run, iter(sample_logs)


_ZSTANDARD = 93
"""How newer logs are packed, which Python's own reader of archives learned late."""


def _member(archive: zipfile.ZipFile, file: Path, name: str) -> bytes:
    entry = archive.getinfo(name)
    if entry.compress_type != _ZSTANDARD:
        return archive.read(name)
    try:
        unpack = import_module("zstandard").ZstdDecompressor().decompressobj()
    except ModuleNotFoundError as error:
        raise MissingExtra("reading this log", "inspect") from error
    with file.open("rb") as raw:
        raw.seek(entry.header_offset)
        head = raw.read(30)
        raw.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
        data: bytes = unpack.decompress(raw.read(entry.compress_size))
        return data


def _completion(sample: Mapping[str, Any]) -> str:
    output: Mapping[str, Any] = sample["output"] if isinstance(sample.get("output"), Mapping) else {}
    if isinstance(output.get("completion"), str):
        return str(output["completion"])
    choices = output.get("choices") or [{}]
    content = (choices[0].get("message") or {}).get("content")
    return "".join(str(part.get("text", "")) for part in content) if isinstance(content, list) else words_of(content)


def _scored(held: Gathering, scorer: str, item: str, shown: tuple[str, int], score: Any) -> None:
    score = score if isinstance(score, Mapping) else {"value": score}
    value = score.get("value")
    grades = {"C": 1.0, "P": 0.5, "I": 0.0, True: 1.0, False: 0.0}
    values = value if isinstance(value, Mapping) else {"overall": value}
    for criterion, grade in values.items():
        mark = grades.get(grade, grade) if isinstance(grade, str | bool | int | float) else None
        if isinstance(mark, int | float) and 0 <= mark <= 1:
            text = str(score.get("explanation") or "")
            held.rule(scorer, item, [shown], SHARE, [mark], criterion=str(criterion), text=text)
        else:
            held.leave_out(f"scores of {scorer} that are no grade and no share from 0 to 1")
