"""Items that somebody marked as not verified: they are judged only where a study asks for them."""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path

from fullbench.files.item_files import read_responses
from fullbench.core.column_labels import headings
from fullbench.core.item import Item
from fullbench.core.note import Note
from fullbench.core.response import Response
from fullbench.core.table import Table

VERIFIED = "verified"
"""The tag that says `yes` or `no`."""


def is_unverified(item: Item) -> bool:
    return item.tags.get(VERIFIED) == "no"


def without_unverified(items: Iterable[Item], *, asked: bool) -> tuple[list[Item], list[Table]]:
    """The items to be judged, and a table that says how many were left out; all of them where that was `asked` for."""
    every = list(items)
    left_out = [] if asked else [item for item in every if is_unverified(item)]
    if not left_out:
        return every, []
    said = Note(
        "unverified.left-out",
        "{n:,} of {all:,} items are marked as not verified and were not judged; --unverified (in a study: unverified = "
        "true) judges them too.",
        n=len(left_out), all=len(every),
    )  # fmt: skip
    table = Table(
        "unverified", Note("unverified.title", "Items that are not verified"), headings("items", "left out"),
        [[len(every), len(left_out)]], [said],
    )  # fmt: skip
    return [item for item in every if not is_unverified(item)], [table]


def read_answers(path: Path | None, every: Iterable[Item], judged: Container[str]) -> list[Response]:
    """The responses of a file to the items that are judged; one to an item that is nowhere is refused."""
    answers = () if path is None else read_responses(path, items={item.id for item in every})
    return [response for response in answers if response.item in judged]
