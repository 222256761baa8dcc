"""Items, answers and people's choices of a reward benchmark: from a file, a folder of files, or a small sample."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fullbench.benchmarks.reward.file_layouts import FIRST, LAYOUTS, SECOND, Content, Pair, RowMedia, UnsupportedRow
from fullbench.core.ballot import Choice
from fullbench.core.benchmark import LoadedData
from fullbench.core.built_in_table_columns import table_columns
from fullbench.core.case import Case
from fullbench.core.item import Item, Part, Turn
from fullbench.core.media import NOUNS, Media, any_media_from_bytes
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.table import Cell, Table
from fullbench.core.translatable_note import Note
from fullbench.core.verdict import PEOPLE, Verdict
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.picture_access_policy import find_picture, read_media_of
from fullbench.files.row_readers import read_rows

SIDES = ("first", "second")
"""Contestants: author of the answer stored first, and of the second."""
_SUFFIXES = (".parquet", ".jsonl", ".json", ".csv")
_IDS = ("id", "ID", "pair_id", "idx")


class _Missing(Exception):
    """A file is missing; its text is the word for it, such as video."""


@dataclass
class PairCollection:
    """Loaded pairs, and counts of oddities such as rows left out."""

    items: dict[str, Item] = field(default_factory=dict)
    responses: list[Response] = field(default_factory=list)
    labels: dict[str, tuple[float, float]] = field(default_factory=dict)
    oddity_counts: Counter[str] = field(default_factory=Counter)

    def verdicts(self) -> Iterator[Verdict]:
        """Yield people's choice in every pair."""
        by_item: dict[str, list[Response]] = {}
        for response in self.responses:
            by_item.setdefault(response.item, []).append(response)
        for name, label in self.labels.items():
            first, second = by_item[name]
            yield Verdict.from_case(Case(self.items[name], (first, second), Choice()), PEOPLE, label)

    def record(self) -> Record:
        return Record(
            tuple(self.verdicts()), self.items, {(answer.item, answer.contestant): answer for answer in self.responses}
        )


def items(name: str, source: Path | None = None) -> Iterable[Item]:
    """Return the items of one benchmark."""
    return load_pairs(source, name).items.values()


def bring(name: str, source: Path | None = None) -> LoadedData:
    """Load answers and people's choices, with a table of oddities."""
    collection = load_pairs(source, name)
    rows: list[list[Cell]] = [[description, count] for description, count in sorted(collection.oddity_counts.items())]
    title = Note("reward.odd")
    oddity_tables = [Table("oddities", title, table_columns("what", "rows"), rows)] if rows else []
    return LoadedData(collection.record(), oddity_tables)


def load_pairs(source: Path | None, name: str) -> PairCollection:
    """Load a release in the layout of one benchmark, or the sample if there is no source."""
    collection = PairCollection()
    if source is None:
        for pair in _sample_pairs():
            _add_pair(collection, pair, Path(), name)
        return collection
    if not source.exists():
        raise InputError("there is no such file or folder", path=source)
    files = sorted(path for path in source.rglob("*") if path.suffix in _SUFFIXES) if source.is_dir() else [source]
    layout, row_count = LAYOUTS[name], 0
    for file in files:
        for place, (line, row) in enumerate(_read_pair_rows(file), 1):
            if not layout.has_columns(row):
                collection.oddity_counts[f"rows without the columns {', '.join(layout.needs)} are left out"] += 1
                continue
            row_count += 1
            row_id = next((str(row[column]) for column in _IDS if row.get(column) is not None), "")
            # Files of one release may repeat ids, so the file and the place in it identify repeated ones.
            unique = row_id if row_id and row_id not in collection.items else f"{file.stem}-{place}"
            try:
                pairs = layout.read(row, unique)
                for pair in pairs if isinstance(pairs, list) else [pairs]:
                    _add_pair(collection, pair, file, name)
            except InputError as error:
                raise InputError(str(error), path=file, line=line) from error
            except UnsupportedRow as reason:
                collection.oddity_counts[str(reason)] += 1
            except _Missing as missing:
                collection.oddity_counts[f"a {missing}'s file is missing: the pair is left out"] += 1
    if not row_count:
        raise InputError(f"no row is in the layout of {name}: it has {', '.join(layout.needs)}", path=source)
    if not collection.items:
        why = "; ".join(f"{what} ({count:,})" for what, count in collection.oddity_counts.items())
        raise InputError(
            f"no pair can be read ({why}). Put pictures next to the file, or name their folder with --pictures-from "
            "(pictures_from in a study file)", path=source,
        )  # fmt: skip
    return collection


def _read_pair_rows(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if file.suffix == ".json":
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"this is not valid JSON ({error})", path=file) from error
        if isinstance(content, dict) and isinstance(content.get("pairs"), list):
            yield from ((place, {"task": file.stem, **row}) for place, row in enumerate(content["pairs"], 1))
            return
        if isinstance(content, dict):
            return
    yield from read_rows(file)


def _add_pair(collection: PairCollection, pair: Pair, file: Path, benchmark: str) -> None:
    prompt, first, second = (_content_parts(content, file) for content in (pair.prompt, pair.first, pair.second))
    if not prompt or not first or not second:
        raise InputError(f"the pair {pair.id!r} has no question or an empty answer")
    tags = {"category": pair.category, "data set": benchmark}
    collection.items[pair.id] = Item(pair.id, (Turn("user", prompt),), tags=tags)
    collection.responses += [Response(pair.id, SIDES[0], first), Response(pair.id, SIDES[1], second)]
    collection.labels[pair.id] = pair.label


def _content_parts(content: Content, file: Path) -> tuple[Part, ...]:
    return tuple(_load_media(part, file) if isinstance(part, RowMedia) else str(part) for part in content if part != "")


def _load_media(part: RowMedia, file: Path) -> Media:
    value = part.value
    if isinstance(value, Mapping):
        value = value["bytes"] if isinstance(value.get("bytes"), bytes) else value.get("path")
    if isinstance(value, bytes):
        return Picture.from_any_bytes(value, value) if part.kind == "image" else any_media_from_bytes(value, part.kind)
    picture_path = find_picture(file.parent, value) if isinstance(value, str) and value else None
    if picture_path is None:
        raise _Missing(NOUNS[part.kind])
    return read_media_of(file.parent, str(picture_path.absolute()), part.kind, path=file, is_answer=True)


def _sample_pairs() -> Iterator[Pair]:
    comparisons = (
        ("How many legs has a spider?", "Eight.", "Six, as all insects have.", FIRST, "knowledge"),
        ("What is 7 times 8?", "54", "56", SECOND, "reasoning"),
        ("Name a prime number above 10.", "13", "15 is one.", FIRST, "reasoning"),
        ("Which planet is nearest to the sun?", "It is Venus.", "Mercury.", SECOND, "knowledge"),
        ("三加四等于几？", "七。", "八。", FIRST, "reasoning"),
        ("Is the sky green at noon?", "Yes.", "No, it is blue when it is clear.", SECOND, "knowledge"),
    )
    for place, (question, first, second, label, category) in enumerate(comparisons):
        yield Pair(f"sample-{place}", [question], [first], [second], label, category)
