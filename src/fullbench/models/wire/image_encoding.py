"""Pictures as sent to servers: unchanged if they fit, else scaled; encoded once. Sizes are read without decoding."""

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
from fullbench.picture_flattening_and_orientation import (
    apply_orientation,
    encode_image,
    flatten_to_rgb,
    has_exif_rotation,
    has_transparency,
    jpeg_segments,
)

if TYPE_CHECKING:
    from PIL.Image import Image


_NO_SIZE = {0xC4, 0xC8, 0xCC}
"""JPEG markers within the range of frame markers that begin no frame: tables, an extension, arithmetic coding."""


def size_of(data: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG, JPEG, GIF or WebP picture from its first bytes, or None if they do not tell.

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
            return _jpeg_size(data)
        if data[:4] == b"RIFF":
            return _webp_size(data)
    except (IndexError, struct.error):
        return None
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    for marker, at in jpeg_segments(data):
        if 0xC0 <= marker <= 0xCF and marker not in _NO_SIZE:
            height, width = unpack_from(">HH", data, at + 5)
            return width, height
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
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


CACHE_BYTES = 8 * 2**20
"""Cases of one item are consecutive, so few pictures are needed again. A larger cache would cost more than encoding
again: allocating memory takes longer than writing base64.
"""
_HEAD_BYTES = 2**18


@dataclass(frozen=True)
class Limit:
    """A server's limits: longest side in pixels, bytes of one picture, media types."""

    pixels: int = 2_048
    size: int = 3_500_000
    media: tuple[str, ...] = ("image/jpeg", "image/png", "image/webp", "image/gif")

    def fit(self, size: tuple[int, int]) -> tuple[int, int]:
        """Return the size that fits, in the same proportions.

        >>> Limit(pixels=100).fit((400, 200)), Limit(pixels=100).fit((40, 20))
        ((100, 50), (40, 20))
        """
        longest = max(size)
        if longest <= self.pixels:
            return size
        width, height = (max(1, round(side * self.pixels / longest)) for side in size)
        return width, height


class _EncodingCache:
    """Cache of the pictures encoded last, limited in bytes; shared by all models and threads."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._byte_count = 0
        self._encodings: OrderedDict[tuple[str, Limit], tuple[str, bytes]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, Limit]) -> tuple[str, bytes] | None:
        with self._lock:
            encoding = self._encodings.get(key)
            if encoding is not None:
                self._encodings.move_to_end(key)
            return encoding

    def put(self, key: tuple[str, Limit], value: tuple[str, bytes]) -> None:
        with self._lock:
            if key in self._encodings:
                return
            self._encodings[key] = value
            self._byte_count += len(value[1])
            while self._byte_count > self._max_bytes:
                self._byte_count -= len(self._encodings.popitem(last=False)[1][1])


_encoding_cache = _EncodingCache(CACHE_BYTES)


def encode_picture(picture: Picture, limit: Limit) -> tuple[str, bytes]:
    """Return the media type and the base64 of a picture within the limit; cached."""
    key = (picture.digest, limit)
    encoding = _encoding_cache.get(key)
    if encoding is None:
        media, data = bytes_to_send(picture, limit)
        encoding = (media, pybase64.b64encode(data))
        _encoding_cache.put(key, encoding)
    return encoding


def bytes_to_send(picture: Picture, limit: Limit) -> tuple[str, bytes]:
    """Return the media type and the bytes to send: the picture's own if they fit, else a scaled copy, made once.
    A picture rotated by EXIF is sent upright, since not every server reads EXIF.
    """
    data = picture.cached_data()
    if picture.media_type in limit.media and len(data) <= limit.size:
        size = size_of(data)
        if size is not None and min(size) > 0 and max(size) <= limit.pixels and not has_exif_rotation(data):
            return picture.media_type, data
    file = cache_folder() / "pictures" / f"{picture.digest[:32]}-{limit.pixels}-{limit.size}"
    with suppress(OSError):
        scaled_bytes = file.read_bytes()
        if (media := media_type(scaled_bytes)) in limit.media:
            return str(media), scaled_bytes
    media, scaled_bytes = _scale_picture(picture, data, limit)
    with suppress(OSError):
        write_atomically(file, scaled_bytes)
    return media, scaled_bytes


def measure_picture(picture: Picture) -> tuple[int, int] | None:
    """Return width and height, read from the first bytes, or None if they do not tell."""
    return size_of(picture.source) if isinstance(picture.source, bytes) else _measure_file(picture.source)


@lru_cache(maxsize=65_536)
def _measure_file(path: Path) -> tuple[int, int] | None:
    try:
        with path.open("rb") as file:
            return size_of(file.read(_HEAD_BYTES))
    except OSError:
        return None


def write_atomically(file: Path, data: bytes) -> None:
    """Write a file in one step, so that nobody reads a partial file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        Path(name).replace(file)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _scale_picture(picture: Picture, data: bytes, limit: Limit) -> tuple[str, bytes]:
    from PIL import Image

    try:
        with _allow_large_images(), Image.open(BytesIO(data)) as image:
            image.draft("RGB", (limit.pixels, limit.pixels))  # lets the JPEG decoder scale down while it decodes
            upright_image = to_rgb_or_grey(apply_orientation(image))
            upright_image.thumbnail((limit.pixels, limit.pixels), Image.Resampling.LANCZOS, reducing_gap=3.0)
            return _compress_image(upright_image, picture.media_type, limit)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        where = picture.source if isinstance(picture.source, Path) else None
        raise InputError(f"the picture {picture.digest[:12]} cannot be scaled ({error})", path=where) from error


@contextmanager
def _allow_large_images() -> Iterator[None]:
    """Silence Pillow's warning about large pictures. It still refuses pictures that are too large."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        yield


def to_rgb_or_grey(image: Image) -> Image:
    """Convert to 8-bit RGB or grey; transparent areas become white."""
    return image if image.mode in {"RGB", "L"} and not has_transparency(image) else flatten_to_rgb(image)


def _compress_image(image: Image, media: str, limit: Limit) -> tuple[str, bytes]:
    """Return a PNG if the picture was lossless and that fits, else the best JPEG that fits."""
    if media != "image/jpeg":
        data = encode_image(image)
        if len(data) <= limit.size:
            return "image/png", data
    while True:
        for quality in (92, 85, 75):
            data = encode_image(image, "JPEG", quality=quality)
            if len(data) <= limit.size or max(image.size) <= 64:
                return "image/jpeg", data
        image = image.resize((max(1, image.width * 3 // 4), max(1, image.height * 3 // 4)))
