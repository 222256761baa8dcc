"""A folder in our own layout: `items.jsonl`, `responses.jsonl`, and verdicts of people and of judges beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fullbench.core.item import Item
from fullbench.core.record import Record
from fullbench.core.verdict import Verdict
from fullbench.files.item_files import read_items, read_responses, read_verdicts

ITEMS, RESPONSES = "items.jsonl", "responses.jsonl"
VERDICTS = ("labels.jsonl", "verdicts.jsonl")
"""Of people, and of judges."""


def own_items(source: Path) -> Iterator[Item] | None:
    """The items of a file, or of a folder in our own layout; None of a folder without `items.jsonl`."""
    path = source / ITEMS if source.is_dir() else source
    return None if source.is_dir() and not path.exists() else read_items(path)


def own_record(
    folder: Path, verdicts: Sequence[str] = VERDICTS, *, ballot: str | None = None, answered: bool = True
) -> Record:
    """Everything in a folder that has `items.jsonl`: verdicts as far as there are files of them, by `ballot` where a
    row names none; without `answered`, responses too may be missing."""
    items = {item.id: item for item in read_items(folder / ITEMS)}
    answers = folder / RESPONSES
    responses = read_responses(answers, items=set(items)) if answered or answers.exists() else ()
    by_place = {(response.item, response.contestant, response.sample): response for response in responses}
    cast: list[Verdict] = []
    for name in verdicts:
        if (folder / name).exists():
            cast += read_verdicts(folder / name, ballot=ballot)
    return Record(tuple(cast), items, by_place)
