"""Tokens of videos, recordings and documents that are sent as they are, by the provider's rule; None if unknown.

Google publishes its rules (ai.google.dev/gemini-api/docs/tokens and /media-resolution): 258 tokens a frame and page
up to Gemini 2.5, 70 a frame and 560 a page from Gemini 3 on; one frame a second unless `fps` is set; 32 tokens a
second of sound. OpenAI counts recordings and documents by rules without a published price list for them, Anthropic
names a range of 1,500 to 3,000 tokens a page, and other servers choose frames themselves: these are unknown.
"""

from __future__ import annotations

import re
from contextlib import closing
from functools import lru_cache
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import Any

from fullbench.core.media import Media
from fullbench.models.wire.video_frames_and_document_pages import pdfium_turn

_GEMINI = re.compile(r"(?:[\w.-]+/)*(gemini-(?:[3-9]|\d\d)|gemini)")
_SOUND_TOKENS = 32


def media_tokens(part: Media, model: str, fps: float | None = None) -> int | None:
    """Return the tokens of a video, recording or document, or None if the rule or the length is unknown."""
    match = _GEMINI.match(model.lower())
    if match is None:
        return None
    is_new = match[1] != "gemini"
    length = media_length(part)
    if length is None:
        return None
    if part.kind == "document":
        return ceil(length) * (560 if is_new else 258)
    if part.kind == "audio":
        return ceil(length * _SOUND_TOKENS)
    return ceil(length * (fps or 1.0)) * (70 if is_new else 258) + ceil(length * _SOUND_TOKENS)


def media_length(part: Media) -> float | None:
    """Return the seconds of a video or recording, or the pages of a document; None if no decoder is installed."""
    return _length_of_file(part.source, part.kind) if isinstance(part.source, Path) else _length(part.source, part.kind)


@lru_cache(maxsize=65_536)
def _length_of_file(path: Path, kind: str) -> float | None:
    return _length(path, kind)


def _length(source: Path | bytes, kind: str) -> float | None:
    try:
        return _pages(source) if kind == "document" else _seconds(source)
    except (ImportError, OSError, ValueError, RuntimeError):
        return None


def _pages(source: Path | bytes) -> float:
    import pypdfium2

    with pdfium_turn, closing(pypdfium2.PdfDocument(source)) as document:
        return float(len(document))


def _seconds(source: Path | bytes) -> float | None:
    import av

    place: Any = str(source) if isinstance(source, Path) else BytesIO(source)
    with av.open(place) as container:
        if container.duration is not None:
            return float(container.duration / av.time_base)
        stream = container.streams[0]
        return None if stream.duration is None else float(stream.duration * stream.time_base)
