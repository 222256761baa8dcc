"""Where items, pictures and labels come from: the sample, a folder in our own layout, or the released data set.

The released data set is a table (Parquet, JSON, JSON Lines or CSV, one or several files, also in folders as the hub or
the authors' repository has them) with a prompt (`caption`, or `info` where there is none), two pictures (`image0`,
`image1`, as bytes or as paths) and a `label`, the number of the better one. Which perspective and sub-category a row
belongs to stands in its columns (beside a `caption`, `info` is the sub-category), or else in the name of the file or of
its folder. A row about bias has one picture, the `occupation` and the `demographic` of the person shown, and flags.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fullbench.benchmarks.mj_bench.judging_protocol import Protocol, hears
from fullbench.benchmarks.mj_bench.release import release_files
from fullbench.benchmarks.mj_bench.release.judge_and_category_names import STORED
from fullbench.benchmarks.mj_bench.sample import sample
from fullbench.core.column_labels import headings
from fullbench.core.item import SENSITIVE, Item
from fullbench.core.note import Note
from fullbench.core.picture import UNKNOWN, Picture
from fullbench.core.record import Record
from fullbench.core.reproduction import Brought
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import Verdict
from fullbench.errors import InputError
from fullbench.files.item_files import read_items, read_rows
from fullbench.files.own_layout import own_record
from fullbench.files.picture_access_policy import find_picture, read_picture
from fullbench.judges.scorers.image_statistics import MEASURES, measure
from fullbench.judges.scorers.scorer_judge import ScorerJudge
from fullbench.synthetic.perturb.perturbed_pairs import CHOSEN, PERSPECTIVES, REJECTED, labels

_PROMPT = ("caption", "prompt", "info")
_SHARD = re.compile(r"-\d+-of-\d+$")


@dataclass
class Loaded:
    """Items with their pictures, who is better, and what was odd."""

    items: dict[str, Item] = field(default_factory=dict)
    responses: list[Response] = field(default_factory=list)
    pairs: set[tuple[str, ...]] = field(default_factory=set)
    people: set[tuple[str, str]] = field(default_factory=set)
    odd: Counter[str] = field(default_factory=Counter)

    def labels(self) -> Iterable[Verdict]:
        """People's choice for every pair that is whole."""
        return labels(self.items, {(response.item, response.contestant): response for response in self.responses})


def items(source: Path | None = None) -> Iterable[Item]:
    """Items of the sample, of a file or folder in our own layout, or of the released data set."""
    if source is None:
        return sample()[0]
    own = source / "items.jsonl" if source.is_dir() else source
    if own.is_file() and not _is_released(own):
        return read_items(own)
    return load(source).items.values()


def bring(source: Path | None = None) -> Brought:
    """Items, pictures and labels as a record; the sample is also judged, by the measures that need no weights."""
    if source is not None and (source / "items.jsonl").exists():
        return Brought(own_record(source))
    loaded = load(source)
    known = {(response.item, response.contestant): response for response in loaded.responses}
    verdicts = list(loaded.labels())
    if source is None:
        for name in MEASURES:
            judge = ScorerJudge(measure(name))
            asked = Protocol().cases(list(loaded.items.values()), loaded.responses)
            verdicts += judge.hear(case for case in asked if hears(judge, case))
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


def load(source: Path | None) -> Loaded:
    """The sample, or the released data set in a file or a folder of files."""
    if source is None:
        asked, responses = sample()
        return Loaded({item.id: item for item in asked}, list(responses))
    if not source.exists():
        raise InputError("there is no such file or folder", path=source)
    loaded = Loaded()
    for file in release_files.files(source):
        for line, row in read_rows(file):
            if release_files.is_bias(row):
                _add_person(loaded, file, line, row)
            else:
                _add(loaded, file, line, row)
    if loaded.items and not loaded.responses:
        raise InputError(
            f"none of the pictures of its {len(loaded.items):,} items is here; put them beside the file, or name their "
            "folder with --pictures-from (pictures_from in a study file)", path=source,
        )  # fmt: skip
    return loaded


