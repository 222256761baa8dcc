"""Notebook display, printed text, files and data frames of core types, through functions that other packages register.

Judging needs neither, so `core` does not import the code that draws; the package root registers it on import.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Html = Callable[[Any], str]
Framer = Callable[[Any, str | None], Any]
Writer = Callable[[Any, str | Path], list[Path]]

_html: list[Html] = []
_texts: list[Html] = []
_writers: list[Writer] = []
_frames: list[Framer] = []


def register_html(html: Html) -> None:
    """Register the function that renders core types as HTML."""
    _html[:] = [html]


def register_text_and_writer(text: Html, writer: Writer) -> None:
    """Register the functions that render core types as text and write them to files."""
    _texts[:], _writers[:] = [text], [writer]


def register_framer(framer: Framer) -> None:
    """Register the function that converts core types to data frames."""
    _frames[:] = [framer]


class NotebookDisplay:
    """Mixin for types that a notebook renders, if a renderer is registered."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        return _html[0](self) if _html else None


class Printable(NotebookDisplay):
    """Mixin for types that `print` shows as tables, and that can be written to a file."""

    __slots__ = ()

    def __str__(self) -> str:
        return _texts[0](self) if _texts else repr(self)

    def save(self, path: str | Path) -> list[Path]:
        """Write the tables in the form that the suffix names, and return the files.

        .csv, .tex, .md, .html, .json and .txt hold tables; .svg, .png and .pdf the chart of one table.
        """
        if not _writers:
            raise RuntimeError("import fullbench first: it registers how tables are written")
        return _writers[0](self, path)


class FrameConvertible(NotebookDisplay):
    """Mixin for types that can also become data frames."""

    __slots__ = ()

    def frame(self, library: str | None = None) -> Any:
        """Return the rows as a frame of polars or pandas: the one given, in use, or installed."""
        if not _frames:
            raise RuntimeError("import fullbench first: it registers how frames are made")
        return _frames[0](self, library)
