"""Nobody is asked about pictures that are not there without a word: who would look, what is missing, what is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fullbench.core.case import Case
from fullbench.core.item import WITHOUT_PICTURES, Item
from fullbench.core.judge import Judge, kind_of
from fullbench.core.model import Model
from fullbench.core.note import Note
from fullbench.core.table import Table
from fullbench.errors import InputError


def looks(judge: Judge) -> bool:
    """Whether a judge looks at an item's pictures: a scorer of pictures, or a model that is not told to do without."""
    return kind_of(judge) == "scorer" or judge.settings.get("sight") == "image"


def lacking(items: Iterable[Item]) -> list[Item]:
    """The items that name pictures which are not there."""
    return [item for item in items if WITHOUT_PICTURES in item.tags]


def refuse_blind(
    items: Sequence[Item], contestants: Sequence[Model], judges: Sequence[Judge], *, allowed: bool
) -> None:
    """Refuse to ask somebody who would look about items whose pictures are missing, unless that is `allowed`.

    Whoever reads captions in place of pictures is refused where no item has them: it would recuse itself in every case.
    """
    _refuse_undescribed(items, judges)
    missing = lacking(items)
    asked = [who.name for who in contestants] + [judge.name for judge in judges if looks(judge)]
    if not missing or not asked or allowed:
        return
    named = ", ".join(asked[:3]) + (f" and {len(asked) - 3} more" if len(asked) > 3 else "")
    raise InputError(
        f"{len(missing):,} of {len(items):,} items name pictures that are not here (the first is {missing[0].id!r}), "
        f"and {named} would be asked without them: get the pictures (`fullbench fetch-pictures`, or --pictures-from), "
        "use a judge that does not look (sight=described or sight=none), or say --without-pictures "
        "(without_pictures = true in a study)"
    )


def _refuse_undescribed(items: Sequence[Item], judges: Sequence[Judge]) -> None:
    pictured = [item for item in items if item.pictures]
    readers = [judge.name for judge in judges if judge.settings.get("sight") == "described"]
    if readers and pictured and all(len(item.captions) < len(item.pictures) for item in pictured):
        raise InputError(
            f"none of the {len(pictured):,} items with pictures has a caption for each, and {', '.join(readers[:3])} "
            "reads captions in place of pictures: add captions to the items, or let the judge look (manner=seeing or "
            "sight=image in its spec)"
        )


def counted(tables: Iterable[Table], items: Iterable[Item] | int, missing: int | None = None) -> list[Table]:
    """The tables, each with how many of the items behind it were judged without their pictures, where some were."""
    if not isinstance(items, int):
        listed = list(items)
        items, missing = len(listed), len(lacking(listed))
    if not missing:
        return list(tables)
    note = Note(
        "sight.without-pictures",
        "{missing:,} of {items:,} items were judged without the pictures that they name.",
        missing=missing, items=items,
    )  # fmt: skip
    return [replace(table, notes=[*table.notes, note]) for table in tables]


def carried(case: Case, judge: Judge) -> int:
    """How many pictures a judge's prompt about a case carries."""
    answered = sum(len(response.pictures) for response in case.responses)
    return answered + (len(case.item.pictures) if looks(judge) else 0)


def carrying(who: str, counts: Counter[int], blind: int) -> Note:
    """How many prompts carry how many pictures, in words, and how many should carry some that are not there."""
    said = [
        Note("sight.prompts", "{n:,} with {pictures}", n=counts[pictures], pictures=pictures)
        for pictures in sorted(counts, reverse=True)
    ]
    joined: str = said[0]
    for part in said[1:]:
        joined = Note("sight.and", "{first}, {second}", first=joined, second=part)
    if not blind:
        return Note("sight.carried", "Prompts of {who} by their pictures: {said}.", who=who, said=joined)
    return Note(
        "sight.carried-blind",
        "Prompts of {who} by their pictures: {said}. {blind:,} lack pictures that their items name.",
        who=who, said=joined, blind=blind,
    )  # fmt: skip
