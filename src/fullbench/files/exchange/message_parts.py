"""Typed parts of chat messages: texts, pictures, videos, recordings and documents, as other tools write them.

`parts_of` reads the shapes of OpenAI, Anthropic, Inspect, lmms-eval and Hugging Face; `typed_parts` writes the one
that all of them share: `{"type": "video", "video": DATA_URI}`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fullbench.core.item import Item, Part, Role, Turn
from fullbench.core.media import COLUMN_NAMES, KINDS, NOUNS, Kind, Media, media_from_bytes
from fullbench.core.response import Response
from fullbench.core.verdict_record import Record
from fullbench.errors import InputError
from fullbench.files.picture_access_policy import (
    data_uri,
    is_missing_picture,
    is_picture_available,
    read_media_of,
)

ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "human": "user", "assistant": "assistant",
                             "gpt": "assistant", "model": "assistant"}  # fmt: skip

MEDIA_COLUMNS: Mapping[Kind, tuple[str, ...]] = {
    "image": ("image", "images", "picture", "pictures"), "video": ("video", "videos", "video_path"),
    "audio": ("audio", "audios", "audio_path"), "document": ("document", "documents", "pdf"),
}  # fmt: skip
"""Columns of other tools that hold the files of a question, by kind."""

_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
_KINDS_OF_TYPES: Mapping[str, Kind | None] = {
    **dict.fromkeys(("image", "image_url", "input_image"), "image"),
    **dict.fromkeys(("video", "video_url", "input_video"), "video"),
    **dict.fromkeys(("audio", "audio_url", "input_audio"), "audio"),
    "document": "document", **dict.fromkeys(("file", "input_file"), None),
}  # fmt: skip
"""Kinds of the types of parts; None for a file whose content decides."""
_CONTENT_FIELDS = ("file_data", "data", "bytes", "url", "path", "source")


class OmittedPart(str):
    """Name or type of a part that cannot be read, in its place; the record builder takes it out and counts it."""

    __slots__ = ("noun",)

    noun: str

    def __new__(cls, name: str, noun: str) -> OmittedPart:
        """Take a name, and the word for the file; the word is empty for a part of an unknown type."""
        part = super().__new__(cls, name)
        part.noun = noun
        return part

    def reason(self, where: str) -> str:
        """Return the reason for a list of what was left out; `where` is questions or answers."""
        return f"{self.noun}s of {where}, which are missing" if self.noun else f"parts of {where} of the type {self}"


def parse_conversation(messages: Iterable[Any], path: Path) -> tuple[Turn, ...]:
    """Return turns from messages in common formats: role (or `from`) and content (or `value`), a text or parts."""
    turns = []
    for message in messages:
        if isinstance(message, Mapping):
            role = ROLES.get(str(message.get("role", message.get("from", "user"))))
            content = message.get("content", message.get("value", ""))
            if role is not None:
                turns.append(Turn(role, parts_of(content, path)))
    return tuple(turns)


def parts_of(content: Any, path: Path) -> tuple[Part, ...]:
    """Return texts and files of a message's content: a text, or a list of texts and typed parts."""
    parts: list[Part] = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, Mapping):
            part_type = str(part.get("type") or "")
            if part_type in _TEXT_TYPES:
                parts.append(str(part.get("text") or ""))
            elif part_type in _KINDS_OF_TYPES:
                parts.append(_typed_media(part, part_type, path))
            else:
                parts.append(OmittedPart(part_type or "unknown", ""))
    return tuple(parts) or ("",)


def _typed_media(part: Mapping[str, Any], part_type: str, path: Path) -> Part:
    kind = _KINDS_OF_TYPES[part_type]
    names = (part_type, part_type.removeprefix("input_"), part_type.removesuffix("_url"), *_CONTENT_FIELDS)
    value = next((part[name] for name in names if part.get(name)), None)
    if kind is None and (value is None or (isinstance(value, Mapping) and not _inner_content(value))):
        return OmittedPart(f"{part_type} that only its server has", "")  # only a `file_id`
    return media_of(value, kind, path)


def _inner_content(value: Mapping[str, Any]) -> Any:
    """Return the content of a struct; base64 becomes a data URI, since a short one looks like a path."""
    data = value.get("data")
    if isinstance(data, str) and not data.startswith("data:"):
        return f"data:;base64,{data}"
    return next((value[name] for name in _CONTENT_FIELDS if value.get(name)), None)


def media_of(value: Any, kind: Kind | None, path: Path) -> Part:
    """Return a file from bytes, a struct with bytes, a data URI, base64, or a path next to the data file.

    A missing file becomes an `OmittedPart` if the user allowed that (--without-pictures). With `kind` None, the
    content decides.
    """
    if isinstance(value, Mapping):
        value = _inner_content(value)
    noun = NOUNS[kind] if kind else "file"
    if isinstance(value, bytes):
        return media_from_bytes(value, kind, path=path)
    if not isinstance(value, str) or not value:
        raise InputError(f"a {noun} is bytes, a data URI or a path; found {type(value).__name__}", path=path)
    if is_missing_picture(path.parent, value):
        return OmittedPart(value, noun)
    return read_media_of(path.parent, value, kind, path=path)


def picture_of(value: Any, path: Path) -> Part:
    """Return a picture as `media_of` does."""
    return media_of(value, "image", path)


def media_in_columns(row: Mapping[str, Any], path: Path) -> list[Part]:
    """Return the files that a row names in its usual columns: pictures first, then videos, recordings, documents."""
    return [
        media_of(value, kind, path)
        for kind in KINDS
        for column in MEDIA_COLUMNS[kind]
        for value in (row[column] if isinstance(row.get(column), list) else [row.get(column)])
        if value
    ]


def media_among(names: Iterable[str], path: Path, kind: Kind | None = "image") -> tuple[list[Media], list[str]]:
    """Return the files that exist, are embedded or may be downloaded, and the names of missing ones."""
    here, missing = [], []
    for name in names:
        if is_picture_available(path.parent, name):
            here.append(read_media_of(path.parent, name, kind, path=path))
        else:
            missing.append(name)
    return here, missing


def typed_parts(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return parts of a message as chat templates and most tools take them; files are data URIs."""
    return [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": part.kind, part.kind: data_uri(part)}
        for part in parts
    ]


def media_columns(media: Sequence[Media]) -> dict[str, list[str]]:
    """Return files as the columns that our own items have, as data URIs."""
    return {
        COLUMN_NAMES[kind]: [data_uri(part) for part in media if part.kind == kind]
        for kind in KINDS
        if any(part.kind == kind for part in media)
    }


def count_omitted_media(record: Record, *, questions: bool, answers: bool) -> dict[str, int]:
    """Count the files of the judged questions and answers that a format has no place for, by what they are."""
    holders: list[tuple[str, Item | Response | None]] = []
    if questions:
        holders += [("questions", record.items.get(name)) for name in {verdict.item for verdict in record}]
    if answers:
        keys = {(verdict.item, *response) for verdict in record for response in verdict.shown_responses}
        holders += [("responses", record.responses.get(key)) for key in keys]
    counts = Counter(
        f"{part.noun}s of {where} left out" for where, holder in holders if holder is not None for part in holder.media
    )
    return dict(sorted(counts.items()))
