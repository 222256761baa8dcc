"""Logs of Inspect: what was asked, what a model answered, and what each scorer made of it."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from fullbench.core.item import Item, Turn
from fullbench.core.reproduction import Brought
from fullbench.errors import InputError, MissingExtra
from fullbench.files.exchange.importer_base import Gathering, conversation, files_in, parts_of, read_json, words_of
from fullbench.files.exchange.metric_scales import Measures


def inspect(path: Path, options: Mapping[str, str]) -> Brought:
    """Logs of Inspect, `.eval` or `.json`, one or a folder of them; each scorer becomes a judge of its name.

    Option: `scale`, for scores that go beyond 0 to 1.
    """
    held = Gathering(path)
    measures = Measures(held, options)
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
            for scorer, given in (sample.get("scores") or {}).items():
                score = given if isinstance(given, Mapping) else {"value": given}
                for criterion, mark in _marks(score.get("value")).items():
                    if mark is None:
                        held.leave_out(f"scores of {scorer} that are no grade and no number")
                    else:
                        measures.add(
                            str(scorer), item, (model, number), mark, criterion=criterion, of=task,
                            text=str(score.get("explanation") or ""),
                        )  # fmt: skip
    measures.settle()
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


_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, True: 1.0, False: 0.0}


def _marks(value: Any) -> dict[str, float | None]:
    """The marks that a score stands for, by criterion; None where it is no grade and no number."""
    marks: dict[str, float | None] = {}
    for criterion, grade in (value if isinstance(value, Mapping) else {"overall": value}).items():
        mark = _GRADES.get(grade, grade) if isinstance(grade, str | bool | int | float) else None
        marks[str(criterion)] = mark if isinstance(mark, int | float) and math.isfinite(mark) else None
    return marks
