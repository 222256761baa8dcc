"""Folder in our own layout: `items.jsonl`, `responses.jsonl`, and verdicts of people and judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fullbench.core.item import Item
from fullbench.core.verdict import Verdict
from fullbench.core.verdict_record import Record
from fullbench.files.item_response_verdict_files import read_items, read_responses, read_verdicts

ITEMS, RESPONSES = "items.jsonl", "responses.jsonl"
VERDICTS = ("labels.jsonl", "verdicts.jsonl")
"""Verdicts of people, and of judges."""


def own_items(source: Path) -> Iterator[Item] | None:
    """Return the items of a file or a folder in our layout; None for a folder without `items.jsonl`."""
    path = source / ITEMS if source.is_dir() else source
    return None if source.is_dir() and not path.exists() else read_items(path)


def own_record(
    folder: Path, verdicts: Sequence[str] = VERDICTS, *, ballot: str | None = None, needs_responses: bool = True
) -> Record:
    """Read everything in a folder with `items.jsonl`; files of verdicts are optional.
    `ballot` is the default for rows without one. Without `needs_responses`, the responses are optional too.
    """
    items = {item.id: item for item in read_items(folder / ITEMS)}
    answers = folder / RESPONSES
    responses = read_responses(answers, items=set(items)) if needs_responses or answers.exists() else ()
    by_place = {(response.item, response.contestant, response.sample): response for response in responses}
    cast: list[Verdict] = []
    for name in verdicts:
        if (folder / name).exists():
            cast += read_verdicts(folder / name, ballot=ballot)
    return Record(tuple(cast), items, by_place)
