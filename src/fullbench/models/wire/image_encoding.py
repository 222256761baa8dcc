"""Pictures as they travel: unchanged where they fit, scaled once where they do not, encoded once either way."""

from __future__ import annotations

import os
import struct
import tempfile
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from struct import unpack_from
from typing import TYPE_CHECKING

import pybase64

from fullbench.cache_dir import cache_folder
from fullbench.core.picture import Picture, media_type
from fullbench.errors import InputError
from fullbench.picture_decoding import flat, segments, transparent, turned, upright

if TYPE_CHECKING:
    from PIL.Image import Image


# Width and height of a picture from its first bytes, without decoding it.

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


KEPT_BYTES = 8 * 2**20
"""Cases of one item come one after the other, so that few pictures are asked for again. Holding many would cost more
than encoding them anew: fresh memory takes longer to be had than base64 to be written."""
_HEAD_BYTES = 2**18


@dataclass(frozen=True)
class Limit:
    """What a server takes: the longest side in pixels, the bytes of one picture, the media types."""

    pixels: int = 2_048
    size: int = 3_500_000
    media: tuple[str, ...] = ("image/jpeg", "image/png", "image/webp", "image/gif")

    def fit(self, size: tuple[int, int]) -> tuple[int, int]:
        """The size that fits, in the same proportions.

        >>> Limit(pixels=100).fit((400, 200)), Limit(pixels=100).fit((40, 20))
        ((100, 50), (40, 20))
        """
        longest = max(size)
        if longest <= self.pixels:
            return size
        width, height = (max(1, round(side * self.pixels / longest)) for side in size)
        return width, height


class _Kept:
    """The encoded pictures used last, up to so many bytes; shared by all models and threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._found: OrderedDict[tuple[str, Limit], tuple[str, bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, Limit]) -> tuple[str, bytes] | None:
        with self._lock:
            encoding = self._found.get(key)
            if encoding is not None:
                self._found.move_to_end(key)
            return encoding

    def put(self, key: tuple[str, Limit], value: tuple[str, bytes]) -> None:
        with self._lock:
            if key in self._found:
                return
            self._found[key] = value
            self._held += len(value[1])
            while self._held > self._most:
                self._held -= len(self._found.popitem(last=False)[1][1])


_kept = _Kept(KEPT_BYTES)


def encoded(picture: Picture, limit: Limit) -> tuple[str, bytes]:
    """The media type and the base64 of a picture within the limit. Encoded once, then remembered."""
    key = (picture.digest, limit)
    encoding = _kept.get(key)
    if encoding is None:
        media, data = wire(picture, limit)
        encoding = (media, pybase64.b64encode(data))
        _kept.put(key, encoding)
    return encoding


def wire(picture: Picture, limit: Limit) -> tuple[str, bytes]:
    """The media type and the bytes to send: the picture's own where they fit, else a scaled copy, made once.

    A picture that its EXIF turns is sent upright, since not every server reads EXIF.
    """
    data = picture.lately()
    if picture.media in limit.media and len(data) <= limit.size:
        size = size_of(data)
        if size is not None and max(size) <= limit.pixels and not turned(data):
            return picture.media, data
    file = cache_folder() / "pictures" / f"{picture.digest[:32]}-{limit.pixels}-{limit.size}"
    with suppress(OSError):
        scaled = file.read_bytes()
        if (media := media_type(scaled)) in limit.media:
            return str(media), scaled
    media, scaled = _scaled(picture, data, limit)
    with suppress(OSError):
        write_whole(file, scaled)
    return media, scaled


def measured(picture: Picture) -> tuple[int, int] | None:
    """Width and height, read from the first bytes; None where they do not tell."""
    return size_of(picture.source) if isinstance(picture.source, bytes) else _measured_file(picture.source)


@lru_cache(maxsize=65_536)
def _measured_file(path: Path) -> tuple[int, int] | None:
    try:
        with path.open("rb") as file:
            return size_of(file.read(_HEAD_BYTES))
    except OSError:
        return None


def write_whole(file: Path, data: bytes) -> None:
    """Put a file there in one step, so that nobody ever reads a part of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        Path(name).replace(file)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _scaled(picture: Picture, data: bytes, limit: Limit) -> tuple[str, bytes]:
    from PIL import Image

    try:
        with _large_ones_too(), Image.open(BytesIO(data)) as image:
            image.draft("RGB", (limit.pixels, limit.pixels))
            seen = plain(upright(image))
            seen.thumbnail((limit.pixels, limit.pixels), Image.Resampling.LANCZOS, reducing_gap=3.0)
            return _compressed(seen, picture.media, limit)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        where = picture.source if isinstance(picture.source, Path) else None
        raise InputError(f"the picture {picture.digest[:12]} cannot be scaled ({error})", path=where) from error


@contextmanager
def _large_ones_too() -> Iterator[None]:
    """Pillow would warn of large pictures on standard error; those that are too large it refuses all the same."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        yield


def plain(image: Image) -> Image:
    """In three colours or in greys, of eight bits; what is transparent becomes white, as on a page."""
    return image if image.mode in {"RGB", "L"} and not transparent(image) else flat(image)


def _compressed(image: Image, media: str, limit: Limit) -> tuple[str, bytes]:
    """Without loss where the picture had none and that fits, else as the best JPEG that does."""
    if media != "image/jpeg":
        out = BytesIO()
        image.save(out, "PNG")
        if out.tell() <= limit.size:
            return "image/png", out.getvalue()
    while True:
        for quality in (92, 85, 75):
            out = BytesIO()
            image.save(out, "JPEG", quality=quality)
            if out.tell() <= limit.size or max(image.size) <= 64:
                return "image/jpeg", out.getvalue()
        image = image.resize((max(1, image.width * 3 // 4), max(1, image.height * 3 // 4)))
