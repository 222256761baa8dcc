"""Decoding of pictures: 16-bit depth, transparency, CMYK and EXIF rotation.

Judges, web pages and tools all decode here, so that all of them get the same pixels.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from struct import unpack_from
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

    from fullbench.core.media import Media
    from fullbench.core.picture import Picture

ORIENTATION = 0x0112
SCAN = 0xDA
"""Marker of the start of a JPEG scan, which contains the pixels."""
# A segment with EXIF comes first and has at most 64 KiB.
_EXIF_WITHIN = 65_536
_DECODING_ERRORS = (OSError, SyntaxError, ValueError, TypeError, KeyError)


def flatten_to_rgb(image: Image) -> Image:
    """Convert to 8-bit RGB on a white background, as on a web page, and keep the EXIF block.
    A plain RGB picture is returned without a copy: copying holds the GIL and blocks all other decoding threads.
    """
    from PIL import Image as Images

    if image.mode == "RGB" and not has_transparency(image):
        return image
    exif = image.getexif()
    page = to_eight_bits(image)
    if has_transparency(page):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            layer = page.convert("RGBA")
        page = Images.alpha_composite(Images.new("RGBA", layer.size, "white"), layer)
    page = page.convert("RGB")
    page.info["exif"] = exif.tobytes() if exif else b""
    return page


def has_transparency(image: Image) -> bool:
    """Return True if parts of the picture may be transparent."""
    return image.mode in {"RGBA", "LA", "PA", "La", "RGBa"} or "transparency" in image.info


def to_eight_bits(image: Image) -> Image:
    """Scale a 16-bit picture to 8 bits; return others unchanged. Pillow's own conversion clips all values above 255."""
    if not (image.mode.startswith("I") or image.mode == "F"):
        return image
    import numpy as np
    from PIL import Image as Images

    values = np.asarray(image).astype(np.float64)
    deep = image.mode.startswith("I;16") or values.max(initial=0.0) > 255
    picture = Images.fromarray(np.clip(values * 255 / (65535 if deep else 255), 0, 255).round().astype(np.uint8))
    picture.info["exif"] = image.info.get("exif", b"")
    return picture


def apply_orientation(image: Image) -> Image:
    """Return the picture rotated by its EXIF orientation, or unchanged if the EXIF block is broken."""
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(image)
    except _DECODING_ERRORS:
        return image


def apply_orientation_in_place(image: Image) -> None:
    """Rotate this picture by its EXIF orientation, or leave it if the EXIF block is broken."""
    from PIL import ImageOps

    with suppress(*_DECODING_ERRORS):
        ImageOps.exif_transpose(image, in_place=True)


def veil_picture(image: Image) -> Image:
    """Return a sensitive picture as a blur of 4 x 4 colours without shapes, shown until the reader unveils it."""
    from PIL import Image as Images

    small = image.resize((4, 4), Images.Resampling.BOX)
    return small.resize(image.size, Images.Resampling.BICUBIC)


def jpeg_segments(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield each marker of a JPEG with its offset, up to and including the first scan.

    Stops early if the next bytes are not a marker. Raises `IndexError` or `struct.error` if the data end early.

    >>> [hex(marker) for marker, _ in jpeg_segments(bytes.fromhex("ffd8 ffe0 0003 00 ffff da"))]
    ['0xe0', '0xda']
    """
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        yield marker, at
        if marker in {0xD9, SCAN}:
            return
        at += 2 if marker == 0x01 or 0xD0 <= marker <= 0xD8 else 2 + unpack_from(">H", data, at + 2)[0]


def _first_scan_offset(data: bytes) -> int:
    """Return the offset of the first scan of a JPEG, or the length of the data if there is none."""
    with suppress(IndexError, struct.error):
        return next((at for marker, at in jpeg_segments(data) if marker == SCAN), len(data))
    return len(data)


def has_exif_rotation(data: bytes) -> bool:
    """Return True if the EXIF block rotates the picture, which not every server respects."""
    # In a JPEG, search only before the first scan: searching the scan took as long as hashing the picture.
    head = min(_first_scan_offset(data), _EXIF_WITHIN) if data.startswith(b"\xff\xd8") else _EXIF_WITHIN
    if data.find(b"Exif", 0, head) < 0:
        return False
    from PIL import Image

    try:
        with Image.open(BytesIO(data)) as image:
            return image.getexif().get(ORIENTATION, 1) in range(2, 9)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return False


def picture_size(picture: Media) -> tuple[int, int] | None:
    """Return width and height after EXIF rotation.

    None for a broken picture, one that is not a local file, and other media.
    """
    from PIL import Image

    if picture.kind != "image" or not isinstance(picture.source, Path):
        return None  # a size is not worth a download
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(picture.source) as image:
                width, height = image.size
                # Metadata of a PNG may follow its pixels, so Pillow decodes all of them to look for it.
                may_turn = image.format != "PNG" or any(mark in picture.source.read_bytes() for mark in _PNG_METADATA)
                sideways = may_turn and image.getexif().get(ORIENTATION, 1) in range(5, 9)
    except (*_DECODING_ERRORS, Image.DecompressionBombError):
        return None
    return (height, width) if sideways else (width, height)


def is_black(picture: Picture) -> bool:
    """Return True if the whole picture is black, as some safety filters leave it. False if it cannot be decoded.
    Values up to 8 count as black, because JPEG noise lifts black by a few steps.
    """
    from PIL import Image as Images

    try:
        with Images.open(BytesIO(picture.data())) as image:
            return not any(any(band.histogram()[_BRIGHTEST_BLACK + 1 :]) for band in flatten_to_rgb(image).split())
    except (*_DECODING_ERRORS, Images.DecompressionBombError):
        return False


# Chunks of a PNG that may contain an orientation.
_PNG_METADATA = (b"eXIf", b"Raw profile type", b"XML:com.adobe.xmp")
# JPEG turns pure black into values up to about this.
_BRIGHTEST_BLACK = 8


def encode_image(image: Image, form: str = "PNG", **options: Any) -> bytes:
    """Encode a picture; the same picture always gives the same bytes."""
    out = BytesIO()
    image.save(out, form, **options)
    return out.getvalue()
