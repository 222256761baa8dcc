"""Test sets that are not published: marked in a ledger, judged like others, and left out of what goes to others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fullbench.core.item import WITHHELD, Item
from fullbench.core.record import Record
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger

_OF_QUESTION = frozenset({"family", "images", "dataset", "language", "task"})
"""The tags that say what kind of question an item is, and nothing of its answer."""


def marked(ledger: Ledger, items: Iterable[Item], *, withheld: bool) -> list[Item]:
    """The items as they go into a ledger: withheld where that is asked for, or where the ledger withholds them already.

    An item that the ledger holds without the mark may have been seen: it cannot be withheld any more.
    """
    wanted = list(items)
    there = {item.key: item.is_withheld for item in ledger.items()}
    open_ = [item.id for item in wanted if withheld and not there.get(item.key, True) and not item.is_withheld]
    if open_:
        raise InputError(
            f"{ledger.place} holds {len(open_):,} of these items as public ones, {open_[0]} first, and what was shown "
            "cannot be withheld: use a ledger of its own for a withheld test set"
        )
    return [
        replace(item, tags={**item.tags, WITHHELD: "yes"}) if withheld or there.get(item.key) else item
        for item in wanted
    ]


def published(record: Record) -> tuple[Record, int]:
    """A record without what is withheld, and how many items that is."""
    gone = {name for name, item in record.items.items() if item.is_withheld}
    if not gone:
        return record, 0
    return Record(
        tuple(verdict for verdict in record if verdict.item not in gone),
        {name: item for name, item in record.items.items() if name not in gone},
        {place: response for place, response in record.responses.items() if place[0] not in gone},
        record.asks,
    ), len(gone)


def questions(items: Iterable[Item]) -> list[Item]:
    """What is handed out to those who submit: what is asked, and no reference, caption or label."""
    return [
        replace(
            item, reference=None, captions=(),
            tags={tag: value for tag, value in item.tags.items() if tag in _OF_QUESTION},
        )
        for item in items
    ]  # fmt: skip
