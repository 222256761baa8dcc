"""The pictures and parts that a row of a data file names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fullbench.files.fields import Fields
from fullbench.files.pictures import lacks, read_picture
from fullbench.nouns.item import Part
from fullbench.nouns.picture import Picture


def pictures_of(fields: Fields, *, answered: bool = False) -> tuple[tuple[Picture, ...], int]:
    """The pictures, and how many of those that are named are missing, where that is allowed."""
    value = fields.json("pictures")
    listed = value if isinstance(value, list) else [] if value is None else [value]
    pictures = [_picture(fields, source, answered) for source in listed]
    return tuple(picture for picture in pictures if picture is not None), pictures.count(None)


def parts_of(fields: Fields, parts: Any, *, answered: bool = False) -> tuple[tuple[Part, ...], int]:
    if not isinstance(parts, list) or not parts:
        raise fields.error("'parts' must be a list with at least one part")
    shown = [part if isinstance(part, str) else _picture(fields, part, answered) for part in parts]
    return tuple(part for part in shown if part is not None), shown.count(None)


def _picture(fields: Fields, value: Any, answered: bool) -> Picture | None:
    """A picture named by its path, or given as `{"picture": PATH}` or, as data sets in Parquet do, `{"bytes": ...}`.

    What a contestant `answered` with is taken as it is: a broken picture is its fault, not the file's. None is a
    picture of an item that is not there, where the user said that items may lack theirs.
    """
    if isinstance(value, Mapping):
        if isinstance(value.get("bytes"), bytes):
            data = value["bytes"]
            return Picture.as_given(data, data) if answered else Picture.of(data, path=fields.path, line=fields.line)
        value = value.get("picture", value.get("path"))
    if not isinstance(value, str) or not value:
        raise fields.error("a picture must be named by its path")
    if not answered and lacks(fields.path.parent, value):
        return None
    return read_picture(fields.path.parent, value, path=fields.path, line=fields.line, answered=answered)
