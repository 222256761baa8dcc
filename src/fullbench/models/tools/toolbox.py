"""Some of the tools together: they look at each picture once, and what they noted is kept."""

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
from fullbench.core.digests import digest
from fullbench.core.picture import Picture
from fullbench.errors import InputError
from fullbench.models.tools.colour_tool import Colours
from fullbench.models.tools.detector import Objects
from fullbench.models.tools.limited_tools import NARROWED, Narrowed
from fullbench.models.tools.ocr import Text
from fullbench.models.tools.picture_notes import Notes
from fullbench.models.wire.image_encoding import write_whole
from fullbench.picture_decoding import flat, upright

if TYPE_CHECKING:
    from PIL.Image import Image


class Tool(Protocol):
    """Looks at a picture and notes something, as a JSON value. What changes its notes changes its version."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def look(self, image: Image) -> Any: ...


TOOLS: Mapping[str, Callable[[], Tool]] = {"objects": Objects, "text": Text, "colours": Colours}
_LOOKING = Lock()


@cache
def tool(name: str) -> Tool:
    """The tool of that name, made once; one that lacks a package says which."""
    if name not in TOOLS:
        raise InputError(f"there is no tool {name!r}; known: {', '.join((*TOOLS, *NARROWED))}, and none")
    return TOOLS[name]()


@dataclass(frozen=True)
class Toolbox:
    """Some tools. Notes are kept by the picture's digest and the tool's version, in memory and in the cache folder."""

    tools: Sequence[Tool | Part]
    _kept: dict[str, Notes] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def named(cls, names: str) -> Toolbox:
        """Tools by name with plus signs between, in any order: `objects+text+colours`, or `none`."""
        asked = [] if names == "none" else names.split("+")
        twice = sorted({name for name in asked if asked.count(name) > 1})
        if twice:
            raise InputError(f"the tool {twice[0]!r} is named twice in {names!r}; keep one")
        for part in NARROWED.values():
            if {part.name, part.whole} <= set(asked):
                raise InputError(f"the tool {part.name!r} tells a part of what {part.whole!r} tells; keep one")
        tools = {name: _made(name) for name in asked}
        return cls([tools[name] for name in (*TOOLS, *NARROWED) if name in tools])

    @property
    def name(self) -> str:
        return "+".join(each.name for each in self.tools) or "none"

    @property
    def versions(self) -> dict[str, str]:
        return {each.name: each.version for each in self.tools}

    def notes(self, picture: Picture) -> Notes:
        """What the tools note about a picture."""
        if picture.digest not in self._kept:
            self._kept[picture.digest] = Notes.of({each.name: _looked(each, picture) for each in self.tools})
        return self._kept[picture.digest]


@dataclass(frozen=True)
class Part:
    """A narrowed tool with the whole one behind it, whose notes are taken, and kept, but once."""

    narrowed: Narrowed
    whole: Tool

    @property
    def name(self) -> str:
        return self.narrowed.name

    @property
    def version(self) -> str:
        return f"part 1 of {self.whole.version}"


def _made(name: str) -> Tool | Part:
    narrowed = NARROWED.get(name)
    return tool(name) if narrowed is None else Part(narrowed, tool(narrowed.whole))


def _looked(each: Tool | Part, picture: Picture) -> Any:
    """What a tool noted, now or before. Tools are not safe to share between threads, so one looks at a time."""
    if isinstance(each, Part):
        return each.narrowed.part(_looked(each.whole, picture))
    file = cache_folder() / "notes" / f"{picture.digest[:32]}-{each.name}-{digest(each.version)[:8]}.json"
    with suppress(OSError, ValueError):
        return json.loads(file.read_text(encoding="utf-8"))
    with _LOOKING:
        noted = each.look(opened(picture))
    with suppress(OSError):
        write_whole(file, json.dumps(noted, ensure_ascii=False).encode())
    return noted


def opened(picture: Picture) -> Image:
    """The picture as it is meant to be seen: upright, in three colours."""
    from PIL import Image

    try:
        with Image.open(BytesIO(picture.data())) as image:
            return flat(upright(image))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        where = picture.source if isinstance(picture.source, Path) else None
        raise InputError(f"the picture {picture.digest[:12]} cannot be decoded ({error})", path=where) from error
