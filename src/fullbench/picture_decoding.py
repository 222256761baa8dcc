"""What all who open a picture must get right: sixteen bits, transparency, four inks, EXIF. One place, so that judges of
every kind, the pages and the tools see the same picture."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from struct import unpack_from
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

    from fullbench.core.picture import Picture

ORIENTATION = 0x0112
SCAN = 0xDA
"""The marker with which a scan of a JPEG begins: the picture itself."""
_EXIF_WITHIN = 65_536
_BROKEN = (OSError, SyntaxError, ValueError, TypeError, KeyError)


def flat(image: Image) -> Image:
    """In three colours of eight bits, what is transparent on white as on a page, with the EXIF of the original.

    No copy is made of what is so already: it would hold the interpreter's lock, and with it all threads that decode.
    """
    from PIL import Image as Images

    if image.mode == "RGB" and not transparent(image):
        return image
    exif = image.getexif()
    page = eight_bits(image)
    if transparent(page):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            over = page.convert("RGBA")
        page = Images.alpha_composite(Images.new("RGBA", over.size, "white"), over)
    page = page.convert("RGB")
    page.info["exif"] = exif.tobytes() if exif else b""
    return page


def transparent(image: Image) -> bool:
    """Whether parts of the picture may be seen through."""
    return image.mode in {"RGBA", "LA", "PA", "La", "RGBa"} or "transparency" in image.info


def eight_bits(image: Image) -> Image:
    """A picture of sixteen bits brought to eight, others as they are. Pillow's own way cuts off all above 255."""
    if not (image.mode.startswith("I") or image.mode == "F"):
        return image
    import numpy as np
    from PIL import Image as Images

    values = np.asarray(image).astype(np.float64)
    deep = image.mode.startswith("I;16") or values.max(initial=0.0) > 255
    picture = Images.fromarray(np.clip(values * 255 / (65535 if deep else 255), 0, 255).round().astype(np.uint8))
    picture.info["exif"] = image.info.get("exif", b"")
    return picture


def upright(image: Image) -> Image:
    """A picture turned as its EXIF says; as it is where that is broken."""
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(image)
    except _BROKEN:
        return image


def turn(image: Image) -> None:
    """Turn this very picture as its EXIF says; leave it where that is broken."""
    from PIL import ImageOps

    with suppress(*_BROKEN):
        ImageOps.exif_transpose(image, in_place=True)


def veiled(image: Image) -> Image:
    """A picture as it is shown unasked when it is sensitive: four by four colours made large, and no shapes."""
    from PIL import Image as Images

    small = image.resize((4, 4), Images.Resampling.BOX)
    return small.resize(image.size, Images.Resampling.BICUBIC)


def segments(data: bytes) -> Iterator[tuple[int, int]]:
    """The markers of a JPEG and where each stands, up to and with that of its first scan; it ends early where no marker
    follows, and with an `IndexError` or a `struct.error` where the bytes end.

    >>> [hex(marker) for marker, _ in segments(bytes.fromhex("ffd8 ffe0 0003 00 ffff da"))]
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


def _scan(data: bytes) -> int:
    """Where the first scan of a JPEG begins; its length where that cannot be told."""
    with suppress(IndexError, struct.error):
        return next((at for marker, at in segments(data) if marker == SCAN), len(data))
    return len(data)


def turned(data: bytes) -> bool:
    """Whether a picture's EXIF asks for it to be turned before it is seen. Not every server reads that."""
    # Of a JPEG only what comes before its first scan: to search the scan took as long as to hash the picture.
    head = min(_scan(data), _EXIF_WITHIN) if data.startswith(b"\xff\xd8") else _EXIF_WITHIN
    if data.find(b"Exif", 0, head) < 0:
        return False
    from PIL import Image

    try:
        with Image.open(BytesIO(data)) as image:
            return image.getexif().get(ORIENTATION, 1) in range(2, 9)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return False


def extent(picture: Picture) -> tuple[int, int] | None:
    """The width and height of a picture as it is seen, from the head of its file; None where there is no file at hand:
    nothing is fetched from a bucket for that."""
    from PIL import Image

    if not isinstance(picture.source, Path):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(picture.source) as image:
                width, height = image.size
                sideways = image.getexif().get(ORIENTATION, 1) in range(5, 9)
    except (*_BROKEN, Image.DecompressionBombError):
        return None
    return (height, width) if sideways else (width, height)


def is_black(picture: Picture) -> bool:
    """Whether a picture is black all over, as some filters leave it; what cannot be decoded is not.

    A light hand: the noise of a JPEG may lift black by a few steps.
    """
    from PIL import Image as Images

    try:
        with Images.open(BytesIO(picture.data())) as image:
            return not any(any(band.histogram()[_BLACK + 1 :]) for band in flat(image).split())
    except (*_BROKEN, Images.DecompressionBombError):
        return False


_BLACK = 8


def encoded(image: Image) -> bytes:
    """A picture as PNG, the same bytes each time."""
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()
