"""What evaluation harnesses leave on disk: VLMEvalKit's tables, lm-eval's and lmms-eval's samples, Inspect's logs."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
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
    read_json,
    rows,
    words_of,
)
from fullbench.files.exchange.sheets import sheet_rows
from fullbench.nouns.item import Item, Part, Turn
from fullbench.nouns.reproduction import Brought

SHARE = "real:0-1"
_MARKED = ("hit", "score", "match")


def vlmevalkit(path: Path, options: Mapping[str, str]) -> Brought:
    """A benchmark's TSV (index, image, question, A, B, C, D, answer), or result sheets with a column `prediction`.

    A folder may hold both. Who answered is the option `model`, or the sheet's name up to the name of the benchmark
    (`MODEL_BENCHMARK.xlsx`). Columns `hit` and `score` become verdicts of the judge `vlmevalkit` (option `judge`).
    """
    held = Gathering(path)
    judge = options.get("judge", "vlmevalkit")
    pictures: dict[str, str] = {}
    known: dict[str, str] = {}
    files = files_in(path, "*.tsv", "*.xlsx")
    benchmarks = [file for file in files if file.suffix == ".tsv" and not _predicts(file)]
    for file in [*benchmarks, *(file for file in files if file not in benchmarks)]:
        model = options.get("model") or _model(file, [benchmark.stem for benchmark in benchmarks])
        for line, row in sheet_rows(file):
            name = str(row.get("index", row.get("id", line)))
            image = row.get("image")
            if isinstance(image, str) and image:
                pictures[name] = pictures.get(image, image)  # a picture that occurs again is named by its first index
            if name not in known:
                known[name] = held.item(_asked(name, row, pictures.get(name), file))
            if "prediction" not in row:
                continue
            item = known[name]
            sample = held.response(item, model, (words_of(row["prediction"]),))
            for column in _MARKED:
                mark = row.get(column)
                if isinstance(mark, int | float) and 0 <= mark <= 1:
                    held.rule(judge, item, [(model, sample)], SHARE, [mark], criterion=column)
                elif mark is not None:
                    held.leave_out(f"marks in the column {column!r} that are no share from 0 to 1")
    return held.brought()


def _predicts(file: Path) -> bool:
    return "prediction" in next(iter(sheet_rows(file)))[1]


def _model(file: Path, benchmarks: list[str]) -> str:
    for benchmark in benchmarks:
        if f"_{benchmark}" in file.stem:
            return file.stem.partition(f"_{benchmark}")[0]
    return file.stem.partition("_")[0]


def _asked(name: str, row: Mapping[str, Any], image: str | None, file: Path) -> Item:
    if "question" not in row:
        raise InputError(f"a row has no 'question'; found {', '.join(row)}; is it a file of this kind?", path=file)
    options = [f"{letter}. {row[letter]}" for letter in ascii_uppercase if row.get(letter) not in {None, ""}]
    hint = [f"Hint: {row['hint']}"] if isinstance(row.get("hint"), str) and row["hint"] else []
    words = "\n".join([*hint, words_of(row["question"]), *options])
    parts: list[Part] = [picture_of(f"data:;base64,{code}", file) for code in _coded(image)]
    if not image and isinstance(row.get("image_path"), str) and (file.parent / row["image_path"]).exists():
        parts = [picture_of(row["image_path"], file)]
    tags = {name: str(row[name]) for name in ("category", "l2-category", "split") if row.get(name) is not None}
    answer = row.get("answer")
    return Item(name, (Turn("user", (*parts, words)),), None if answer is None else str(answer), tags=tags)


def _coded(image: str | None) -> list[str]:
    """The pictures of a cell, in base64: one, or several in brackets as Python writes a list."""
    if image is None or not image.startswith("["):
        return [image] if image else []
    return re.findall(r"[A-Za-z0-9+/=]{16,}", image)


def samples(path: Path, options: Mapping[str, str]) -> Brought:
    """Samples of lm-eval and lmms-eval (`samples_TASK_....jsonl`): doc_id, doc, target, arguments, resps, and metrics.

    Who answered is the option `model`, or the folder that the file lies in. Each metric becomes a judge of its name.
    """
    held = Gathering(path)
    for file, _, row in rows(path, "samples_*.jsonl", "*_samples_*.jsonl", "*.jsonl"):
        if "doc_id" not in row:
            raise InputError(f"samples have a field 'doc_id'; found {', '.join(row)}", path=file)
        model = options.get("model") or file.resolve().parent.name
        doc = row.get("doc") if isinstance(row.get("doc"), Mapping) else {}
        target = row.get("target")
        reference = target if isinstance(target, str) else None if target is None else json.dumps(target)
        task = _task(file)
        name = f"{task}/{row['doc_id']}" if task else str(row["doc_id"])
        item = held.item(
            Item.ask(name, _prompt(row, doc or {}), reference=reference, tags={"task": task} if task else {})
        )
        sample = held.response(item, model, (_first_text(row.get("filtered_resps", row.get("resps"))),))
        for metric, value in _metrics(row).items():
            if 0 <= value <= 1:
                held.rule(metric, item, [(model, sample)], SHARE, [value])
            else:
                held.leave_out(f"values of {metric} that are no share from 0 to 1")
    return held.brought()


def _task(file: Path) -> str:
    stem = file.stem
    if stem.startswith("samples_"):
        return stem.removeprefix("samples_").rsplit("_", 1)[0] if "T" in stem.rsplit("_", 1)[-1] else stem[8:]
    return stem.partition("_samples_")[2]


def _prompt(row: Mapping[str, Any], doc: Mapping[str, Any]) -> str:
    arguments = row.get("arguments")
    first = _first_text(arguments)
    if isinstance(arguments, Mapping):
        first = _first_text(next(iter(arguments.values()), ""))
    if isinstance(row.get("input"), str):
        first = row["input"]
    return first or str(doc.get("question", doc.get("query", json.dumps(doc, ensure_ascii=False, default=str))))


def _first_text(value: Any) -> str:
    while isinstance(value, list | tuple | Mapping) and value:
        value = next(iter(value.values())) if isinstance(value, Mapping) else value[0]
    return value if isinstance(value, str) else "" if value in (None, [], {}) else str(value)


_KNOWN = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "doc_hash", "prompt_hash", "target_hash",
          "metrics", "filter", "input"}  # fmt: skip


def _metrics(row: Mapping[str, Any]) -> dict[str, float]:
    named = row.get("metrics")
    wanted = named if isinstance(named, list) else [name for name in row if name not in _KNOWN]
    numbers = {str(name): row.get(name) for name in wanted}
    return {name: float(value) for name, value in numbers.items() if isinstance(value, int | float)}


def inspect(path: Path, _options: Mapping[str, str]) -> Brought:
    """Logs of Inspect, `.eval` or `.json`, one or a folder of them; each scorer becomes a judge of its name."""
    held = Gathering(path)
    for file in files_in(path, "*.eval", "*.json"):
        header, logged = _log(file)
        task = str(header.get("eval", {}).get("task", ""))
        model = str(header.get("eval", {}).get("model", "model"))
        for sample in logged:
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


def _log(file: Path) -> tuple[Mapping[str, Any], Iterator[Mapping[str, Any]]]:
    if file.suffix != ".eval":
        log = read_json(file)
        if not isinstance(log, Mapping) or "eval" not in log:
            raise InputError("this is no log of Inspect: it has no part 'eval'", path=file)
        return log, iter(log.get("samples") or ())
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            start = "header.json" if "header.json" in names else "_journal/start.json"
            header = json.loads(_member(archive, file, start))
            sample_logs = [
                json.loads(_member(archive, file, name)) for name in sorted(names) if name.startswith("samples/")
            ]
    except (OSError, zipfile.BadZipFile, KeyError, ValueError, NotImplementedError) as error:
        raise InputError(
            f"this log cannot be read ({error}); `inspect log convert --to json` writes one that can", path=file
        ) from error
    return header, iter(sample_logs)


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
    output = sample.get("output") or {}
    if isinstance(output.get("completion"), str):
        return str(output["completion"])
    choices = output.get("choices") or [{}]
    content = (choices[0].get("message") or {}).get("content")
    return "".join(str(part.get("text", "")) for part in content) if isinstance(content, list) else words_of(content)


def _scored(held: Gathering, scorer: str, item: str, shown: tuple[str, int], score: Mapping[str, Any]) -> None:
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
