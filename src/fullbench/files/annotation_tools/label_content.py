"""Conversion of items and responses to and from the fields of Label Studio and Argilla records.

An item is its `question` and `picture_1`, `picture_2`...; a response is `response_a` and `picture_a_1`... If a picture
is between words, the text contains its place: `[picture 2]`. A dialogue is a `conversation` of messages next to the
question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fullbench.core.item import ROLES, Item, Part, Turn
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.files.picture_access_policy import data_uri, read_picture

_PLACE = re.compile(r"\n?\[picture (\d+)\]\n?")


def item_fields(item: Item) -> dict[str, Any]:
    """Return an item as fields of a record."""
    fields: dict[str, Any] = {"question": item.question}
    fields |= {f"picture_{at}": data_uri(picture) for at, picture in enumerate(item.pictures, 1)}
    if len(item.turns) > 1 or item.turns[0].role != "user" or not _is_plain_content(item.turns[0].parts):
        messages, before = [], 0
        for turn in item.turns:
            messages.append({"role": turn.role, "content": _text_with_places(turn.parts, before)})
            before += len(turn.pictures)
        fields["conversation"] = messages
    return fields


def response_fields(letter: str, response: Response | None) -> dict[str, str]:
    """Return a response as fields of a record."""
    if response is None:
        return {f"response_{letter}": ""}
    text = response.text if _is_plain_content(response.parts) else _text_with_places(response.parts, 0)
    return {
        f"response_{letter}": text,
        **{f"picture_{letter}_{at}": data_uri(picture) for at, picture in enumerate(response.pictures, 1)},
    }


def turns_of(fields: Mapping[str, Any], question: str, path: Path, line: int) -> tuple[Turn, ...]:
    """Return the turns of a record's item; `question` is the name of the question field."""
    pictures = _read_pictures(fields, "picture_", path, line)
    messages = fields.get("conversation")
    if not messages:
        return (Turn("user", (*pictures, str(fields[question]))),)
    turns = []
    for message in messages if isinstance(messages, list) else [messages]:
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            raise InputError("'conversation' is a list of messages with 'role' and 'content'", path=path, line=line)
        turns.append(Turn(message["role"], _split_parts(str(message.get("content") or ""), pictures, path, line)))
    return tuple(turns)


def parts_of_response(fields: Mapping[str, Any], letter: str, path: Path, line: int) -> tuple[Part, ...]:
    """Return the texts and pictures of the response with this letter."""
    pictures = _read_pictures(fields, f"picture_{letter}_", path, line)
    text = str(fields.get(f"response_{letter}") or "")
    if _PLACE.search(text) and pictures:
        return _split_parts(text, pictures, path, line)
    return (*pictures, text) if text or not pictures else tuple(pictures)


def _is_plain_content(parts: Sequence[Part]) -> bool:
    """True if parts are pictures followed by at most one text, or only texts; then no places are needed."""
    texts = [at for at, part in enumerate(parts) if isinstance(part, str)]
    return not texts or texts == [len(parts) - 1] or len(texts) == len(parts)


def _text_with_places(parts: Sequence[Part], before: int) -> str:
    lines, number = [], before
    for part in parts:
        number += isinstance(part, Picture)
        lines.append(part if isinstance(part, str) else f"[picture {number}]")
    return "\n".join(lines)


def _split_parts(text: str, pictures: Sequence[Picture], path: Path, line: int) -> tuple[Part, ...]:
    parts: list[Part] = []
    for at, piece in enumerate(_PLACE.split(text)):
        if at % 2 == 0:
            parts += [piece] if piece else []
        elif 1 <= int(piece) <= len(pictures):
            parts.append(pictures[int(piece) - 1])
        else:
            raise InputError(f"there is no picture {piece} beside the text that names it", path=path, line=line)
    return tuple(parts) or ("",)


def _read_pictures(fields: Mapping[str, Any], prefix: str, path: Path, line: int) -> list[Picture]:
    pictures: list[Picture] = []
    while isinstance(value := fields.get(f"{prefix}{len(pictures) + 1}"), str) and value:
        pictures.append(read_picture(path.parent, value, path=path, line=line))
    return pictures
