"""`Toolbox`: a set of tools that examine each picture once, with a cache of their notes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from fullbench.cache_dir import cache_folder
from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.tools.colour_words_and_picture_shares import Colours
from fullbench.models.tools.everyday_object_detector import Objects
from fullbench.models.tools.ocr import Text
from fullbench.models.tools.picture_notes_and_their_wording import Notes, kinds_of
from fullbench.models.wire.image_encoding import write_atomically
from fullbench.picture_flattening_and_orientation import apply_orientation, flatten_to_rgb

if TYPE_CHECKING:
    from PIL.Image import Image


class Tool(Protocol):
    """Examines a picture and returns notes as a JSON value. A change of its notes changes its version."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def look(self, image: Image) -> Any: ...


TOOLS: Mapping[str, Callable[[], Tool]] = {"objects": Objects, "text": Text, "colours": Colours}
LIMITED_TOOLS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "kinds": ("objects", lambda things: kinds_of((label, sure) for label, sure, _ in things)),
    "headline": ("text", lambda lines: lines[:1]),
    "colour": ("colours", lambda shares: dict(sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))[:1])),
}
"""Tools that give a part of another tool's notes: kinds without number and place, the first line, the widest colour.

They never contradict the full tool. So contestants can be ranked in advance: each knows all that the previous one does.
"""
_TOOL_LOCK = Lock()


@cache
def get_tool(name: str) -> Tool:
    """Return the tool of that name, created once. Raises if a package is missing."""
    if name not in TOOLS:
        raise InputError(f"there is no tool {name!r}; known: {', '.join((*TOOLS, *LIMITED_TOOLS))}, and none")
    return TOOLS[name]()


@dataclass(frozen=True)
class Toolbox:
    """A set of tools. Notes are cached by picture digest and tool version, in memory and on disk."""

    tools: Sequence[Tool | LimitedTool]
    _notes_by_digest: dict[str, Notes] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def from_names(cls, names: str) -> Toolbox:
        """Build tools from names joined by plus signs, in any order: `objects+text+colours`, or `none`."""
        tool_names = [] if names == "none" else names.split("+")
        duplicates = sorted({name for name in tool_names if tool_names.count(name) > 1})
        if duplicates:
            raise InputError(f"the tool {duplicates[0]!r} is named twice in {names!r}; keep one")
        for name, (full_name, _) in LIMITED_TOOLS.items():
            if {name, full_name} <= set(tool_names):
                raise InputError(f"the tool {name!r} repeats a part of {full_name!r}; keep one")
        tools = {name: _build_tool(name) for name in tool_names}
        return cls([tools[name] for name in (*TOOLS, *LIMITED_TOOLS) if name in tools])

    @property
    def name(self) -> str:
        return "+".join(each.name for each in self.tools) or "none"

    @property
    def versions(self) -> dict[str, str]:
        return {each.name: each.version for each in self.tools}

    def notes(self, picture: Picture) -> Notes:
        """Return the tools' notes on a picture."""
        if picture.digest not in self._notes_by_digest:
            self._notes_by_digest[picture.digest] = Notes.from_json(
                {each.name: _take_notes(each, picture) for each in self.tools}
            )
        return self._notes_by_digest[picture.digest]


@dataclass(frozen=True)
class LimitedTool:
    """A limited tool and its full tool, whose notes are taken and cached once."""

    name: str
    full_tool: Tool
    part: Callable[[Any], Any]

    @property
    def version(self) -> str:
        return f"part 1 of {self.full_tool.version}"


def _build_tool(name: str) -> Tool | LimitedTool:
    if name not in LIMITED_TOOLS:
        return get_tool(name)
    full_name, part = LIMITED_TOOLS[name]
    return LimitedTool(name, get_tool(full_name), part)


def _take_notes(each: Tool | LimitedTool, picture: Picture) -> Any:
    """Tools are not thread-safe, so one runs at a time."""
    if isinstance(each, LimitedTool):
        return each.part(_take_notes(each.full_tool, picture))
    file = cache_folder() / "notes" / f"{picture.digest[:32]}-{each.name}-{digest(each.version)[:8]}.json"
    with suppress(OSError, ValueError):
        return json.loads(file.read_text(encoding="utf-8"))
    with _TOOL_LOCK:
        notes = each.look(open_picture(picture))
    with suppress(OSError):
        write_atomically(file, json.dumps(notes, ensure_ascii=False).encode())
    return notes


def open_picture(picture: Picture) -> Image:
    """Decode a picture upright and in RGB."""
    from PIL import Image

    try:
        with Image.open(BytesIO(picture.data())) as image:
            return flatten_to_rgb(apply_orientation(image))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        where = picture.source if isinstance(picture.source, Path) else None
        raise InputError(f"the picture {picture.digest[:12]} cannot be decoded ({error})", path=where) from error
