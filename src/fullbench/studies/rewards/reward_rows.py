"""Prompts and completions of a training loop, as items and responses."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from fullbench.core.digests import digest
from fullbench.core.item import ROLES, Item, Part, Turn, parts_content
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.core.rubric import RUBRIC_TAG
from fullbench.errors import InputError
from fullbench.picture_flattening_and_orientation import encode_image

PICTURE_COLUMNS = ("images", "image")
RUBRIC_COLUMNS = (RUBRIC_TAG, "rubrics")
REFERENCE = "reference"

RewardRow = tuple[Item, Response]


def reward_rows(
    prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Sequence[Any]], contestant: str
) -> list[RewardRow]:
    """Return an item and a response for each prompt and its completion.

    A prompt or completion is a text or a list of messages, as in TRL. The columns `reference`, `rubric` (or
    `rubrics`) and `images` (or `image`) belong to the item. The item's id is a digest of its content, and the sample
    number one of the completion, so that equal rows are the same case in every step and worker.
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
        text = _completion_text(completion)
        sample = int(digest([text])[:7], 16)
        rows.append((item, Response(item.id, contestant, (text,), {}, sample)))
    return rows


def _item_of(prompt: Any, columns: Mapping[str, Any]) -> Item:
    turns = _turns_of(prompt)
    if pictures := next((columns[name] for name in PICTURE_COLUMNS if columns.get(name)), None):
        loaded = tuple(_picture_of(each) for each in (pictures if isinstance(pictures, list | tuple) else [pictures]))
        turns = (*turns[:-1], Turn(turns[-1].role, (*loaded, *turns[-1].parts)))
    reference = columns.get(REFERENCE)
    rubric = next((columns[name] for name in RUBRIC_COLUMNS if columns.get(name)), None)
    tags = {} if rubric is None else {RUBRIC_TAG: rubric if isinstance(rubric, str) else json.dumps(rubric)}
    content = [[[turn.role, parts_content(turn.parts)] for turn in turns], reference]
    return Item(f"prompt-{digest(content)[:12]}", turns, None if reference is None else str(reference), (), tags)


def _turns_of(prompt: Any) -> tuple[Turn, ...]:
    if isinstance(prompt, str):
        return (Turn("user", (prompt,)),)
    if not isinstance(prompt, Sequence) or not prompt:
        raise InputError(f"a prompt is a text or a list of messages; found {str(prompt)[:60]!r}")
    turns = []
    for message in prompt:
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            raise InputError(f"a message has a role of {', '.join(ROLES)}, and content; found {str(message)[:60]!r}")
        parts: tuple[Part, ...] = (_message_text(message),)
        turns.append(Turn(message["role"], parts))
    return tuple(turns)


def _completion_text(completion: Any) -> str:
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and all(isinstance(message, Mapping) for message in completion):
        return "\n".join(_message_text(message) for message in completion)
    raise InputError(f"a completion is a text or a list of messages; found {str(completion)[:60]!r}")


def _message_text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in content if isinstance(part, Mapping) and "text" in part)


def _picture_of(value: Any) -> Picture:
    if isinstance(value, Mapping):
        value = value.get("bytes")
    if isinstance(value, str):
        try:
            value = base64.b64decode(value, validate=True)
        except ValueError as error:
            raise InputError(f"a picture of a prompt is bytes, base64 or an image; found {value[:40]!r}") from error
    return Picture.from_bytes(value if isinstance(value, bytes) else encode_image(value))


def columns_for_http(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the columns as JSON values: pictures as base64."""
    return {
        name: [_base64_of(value) for value in values] if name in PICTURE_COLUMNS else list(values)
        for name, values in columns.items()
    }


def _base64_of(value: Any) -> Any:
    if value is None:
        return None
    return [
        base64.b64encode(_picture_of(each).data()).decode()
        for each in (value if isinstance(value, list | tuple) else [value])
    ]
