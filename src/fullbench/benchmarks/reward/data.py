"""Items, answers and people's choices of a reward benchmark: from a file, a folder of files, or a small sample."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fullbench.benchmarks.reward.file_layouts import FIRST, LAYOUTS, SECOND, Content, Pair, Shown
from fullbench.core.ballot import Choice
from fullbench.core.case import Case
from fullbench.core.column_labels import headings
from fullbench.core.item import Item, Part, Turn
from fullbench.core.note import Note
from fullbench.core.picture import Picture
from fullbench.core.record import Record
from fullbench.core.reproduction import Brought
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.errors import InputError
from fullbench.files.item_files import read_rows
from fullbench.files.picture_access_policy import find_picture, read_picture

SIDES = ("first", "second")
"""The two contestants: whose answer is stored first, and second."""
_SUFFIXES = (".parquet", ".jsonl", ".json", ".csv")
_IDS = ("id", "ID", "pair_id", "idx")


class _Missing(Exception):
    """A picture is not there."""


@dataclass
class Loaded:
    """What was read, and what was left out."""

    items: dict[str, Item] = field(default_factory=dict)
    responses: list[Response] = field(default_factory=list)
    labels: dict[str, tuple[float, float]] = field(default_factory=dict)
    odd: Counter[str] = field(default_factory=Counter)

    def verdicts(self) -> Iterator[Verdict]:
        """People's choice in every pair."""
        by_item: dict[str, list[Response]] = {}
        for response in self.responses:
            by_item.setdefault(response.item, []).append(response)
        for name, label in self.labels.items():
            one, two = by_item[name]
            yield Verdict.of(Case(self.items[name], (one, two), Choice()), PEOPLE, label)

    def record(self) -> Record:
        return Record(
            tuple(self.verdicts()), self.items, {(answer.item, answer.contestant): answer for answer in self.responses}
        )


def items(name: str, source: Path | None = None) -> Iterable[Item]:
    """What is asked in one benchmark."""
    return load(source, name).items.values()


def bring(name: str, source: Path | None = None) -> Brought:
    """Answers and people's choices."""
    loaded = load(source, name)
    rows: list[list[Cell]] = [[what, count] for what, count in sorted(loaded.odd.items())]
    title = Note("reward.odd", "What was odd in the data")
    odd = [Table("oddities", title, headings("what", "rows"), rows)] if rows else []
    return Brought(loaded.record(), odd)


def load(source: Path | None, name: str) -> Loaded:
    """A release in the layout of one benchmark; the sample where there is no source."""
    loaded = Loaded()
    if source is None:
        for pair in _sample():
            _add(loaded, pair, Path(), name)
        return loaded
    if not source.exists():
        raise InputError("there is no such file or folder", path=source)
    files = sorted(path for path in source.rglob("*") if path.suffix in _SUFFIXES) if source.is_dir() else [source]
    layout, taken = LAYOUTS[name], 0
    for file in files:
        for line, row in _rows(file):
            if not all(column in row for column in layout.needs):
                loaded.odd[f"rows without the columns {', '.join(layout.needs)} are left out"] += 1
                continue
            taken += 1
            named = next((str(row[column]) for column in _IDS if row.get(column) is not None), "")
            unique = named if named and named not in loaded.items else f"{file.stem}-{line}"
            try:
                _add(loaded, layout.read(row, unique), file, name)
            except InputError as error:
                raise InputError(str(error), path=file, line=line) from error
            except _Missing:
                loaded.odd["a picture's file is missing: the pair is left out"] += 1
    if not taken:
        raise InputError(f"no row is in the layout of {name}: it has {', '.join(layout.needs)}", path=source)
    if not loaded.items:
        raise InputError(
            "none of its pictures is here; put them beside the file, or name their folder with --pictures-from "
            "(pictures_from in a study file)", path=source,
        )  # fmt: skip
    return loaded


def _rows(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Rows of a table; of a JSON object with `pairs`, these."""
    if file.suffix == ".json":
        try:
            whole = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"this is not valid JSON ({error})", path=file) from error
        if isinstance(whole, dict) and isinstance(whole.get("pairs"), list):
            yield from ((place, {"task": file.stem, **row}) for place, row in enumerate(whole["pairs"], 1))
            return
        if isinstance(whole, dict):
            return
    yield from read_rows(file)


def _add(loaded: Loaded, pair: Pair, file: Path, benchmark: str) -> None:
    """A pair with all its pictures; nothing of one that lacks some."""
    prompt, first, second = (_parts(content, file) for content in (pair.prompt, pair.first, pair.second))
    if not prompt or not first or not second:
        raise InputError(f"the pair {pair.id!r} has no question or an empty answer")
    tags = {"category": pair.category, "data set": benchmark}
    loaded.items[pair.id] = Item(pair.id, (Turn("user", prompt),), tags=tags)
    loaded.responses += [Response(pair.id, SIDES[0], first), Response(pair.id, SIDES[1], second)]
    loaded.labels[pair.id] = pair.label


def _parts(content: Content, file: Path) -> tuple[Part, ...]:
    return tuple(_picture(part.value, file) if isinstance(part, Shown) else str(part) for part in content if part != "")


def _picture(value: Any, file: Path) -> Picture:
    if isinstance(value, Mapping):
        value = value["bytes"] if isinstance(value.get("bytes"), bytes) else value.get("path")
    if isinstance(value, bytes):
        return Picture.as_given(value, value)
    found = find_picture(file.parent, value) if isinstance(value, str) and value else None
    if found is None:
        raise _Missing
    return read_picture(file.parent, str(found.absolute()), path=file, answered=True)


def _sample() -> Iterator[Pair]:
    """Six comparisons of answers in words, enough to see that all of it runs."""
    asked = (
        ("How many legs has a spider?", "Eight.", "Six, as all insects have.", FIRST, "knowledge"),
        ("What is 7 times 8?", "54", "56", SECOND, "reasoning"),
        ("Name a prime number above 10.", "13", "15 is one.", FIRST, "reasoning"),
        ("Which planet is nearest to the sun?", "It is Venus.", "Mercury.", SECOND, "knowledge"),
        ("三加四等于几？", "七。", "八。", FIRST, "reasoning"),
        ("Is the sky green at noon?", "Yes.", "No, it is blue when it is clear.", SECOND, "knowledge"),
    )
    for place, (question, first, second, label, category) in enumerate(asked):
        yield Pair(f"sample-{place}", [question], [first], [second], label, category)
