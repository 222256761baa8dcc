"""Withheld test sets: marked in a ledger, judged like others, and excluded from exports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fullbench.core.item import WITHHELD, Item
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.ledger.ledger import Ledger

_OF_QUESTION = frozenset({"family", "images", "dataset", "language", "task"})
"""These tags reveal nothing about the answer."""


def mark_withheld_items(ledger: Ledger, items: Iterable[Item], *, withheld: bool) -> list[Item]:
    """Return the items, marked as withheld if requested or if the ledger already withholds them.

    Refuse items that the ledger has without the mark: they may have been published already.
    """
    item_list = list(items)
    withheld_by_key = {item.key: item.is_withheld for item in ledger.items()}
    open_ = [
        item.id for item in item_list if withheld and not withheld_by_key.get(item.key, True) and not item.is_withheld
    ]
    if open_:
        raise InputError(
            f"{ledger.place} has {len(open_):,} of these items as public ones, such as {open_[0]}. Published items "
            f"cannot be withheld: use another ledger for a withheld test set"
        )
    return [
        replace(item, tags={**item.tags, WITHHELD: "yes"}) if withheld or withheld_by_key.get(item.key) else item
        for item in item_list
    ]


def without_withheld_items(record: Record) -> tuple[Record, int]:
    """Return a record without withheld items, and their number."""
    withheld_ids = {name for name, item in record.items.items() if item.is_withheld}
    if not withheld_ids:
        return record, 0
    return Record(
        tuple(verdict for verdict in record if verdict.item not in withheld_ids),
        {name: item for name, item in record.items.items() if name not in withheld_ids},
        {place: response for place, response in record.responses.items() if place[0] not in withheld_ids},
        record.asks,
    ), len(withheld_ids)


def public_questions(items: Iterable[Item]) -> list[Item]:
    """Return the items for submitters: questions without references, captions or labels."""
    return [
        replace(
            item, reference=None, captions=(),
            tags={tag: value for tag, value in item.tags.items() if tag in _OF_QUESTION},
        )
        for item in items
    ]  # fmt: skip
