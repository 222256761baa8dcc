"""The pictures and parts that a row of a data file names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from fullbench.files.fields import Fields
from fullbench.files.pictures import lacks, read_picture
from fullbench.core.item import Part
from fullbench.core.picture import Picture

_Kind = TypeVar("_Kind")


def pictures_of(fields: Fields, *, answered: bool = False) -> tuple[tuple[Picture, ...], list[str]]:
    """The pictures, and the names of those that are missing, where that is allowed."""
    value = fields.json("pictures")
    if value is None:
        return (), []
    listed = value if isinstance(value, list) else [value]
    pictures = [_picture(fields, source, answered) for source in listed]
    return _apart(pictures)


def parts_of(fields: Fields, parts: Any, *, answered: bool = False) -> tuple[tuple[Part, ...], list[str]]:
    if not isinstance(parts, list) or not parts:
        raise fields.error("'parts' must be a list with at least one part")
    shown = [part if isinstance(part, str) else _picture(fields, part, answered) for part in parts]
    return _apart(shown)


@dataclass(frozen=True)
class _Missing:
    """A picture that is named and not there."""

    name: str


def _apart(parts: Sequence[_Kind | _Missing]) -> tuple[tuple[_Kind, ...], list[str]]:
    """What is there, and the names of what is not."""
    if _Missing not in map(type, parts):
        return cast("tuple[_Kind, ...]", tuple(parts)), []
    there = tuple(part for part in parts if not isinstance(part, _Missing))
    return there, [part.name for part in parts if isinstance(part, _Missing)]


def _picture(fields: Fields, value: Any, answered: bool) -> Picture | _Missing:
    """A picture named by its path, or given as `{"picture": PATH}` or, as data sets in Parquet do, as bytes.

    What a contestant `answered` with is taken as it is: a broken picture is its fault, not the file's. A picture of an
    item may be missing where the user said so.
    """
    if isinstance(value, Mapping):
        data = value.get("bytes")
        value = data if isinstance(data, bytes) else value.get("picture", value.get("path"))
    if isinstance(value, Picture):
        return value
    if isinstance(value, bytes):
        return Picture.as_given(value, value) if answered else Picture.of(value, path=fields.path, line=fields.line)
    if not isinstance(value, str) or not value:
        raise fields.error("a picture must be named by its path")
    if not answered and lacks(fields.path.parent, value):
        return _Missing(value)
    return read_picture(fields.path.parent, value, path=fields.path, line=fields.line, answered=answered)


def simple_form(parts: tuple[Part, ...]) -> tuple[tuple[Picture, ...], str | None] | None:
    """Pictures and then at most one text, the form that needs no `parts`; None for any other."""
    pictures = tuple(part for part in parts if isinstance(part, Picture))
    rest = parts[len(pictures) :]
    if not parts or len(rest) > 1 or parts[: len(pictures)] != pictures:
        return None
    return pictures, str(rest[0]) if rest else None
