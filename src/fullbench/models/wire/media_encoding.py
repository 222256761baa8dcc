"""Videos, recordings and documents as sent to servers: unchanged, in base64, within the limits of an API."""

from __future__ import annotations

from pathlib import Path

import pybase64

from fullbench.core.media import Media
from fullbench.errors import InputError

_MIB = 2**20
LARGEST_INLINE = 200 * _MIB
"""Largest file in a request to servers that name no limit; it is in memory three times."""

_AUDIO_FORMATS = {
    "audio/wav": "wav", "audio/mpeg": "mp3", "audio/flac": "flac", "audio/ogg": "ogg", "audio/mp4": "m4a",
}  # fmt: skip

_REMEDIES = {
    "video": "cut it, or send frames with video=frames",
    "audio": "cut it, or save it as MP3",
    "document": "send its pages as pictures with pages=10, or split it",
}


def encode_media(part: Media, api: str, largest: int = LARGEST_INLINE) -> bytes:
    """Return the base64 of a file, or refuse one that is larger than an API takes in a request."""
    if part.byte_count > largest:
        raise InputError(
            f"the {part.noun} {part.digest[:12]} has {part.byte_count / _MIB:,.1f} MiB, and {api} takes "
            f"{largest / _MIB:,.0f} MiB in a request; {_REMEDIES[part.kind]}",
            path=part.source if isinstance(part.source, Path) else None,
        )
    return pybase64.b64encode(part.data())


def audio_format(part: Media, api: str, formats: tuple[str, ...]) -> str:
    """Return the name of a recording's format, or refuse one that an API does not take."""
    name = _AUDIO_FORMATS.get(part.media_type, "")
    if name in formats:
        return name
    format_names = " and ".join(name.upper() for name in formats)
    raise InputError(
        f"the recording {part.digest[:12]} is {part.media_type}, but {api} takes {format_names}; convert it",
        path=part.source if isinstance(part.source, Path) else None,
    )