def _is_released(path: Path) -> bool:
    _, row = next(iter(read_rows(path)))
    return release_files.is_bias(row) or any(f"image{end}" in row or f"image_{end}" in row for end in "01")


def _add(loaded: Loaded, file: Path, line: int, row: Mapping[str, Any]) -> None:
    """One row of the released data set: an item and its two pictures. What is broken is kept, for a judge to recuse."""
    prompt_fields = [name for name in _PROMPT if isinstance(row.get(name), str) and row[name].strip()]
    label = str(row.get("label"))
    if not prompt_fields:
        raise InputError(f"the row has no prompt: one of {', '.join(_PROMPT)}", path=file, line=line)
    if label not in {"0", "1"}:
        raise InputError(f"'label' is 0 or 1, the better picture; found {row.get('label')!r}", path=file, line=line)
    stem = file.name.split(".")[0]
    own = row.get("id")
    name = f"{stem}-{own}" if isinstance(own, int) else str(own or f"{stem}-{line}")
    if release_files.in_repository(file):
        pictures = tuple(str(row.get(f"image{end}")) for end in "01")
        if (row[prompt_fields[0]], *pictures) in loaded.pairs:
            loaded.odd["the same pair stands in two files of the repository: it is taken once"] += 1
            return
        loaded.pairs.add((row[prompt_fields[0]], *pictures))
        name = f"{release_files.subset(file)}-{own}"
    if name in loaded.items:
        raise InputError(f"the id {name!r} occurs twice; ids must differ", path=file, line=line)
    places = f"{file.parent.name}/{stem}".lower()
    about = str(
        row.get("perspective") or next((perspective for perspective in PERSPECTIVES if perspective in places), "")
    )
    info = row["info"].strip() if "info" in prompt_fields[1:] else ""
    tags = {
        "perspective": about,
        "subset": str(
            row.get("subset") or row.get("category") or info or release_files.subset(file) or _SHARD.sub("", stem)
        ),
        STORED: CHOSEN if label == "0" else REJECTED,
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


def _add_person(loaded: Loaded, file: Path, line: int, row: Mapping[str, Any]) -> None:
    """One row about bias: a person of some groups, shown at a work. All pictures of one work are one item."""
    work, person = str(row.get("occupation") or "").strip(), str(row.get("demographic") or "").strip()
    if not work or not person:
        raise InputError(
            f"a row about bias names an occupation and a demographic; found {work!r} and {person!r}",
            path=file,
            line=line,
        )
    name = f"bias-{work}"
    prompt = next((row[part] for part in _PROMPT if isinstance(row.get(part), str) and row[part].strip()), work)
    item = Item.ask(name, prompt, tags={"perspective": "bias", "subset": str(row.get("subset") or "occupation")})
    if loaded.items.setdefault(name, item).question != prompt:
        raise InputError(f"the prompt for {work!r} is another one in rows before", path=file, line=line)
    if (name, person) in loaded.people:
        raise InputError(f"{person!r} as {work!r} occurs twice", path=file, line=line)
    loaded.people.add((name, person))
    picture = _picture(next((row[part] for part in release_files.PICTURES if row.get(part)), None), file, loaded)
    if picture is not None:
        loaded.responses.append(Response(name, person, (picture,), release_files.groups(row, person)))


def _picture(value: Any, file: Path, loaded: Loaded) -> Picture | None:
    """A picture as it is, checked by nobody; None where there is none."""
    if isinstance(value, Mapping):
        value = value["bytes"] if isinstance(value.get("bytes"), bytes) else value.get("path")
    if isinstance(value, str) and value:
        path = find_picture(file.parent, value)
        if path is None:
            loaded.odd["a picture's file is missing: the pair is left out"] += 1
            return None
        return _noted(read_picture(file.parent, str(path.absolute()), path=file, answered=True), loaded)
    if not isinstance(value, bytes):
        loaded.odd["half of a pair is missing: the pair is left out"] += 1
        return None
    return _noted(Picture.as_given(value, value), loaded)


def _noted(picture: Picture, loaded: Loaded) -> Picture:
    if picture.media == UNKNOWN:
        loaded.odd["a picture is none that we know: judges recuse themselves"] += 1
    return picture
