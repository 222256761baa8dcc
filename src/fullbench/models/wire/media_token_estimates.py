"""Tokens of texts, and of videos, recordings and documents that are sent as they are, by the provider's rule.

- Google (ai.google.dev/gemini-api/docs/tokens and /media-resolution): a frame has 258 tokens and its time stamp 5 up to
  Gemini 2.5, 70 and 5 from Gemini 3 on, at one frame a second unless `fps` is set; a second of sound has 32, a page of
  a PDF 258, or 560 from Gemini 3 on, and its text is free.
- OpenAI (developers.openai.com/api/docs/guides/realtime-costs and /file-inputs): a second of sound has 10 tokens. Of a
  PDF, the text of a page is counted and a picture of it in low detail, as up to GPT-5.5 by default; models that count
  pictures by patches have no published number for it.
- Anthropic (platform.claude.com/docs/en/build-with-claude/pdf-support): the text of a page and a picture of it, 1,500
  to 3,000 tokens together; the picture had 1,592 in a count by huggingface.co/datasets/JOHNISKING/pdf-token-cost.
- Alibaba (help.aliyun.com/document_detail/2975501.html): a second of sound has 25 tokens, 12.5 from Qwen3-Omni on.

Other servers choose frames themselves, or publish no rule.
"""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from math import ceil
from pathlib import Path
from typing import Any

from fullbench.core.media import Media
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.video_frames_and_document_pages import pdfium_turn

_NEW_GEMINI = re.compile(r"gemini-(?:[3-9]|\d\d)")
_TIME_STAMP = 5
_CLAUDE = re.compile(r"([\w-]+\.)*claude")
_CLAUDE_PAGE = 1_592
_SOUND_RATES = tuple(
    (re.compile(pattern), rate)
    for pattern, rate in (
        (r"gemini", 32.0),
        (r"gpt-audio|gpt-4o(-mini)?-audio", 10.0),
        (r"qwen[3-9].*omni", 12.5),
        (r"qwen.*omni", 25.0),
    )
)
"""Tokens of a second of sound; the first pattern that matches a model's name counts."""
_OPENAI_PAGES = tuple(
    (re.compile(pattern), tokens)
    for pattern, tokens in (
        (r"gpt-4o-mini", 2_833),
        (r"gpt-(4\.1|5|5\.\d+)-(mini|nano)|o4-mini|gpt-5\.[2-9]|gpt-5\.\d\d|gpt-[6-9]|gpt-\d\d", None),
        (r"o[13](-|$)", 75),
        (r"gpt-5", 70),
        (r"(chat)?gpt-4", 85),
    )
)
"""Tokens of the picture of a page in low detail."""


@dataclass(frozen=True)
class MediaFacts:
    """Input of the token rules: seconds and whether there is sound, or pages and the length of their text."""

    seconds: float = 0.0
    has_sound: bool = False
    pages: int = 0
    text_tokens: int = 0


def media_tokens(part: Media, model: str, sampling: Sampling | None = None) -> int | None:
    """Return the tokens of a video, recording or document, or None if the rule or the length is unknown.

    Args:
        part: The file.
        model: The name of the model, whose provider has the rule.
        sampling: Settings with the rate and the part of a video that is sent.
    """
    facts = _facts_of(part)
    if facts is None:
        return None
    bare = model.rsplit("/", 1)[-1].lower()
    if part.kind == "document":
        return pdf_tokens(bare, facts.pages, facts.text_tokens)
    sound = _sound_tokens(bare, part, facts, sampling)
    if part.kind == "audio":
        return sound
    if not bare.startswith("gemini") or sound is None:
        return None
    frame = _TIME_STAMP + (70 if _NEW_GEMINI.match(bare) else 258)
    rate = sampling.fps if sampling is not None and sampling.fps is not None else 1.0
    return ceil(_sent_seconds(facts.seconds, sampling) * rate) * frame + sound


def sound_tokens(part: Media, model: str, sampling: Sampling | None = None) -> int:
    """Return those tokens of a video or recording that are billed as sound; 0 if the rule is unknown."""
    facts = _facts_of(part) if part.kind in {"audio", "video"} else None
    bare = model.rsplit("/", 1)[-1].lower()
    if facts is None or (part.kind == "video" and not bare.startswith("gemini")):
        return 0
    return _sound_tokens(bare, part, facts, sampling) or 0


def pdf_tokens(model: str, pages: int, text_tokens: int) -> int | None:
    """Return the tokens of a PDF file, or None if the rule is unknown.

    >>> pdf_tokens("gemini-2.5-pro", 4, 900), pdf_tokens("gpt-4o", 4, 900), pdf_tokens("my-own-vlm", 4, 900)
    (1032, 1240, None)
    """
    if model.startswith("gemini"):
        return pages * (560 if _NEW_GEMINI.match(model) else 258)
    if _CLAUDE.match(model):
        return pages * _CLAUDE_PAGE + text_tokens
    page = next((tokens for pattern, tokens in _OPENAI_PAGES if pattern.match(model)), None)
    return None if page is None else pages * page + text_tokens


def _sound_tokens(model: str, part: Media, facts: MediaFacts, sampling: Sampling | None) -> int | None:
    rate = next((rate for pattern, rate in _SOUND_RATES if pattern.match(model)), None)
    if rate is None:
        return None
    if part.kind == "video":
        return ceil(_sent_seconds(facts.seconds, sampling) * rate) if facts.has_sound else 0
    return ceil(facts.seconds * rate)


def _sent_seconds(seconds: float, sampling: Sampling | None) -> float:
    if sampling is None:
        return seconds
    last = seconds if sampling.end is None else min(seconds, sampling.end)
    return max(0.0, last - (sampling.start or 0.0))


def _facts_of(part: Media) -> MediaFacts | None:
    """Return what the rules need of a file; None if no decoder is installed, or if it cannot be read."""
    return _facts_of_file(part.source, part.kind) if isinstance(part.source, Path) else _facts(part.source, part.kind)


@lru_cache(maxsize=65_536)
def _facts_of_file(path: Path, kind: str) -> MediaFacts | None:
    return _facts(path, kind)


def _facts(source: Path | bytes, kind: str) -> MediaFacts | None:
    try:
        return _document_facts(source) if kind == "document" else _recording_facts(source)
    except (ImportError, OSError, ValueError, RuntimeError):
        return None


def _document_facts(source: Path | bytes) -> MediaFacts:
    import pypdfium2

    with pdfium_turn, closing(pypdfium2.PdfDocument(source)) as document:
        return MediaFacts(
            pages=len(document), text_tokens=sum(text_tokens(page.get_textpage().get_text_range()) for page in document)
        )


def _recording_facts(source: Path | bytes) -> MediaFacts | None:
    import av

    place: Any = str(source) if isinstance(source, Path) else BytesIO(source)
    with av.open(place) as container:
        has_sound = bool(container.streams.audio)
        if container.duration is not None:
            return MediaFacts(float(container.duration / av.time_base), has_sound)
        stream = container.streams[0]
        if stream.duration is None:
            return None
        return MediaFacts(float(stream.duration * stream.time_base), has_sound)


def text_tokens(text: str) -> int:
    """Estimate the tokens of a text.

    >>> text_tokens("a" * 400), text_tokens("图" * 100)
    (100, 100)
    """
    ascii_count = len(text.encode("ascii", "ignore"))
    return -(-ascii_count // 4) + len(text) - ascii_count
