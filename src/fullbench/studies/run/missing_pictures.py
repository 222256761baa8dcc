"""Checks for missing and moving pictures: refuse calls that lack them, count them, and say what is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from fullbench.core.case import Case
from fullbench.core.item import WITHOUT_PICTURES, Item
from fullbench.core.judge import Judge, kind_of, models_of
from fullbench.core.media import MOVING_PICTURE_TYPES
from fullbench.core.model import Model
from fullbench.core.table import Table
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError


def uses_pictures(judge: Judge) -> bool:
    """Return True if a judge uses an item's pictures: a picture scorer, or a model in picture mode `image`."""
    return kind_of(judge) == "scorer" or judge.settings.get("picture_mode") == "image"


def items_without_pictures(items: Iterable[Item]) -> list[Item]:
    """Return the items whose pictures are missing."""
    return [item for item in items if WITHOUT_PICTURES in item.tags]


def refuse_missing_pictures(
    items: Sequence[Item], contestants: Sequence[Model], judges: Sequence[Judge], *, is_allowed: bool
) -> None:
    """Refuse calls about missing pictures to anyone who uses them, unless `is_allowed`.

    A judge that reads captions instead is refused if no item has them: it would abstain from every case.
    """
    _refuse_missing_captions(items, judges)
    missing = items_without_pictures(items)
    picture_users = [who.name for who in contestants] + [judge.name for judge in judges if uses_pictures(judge)]
    if not missing or not picture_users or is_allowed:
        return
    names_text = ", ".join(picture_users[:3]) + (
        f" and {len(picture_users) - 3} more" if len(picture_users) > 3 else ""
    )
    raise InputError(
        f"{len(missing):,} of {len(items):,} items name pictures that are missing (the first is {missing[0].id!r}), "
        f"and {names_text} would be called without them. Get the pictures (`fullbench fetch-pictures`, or "
        "--pictures-from), use a judge without pictures (picture_mode=described or picture_mode=none), or add "
        "--without-pictures (without_pictures = true in a study)"
    )


def _refuse_missing_captions(items: Sequence[Item], judges: Sequence[Judge]) -> None:
    items_with_pictures = [item for item in items if item.pictures]
    readers = [judge.name for judge in judges if judge.settings.get("picture_mode") == "described"]
    if readers and items_with_pictures and all(len(item.captions) < len(item.pictures) for item in items_with_pictures):
        raise InputError(
            f"none of the {len(items_with_pictures):,} items with pictures has a caption for each, and "
            f"{', '.join(readers[:3])} "
            "reads captions in place of pictures: add captions to the items, or send the pictures "
            "(prompt_style=with-picture or picture_mode=image in its spec)"
        )


_LOOKED_AT = 200
"""GIF and WebP pictures that are opened to see whether they move; a study may have 100,000."""


def moving_picture_messages(
    items: Iterable[Item], contestants: Sequence[Model], judges: Sequence[Judge]
) -> Iterator[str]:
    """Yield a sentence if an item has a moving GIF or WebP, and models get one still of it."""
    models = [*contestants, *(model for judge in judges if uses_pictures(judge) for model in models_of(judge) or ())]
    names = [model.name for model in models if not getattr(getattr(model, "sampling", None), "moves", False)]
    candidates = (
        (item, picture) for item in items for picture in item.pictures if picture.media_type in MOVING_PICTURE_TYPES
    )
    if not names:
        return
    from fullbench.models.wire.video_frames_and_document_pages import picture_moves

    for item, picture in islice(candidates, _LOOKED_AT):
        if picture_moves(picture):
            names_text = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            yield (
                f"The items have moving pictures (the first is item {item.id!r}). One still of each is sent to "
                f"{names_text}. Add frames=16 to a spec to send frames."
            )
            return


def note_missing_pictures(
    tables: Iterable[Table],
    items: Iterable[Item] | int,
    missing: int | None = None,
    *,
    has_called_judges: bool = True,
) -> list[Table]:
    """Add a note to each table with the number of items judged without their pictures, if any.

    Args:
        tables: The tables.
        items: The items, or their number.
        missing: Number of items without their pictures, if `items` is a number.
        has_called_judges: False if all verdicts were imported: their judges may have seen the pictures.
    """
    if not isinstance(items, int):
        item_list = list(items)
        items, missing = len(item_list), len(items_without_pictures(item_list))
    if not missing:
        return list(tables)
    note = (
        Note("sent-pictures.without-pictures", missing=missing, items=items)
        if has_called_judges
        else Note("sent-pictures.not-here", missing=missing, items=items)
    )
    return [replace(table, notes=[*table.notes, note]) for table in tables]


def count_prompt_pictures(case: Case, judge: Judge) -> int:
    """Return the number of pictures in a judge's prompt about a case."""
    response_pictures = sum(len(response.pictures) for response in case.responses)
    return response_pictures + (len(case.item.pictures) if uses_pictures(judge) else 0)


def prompt_pictures_note(who: str, counts: Counter[int], blind: int) -> Note:
    """Return a note with the number of prompts by picture count, and of those that lack a picture."""
    clauses = [
        Note("sent-pictures.prompts", n=counts[pictures], pictures=pictures)
        for pictures in sorted(counts, reverse=True)
    ]
    sentence: str = clauses[0]
    for part in clauses[1:]:
        sentence = Note("sent-pictures.and", first=sentence, second=part)
    if not blind:
        return Note("sent-pictures.carried", who=who, said=sentence)
    return Note("sent-pictures.carried-blind", who=who, said=sentence, blind=blind)
