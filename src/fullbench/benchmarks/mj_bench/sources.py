"""Where items, pictures and labels come from: the sample, a folder in our own layout, or the released data set.

The released data set is a table (Parquet, JSON Lines or CSV, one or several files, also in folders as the hub has them)
with a prompt (`caption`, or `info` where there is none), two pictures (`image0`, `image1`, as bytes or as paths) and a
`label`, the number of the better one. Which perspective and sub-category a row belongs to stands in its columns (beside
a `caption`, `info` is the sub-category), or else in the name of the file or of its folder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fullbench.benchmarks.mj_bench.sample import sample
from fullbench.court.making.pairs import CHOSEN, PERSPECTIVES, REJECTED, labels
from fullbench.errors import InputError
from fullbench.files.nouns import read_items, read_responses, read_rows, read_verdicts
from fullbench.files.pictures import read_picture
from fullbench.judges.scorers.classical import MEASURES, measure
from fullbench.judges.scorers.scorer import ScorerJudge
from fullbench.nouns.benchmark import Cases
from fullbench.nouns.headings import headings
from fullbench.nouns.item import SENSITIVE, Item
from fullbench.nouns.note import Note
from fullbench.nouns.picture import UNKNOWN, Picture
from fullbench.nouns.record import Record
from fullbench.nouns.reproduction import Brought
from fullbench.nouns.response import Response
from fullbench.nouns.table import Cell, Table
from fullbench.nouns.verdict import Verdict

_PROMPT = ("caption", "prompt", "info")
_SHARD = re.compile(r"-\d+-of-\d+$")
_SUFFIXES = (".parquet", ".jsonl", ".jsonl.gz", ".csv", ".csv.gz")


@dataclass
class Loaded:
    """Items with their pictures, who is better, and what was odd."""

    items: dict[str, Item] = field(default_factory=dict)
    responses: list[Response] = field(default_factory=list)
    odd: Counter[str] = field(default_factory=Counter)

    def labels(self) -> Iterable[Verdict]:
        """People's choice for every pair that is whole."""
        return labels(self.items, {(response.item, response.contestant): response for response in self.responses})


def items(source: Path | None = None) -> Iterable[Item]:
    """Items of the sample, of a file or folder in our own layout, or of the released data set."""
    if source is None:
        return sample()[0]
    own = source / "items.jsonl" if source.is_dir() else source
    if own.exists() and not _is_released(own):
        return read_items(own)
    return load(source).items.values()


def bring(source: Path | None, cases: Cases) -> Brought:
    """Items, pictures and labels as a record; the sample is also judged, by the measures that need no weights."""
    if source is not None and (source / "items.jsonl").exists():
        return Brought(_own(source))
    loaded = load(source)
    known = {(response.item, response.contestant): response for response in loaded.responses}
    verdicts = list(loaded.labels())
    if source is None:
        for name in MEASURES:
            verdicts += ScorerJudge(measure(name)).hear(cases(list(loaded.items.values()), loaded.responses))
    rows: list[list[Cell]] = [[what, count] for what, count in sorted(loaded.odd.items())]
    odd = (
        [
            Table(
                "oddities",
                Note("mj-bench.sources.title.what-was-odd-in-the", "What was odd in the data"),
                headings("what", "rows"),
                rows,
            )
        ]
        if rows
        else []
    )
    return Brought(Record(tuple(verdicts), loaded.items, known), odd)


def _own(folder: Path) -> Record:
    asked = {item.id: item for item in read_items(folder / "items.jsonl")}
    responses = {(r.item, r.contestant): r for r in read_responses(folder / "responses.jsonl", items=set(asked))}
    files = [folder / name for name in ("labels.jsonl", "verdicts.jsonl")]
    verdicts = [verdict for file in files if file.exists() for verdict in read_verdicts(file)]
    return Record(tuple(verdicts), asked, responses)


def load(source: Path | None) -> Loaded:
    """The sample, or the released data set in a file or a folder of files."""
    if source is None:
        asked, responses = sample()
        return Loaded({item.id: item for item in asked}, list(responses))
    if not source.exists():
        raise InputError("there is no such file or folder", path=source)
    files = sorted(file for file in source.rglob("*") if file.name.endswith(_SUFFIXES)) if source.is_dir() else [source]
    if not files:
        raise InputError(f"the folder holds no table; known are {', '.join(_SUFFIXES)}", path=source)
    loaded = Loaded()
    for file in files:
        for line, row in read_rows(file):
            _add(loaded, file, line, row)
    return loaded


def _is_released(path: Path) -> bool:
    _, row = next(iter(read_rows(path)))
    return any(f"image{end}" in row or f"image_{end}" in row for end in "01")


def _add(loaded: Loaded, file: Path, line: int, row: Mapping[str, Any]) -> None:
    """One row of the released data set: an item and its two pictures. What is broken is kept, for a judge to recuse."""
    prompt_fields = [name for name in _PROMPT if isinstance(row.get(name), str) and row[name].strip()]
    label = str(row.get("label"))
    if not prompt_fields:
        raise InputError(f"the row has no prompt: one of {', '.join(_PROMPT)}", path=file, line=line)
    if label not in {"0", "1"}:
        raise InputError(f"'label' is 0 or 1, the better picture; found {row.get('label')!r}", path=file, line=line)
    stem = file.name.split(".")[0]
    name = str(row.get("id") or f"{stem}-{line}")
    if name in loaded.items:
        raise InputError(f"the id {name!r} occurs twice; ids must differ", path=file, line=line)
    places = f"{file.parent.name}/{stem}".lower()
    about = str(
        row.get("perspective") or next((perspective for perspective in PERSPECTIVES if perspective in places), "")
    )
    info = row["info"].strip() if "info" in prompt_fields[1:] else ""
    tags = {
        "perspective": about,
        "subset": str(row.get("subset") or row.get("category") or info or _SHARD.sub("", stem)),
    }
    veil = {SENSITIVE: "yes"} if about == "safety" else {}
    loaded.items[name] = Item.ask(
        name, row[prompt_fields[0]], tags={key: value for key, value in {**tags, **veil}.items() if value}
    )
    for end in "01":
        picture = _picture(row.get(f"image{end}", row.get(f"image_{end}")), file, loaded)
        if picture is not None:
            who = CHOSEN if end == label else REJECTED
            loaded.responses.append(Response(name, who, (picture,), veil if who == REJECTED else {}))


def _picture(value: Any, file: Path, loaded: Loaded) -> Picture | None:
    """A picture as it is, checked by nobody; None where there is none."""
    if isinstance(value, Mapping):
        value = value["bytes"] if isinstance(value.get("bytes"), bytes) else value.get("path")
    if isinstance(value, str) and value:
        path = file.parent / value
        if not path.is_file():
            loaded.odd["a picture's file is missing: the pair is left out"] += 1
            return None
        return _noted(read_picture(file.parent, value, path=file, answered=True), loaded)
    if not isinstance(value, bytes):
        loaded.odd["half of a pair is missing: the pair is left out"] += 1
        return None
    return _noted(Picture.as_given(value, value), loaded)


def _noted(picture: Picture, loaded: Loaded) -> Picture:
    if picture.media == UNKNOWN:
        loaded.odd["a picture is none that we know: judges recuse themselves"] += 1
    return picture
