"""Questions and answers as Label Studio and Argilla show them: texts, with the pictures in fields of their own.

An item is its `question` and `picture_1`, `picture_2`...; an answer `response_a` and `picture_a_1`... Where a picture
stands between words, the text says so: `[picture 2]`. A dialogue is a `conversation` of messages beside the question.
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
    """What is asked, as fields of a record."""
    fields: dict[str, Any] = {"question": item.question}
    fields |= {f"picture_{at}": data_uri(picture) for at, picture in enumerate(item.pictures, 1)}
    if len(item.turns) > 1 or item.turns[0].role != "user" or not _plain(item.turns[0].parts):
        messages, before = [], 0
        for turn in item.turns:
            messages.append({"role": turn.role, "content": _placed(turn.parts, before)})
            before += len(turn.pictures)
        fields["conversation"] = messages
    return fields


def response_fields(letter: str, response: Response | None) -> dict[str, str]:
    """An answer, as fields of a record."""
    if response is None:
        return {f"response_{letter}": ""}
    text = response.text if _plain(response.parts) else _placed(response.parts, 0)
    return {
        f"response_{letter}": text,
        **{f"picture_{letter}_{at}": data_uri(picture) for at, picture in enumerate(response.pictures, 1)},
    }


def turns_of(fields: Mapping[str, Any], question: str, path: Path, line: int) -> tuple[Turn, ...]:
    """What a record asks, `question` being the name of the field."""
    pictures = _pictures(fields, "picture_", path, line)
    messages = fields.get("conversation")
    if not messages:
        return (Turn("user", (*pictures, str(fields[question]))),)
    turns = []
    for message in messages if isinstance(messages, list) else [messages]:
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            raise InputError("'conversation' is a list of messages with 'role' and 'content'", path=path, line=line)
        turns.append(Turn(message["role"], _parts(str(message.get("content") or ""), pictures, path, line)))
    return tuple(turns)


def parts_of_response(fields: Mapping[str, Any], letter: str, path: Path, line: int) -> tuple[Part, ...]:
    """What the answer of a letter says and shows."""
    pictures = _pictures(fields, f"picture_{letter}_", path, line)
    text = str(fields.get(f"response_{letter}") or "")
    if _PLACE.search(text) and pictures:
        return _parts(text, pictures, path, line)
    return (*pictures, text) if text or not pictures else tuple(pictures)


def _plain(parts: Sequence[Part]) -> bool:
    """Whether parts are pictures and then at most one text, which needs no places."""
    texts = [at for at, part in enumerate(parts) if isinstance(part, str)]
    return not texts or texts == [len(parts) - 1] or len(texts) == len(parts)


def _placed(parts: Sequence[Part], before: int) -> str:
    lines, number = [], before
    for part in parts:
        number += isinstance(part, Picture)
        lines.append(part if isinstance(part, str) else f"[picture {number}]")
    return "\n".join(lines)


def _parts(text: str, pictures: Sequence[Picture], path: Path, line: int) -> tuple[Part, ...]:
    parts: list[Part] = []
    for at, piece in enumerate(_PLACE.split(text)):
        if at % 2 == 0:
            parts += [piece] if piece else []
        elif 1 <= int(piece) <= len(pictures):
            parts.append(pictures[int(piece) - 1])
        else:
            raise InputError(f"there is no picture {piece} beside the text that names it", path=path, line=line)
    return tuple(parts) or ("",)


def _pictures(fields: Mapping[str, Any], prefix: str, path: Path, line: int) -> list[Picture]:
    pictures: list[Picture] = []
    while isinstance(value := fields.get(f"{prefix}{len(pictures) + 1}"), str) and value:
        pictures.append(read_picture(path.parent, value, path=path, line=line))
    return pictures
