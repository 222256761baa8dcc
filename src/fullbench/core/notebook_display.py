"""How nouns show themselves in a notebook, and how they become frames: rooms above say how, the nouns only ask.

Nobody needs it to judge, so that what draws and what makes frames is entered here when the package is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Html = Callable[[Any], str]
Framer = Callable[[Any, str | None], Any]

_html: list[Html] = []
_frames: list[Framer] = []


def show_with(html: Html) -> None:
    """Let nouns be drawn by this function."""
    _html[:] = [html]


def frame_with(framer: Framer) -> None:
    """Let nouns be made frames by this function."""
    _frames[:] = [framer]


class Shown:
    """What a notebook draws: `_repr_html_`, where somebody entered how."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        return _html[0](self) if _html else None


class Framed(Shown):
    """What can be a frame as well."""

    __slots__ = ()

    def frame(self, library: str | None = None) -> Any:
        """The rows as a frame of polars or pandas: of the one that is named, in use, or installed."""
        if not _frames:
            raise RuntimeError("import fullbench first: its root says how frames are made")
        return _frames[0](self, library)
