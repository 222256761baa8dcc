"""Width and height of a picture from its first bytes, without decoding it."""

from __future__ import annotations

import struct
from struct import unpack_from

from fullbench.pixels import segments

_NO_SIZE = {0xC4, 0xC8, 0xCC}
"""Markers of a JPEG that lie among those of a frame and begin none: tables, an extension, and arithmetic coding."""


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, JPEG, GIF or WebP picture; None where the bytes do not tell.

    >>> size_of(b"GIF89a" + bytes([2, 0, 3, 0]))
    (2, 3)
    >>> size_of(b"GIF89a") is None
    True
    """
    try:
        if data.startswith(b"\x89PNG"):
            width, height = unpack_from(">II", data, 16)
            return width, height
        if data.startswith(b"GIF8"):
            width, height = unpack_from("<HH", data, 6)
            return width, height
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
        if data[:4] == b"RIFF":
            return _webp(data)
    except (IndexError, struct.error):
        return None
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """The size that the first frame names."""
    for marker, at in segments(data):
        if 0xC0 <= marker <= 0xCF and marker not in _NO_SIZE:
            height, width = unpack_from(">HH", data, at + 5)
            return width, height
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8 ":
        width, height = unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        bits = unpack_from("<I", data, 21)[0]
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        return (width, int.from_bytes(data[27:30], "little") + 1) if len(data) >= 30 else None
    return None
