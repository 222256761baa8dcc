"""Prompts and completions of a training loop, as items and responses."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from fullbench.core.item import ROLES, Item, Part, Turn, parts_content
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.rubric import RUBRIC_TAG
from fullbench.errors import InputError
from fullbench.picture_flattening_and_orientation import encode_image

PICTURE_COLUMNS = ("images", "image")
RUBRIC_COLUMNS = (RUBRIC_TAG, "rubrics")
REFERENCE = "reference"
_PLACE = "<image>"
"""Place of a picture in a text, if the row has pictures."""

RewardRow = tuple[Item, Response]


def reward_rows(
    prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Sequence[Any]], contestant: str
) -> list[RewardRow]:
    """Return an item and a response for each prompt and its completion.

    A prompt or completion is a text or a list of messages, as in TRL; their pictures keep their places. The columns
    `reference`, `rubric` (or `rubrics`) and `images` (or `image`) belong to the item. The item's id is a digest of its
    content, and the sample number one of the completion, so that equal rows are the same case in every step and worker.
    """
    if len(prompts) != len(completions):
        raise InputError(
            f"each prompt has one completion; found {len(prompts)} prompts, {len(completions)} completions"
        )
    for name, values in columns.items():
        if len(values) != len(prompts):
            raise InputError(f"the column {name!r} has {len(values)} values for {len(prompts)} prompts")
    rows = []
    for place, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        own_columns = {name: values[place] for name, values in columns.items() if values[place] is not None}
        item = _item_of(prompt, own_columns)
        parts = _completion_parts(completion)
        sample = int(digest(parts_content(parts))[:7], 16)
        rows.append((item, Response(item.id, contestant, parts, {}, sample)))
    return rows


def _item_of(prompt: Any, columns: Mapping[str, Any]) -> Item:
    pictures = next((columns[name] for name in PICTURE_COLUMNS if columns.get(name)), ())
    turns = _turns_of(prompt, [_picture_of(one) for one in (pictures if _is_list(pictures) else [pictures])])
    reference = columns.get(REFERENCE)
    rubric = next((columns[name] for name in RUBRIC_COLUMNS if columns.get(name)), None)
    tags = {} if rubric is None else {RUBRIC_TAG: rubric if isinstance(rubric, str) else json.dumps(rubric)}
    content = [[[turn.role, parts_content(turn.parts)] for turn in turns], reference]
    return Item(f"prompt-{digest(content)[:12]}", turns, None if reference is None else str(reference), (), tags)


def _turns_of(prompt: Any, pictures: Sequence[Picture]) -> tuple[Turn, ...]:
    """Return the turns of a prompt, with the pictures of its row where the prompt has places for them."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    if not _is_list(messages) or not messages:
        raise InputError(f"a prompt is a text or a list of messages; found {str(prompt)[:60]!r}")
    for message in messages:
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            raise InputError(f"a message has a role of {', '.join(ROLES)}, and content; found {str(message)[:60]!r}")
    contents = [list(_message_parts(message, marks_places=bool(pictures))) for message in messages]
    # TRL passes a row's pictures twice: in the column, and in the messages.
    in_messages = {part.digest for parts in contents for part in parts if isinstance(part, Picture)}
    left_pictures = [picture for picture in pictures if picture.digest not in in_messages]
    place_count = sum(part is None for parts in contents for part in parts)
    if place_count and place_count != len(left_pictures):
        raise InputError(
            f"a prompt has {place_count} places for pictures, and its row {len(left_pictures)} pictures for them; "
            "give one picture for each place in the column 'images'"
        )
    turns, due_pictures = [], iter(left_pictures)
    for message, parts in zip(messages, contents, strict=True):
        # Pictures without a place are in front of the first turn of the user, as in TRL.
        front = () if place_count or message["role"] != "user" else tuple(due_pictures)
        placed = (next(due_pictures) if part is None else part for part in parts)
        turns.append(Turn(message["role"], (*front, *_join_texts(placed)) or ("",)))
    if unplaced := list(due_pictures):
        raise InputError(f"a row has {len(unplaced)} pictures, but its prompt has no user turn for them")
    return tuple(turns)


def _completion_parts(completion: Any) -> tuple[Part, ...]:
    if isinstance(completion, str):
        return (completion,)
    if not _is_list(completion) or not all(isinstance(message, Mapping) for message in completion):
        raise InputError(f"a completion is a text or a list of messages; found {str(completion)[:60]!r}")
    parts = [part for message in completion for part in _message_parts(message)]
    if None in parts:
        raise InputError("a completion refers to a picture that is missing")
    return tuple(_join_texts(part for part in parts if part is not None)) or ("",)


def _message_parts(message: Mapping[str, Any], *, marks_places: bool = False) -> Iterator[Part | None]:
    """Yield the parts of a message; None for the place of a picture.

    Args:
        message: The message. Its content is a text, or a list of texts and pictures.
        marks_places: True if `<image>` in a text is the place of a picture, as in data sets for verl.
    """
    content = message.get("content") or ""
    if isinstance(content, str):
        for index, text in enumerate(content.split(_PLACE) if marks_places else [content]):
            if index:
                yield None
            if text.strip():
                yield text
        return
    for part in content if _is_list(content) else [content]:
        kind = part.get("type", "text") if isinstance(part, Mapping) else type(part).__name__
        if kind == "text" and "text" in part:
            yield str(part["text"])
        elif kind in {"image", "image_url", "input_image"}:
            value = next((part[name] for name in ("image", "image_url", "url") if part.get(name) is not None), None)
            value = value.get("url", value) if isinstance(value, Mapping) else value
            yield None if value is None else _picture_of(value)
        else:
            raise InputError(f"a message has texts and pictures; found a part of the kind {kind!r}")


def _join_texts(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts, neighbouring texts as one, each on its own line."""
    for is_text, group in groupby(parts, lambda part: isinstance(part, str)):
        if is_text:
            yield "\n".join(str(part) for part in group)
        else:
            yield from group


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _picture_of(value: Any) -> Picture:
    if isinstance(value, Picture):
        return value
    if isinstance(value, Mapping):
        value = value.get("bytes")
    try:
        if isinstance(value, str):
            value = base64.b64decode(value.partition(",")[2] if value.startswith("data:") else value, validate=True)
        return Picture.from_bytes(value if isinstance(value, bytes) else encode_image(value))
    except (ValueError, AttributeError) as error:
        raise InputError(f"a picture of a prompt is bytes, base64 or an image; found {str(value)[:40]!r}") from error


def json_value(value: Any) -> Any:
    """Return a value that JSON does not know, for HTTP: a picture as base64."""
    return base64.b64encode(_picture_of(value).data()).decode()
