"""Pictures for scorers: decoded with care, upright, in three colours."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING

from fullbench.core.picture import Picture, media_type
from fullbench.errors import InputError, Unscorable
from fullbench.picture_decoding import flat, turn

if TYPE_CHECKING:
    from PIL.Image import Image

PIXELS = 64_000_000
"""The most pixels that are decoded; a file that claims more is a mistake or an attack."""


class UnscorableAmong(ValueError):
    """Some pictures of a batch cannot be scored: why, by their places in it."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__(f"{len(reasons)} pictures of a batch cannot be scored")
        self.reasons = reasons


def decode(picture: Picture, *, pixels: int = PIXELS, animated: bool = False) -> Image:
    """The picture as it is meant to be seen: turned as its EXIF says, on white where it is transparent, as RGB.

    What cannot be decoded in full, has too many pixels or is animated raises `Unscorable`; with `animated=True` the
    first frame is taken.
    """
    from PIL import Image, UnidentifiedImageError

    data = _bytes(picture)
    try:
        with Image.open(BytesIO(data)) as image:
            if image.width * image.height > pixels:
                raise Unscorable(f"the picture claims {image.width} x {image.height} pixels; at most {pixels} are read")
            if (frames := getattr(image, "n_frames", 1)) > 1 and not animated:
                raise Unscorable(f"the picture is animated ({frames} frames); give the one frame to be scored")
            image.load()
            seen = flat(image)
            turn(seen)
            return seen
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise Unscorable(f"the picture claims more pixels than are read ({error})") from error
    except UnidentifiedImageError as error:
        raise Unscorable("the picture cannot be decoded (what follows its first bytes is no picture)") from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        if isinstance(error, Unscorable):
            raise
        raise Unscorable(f"the picture cannot be decoded ({error})") from error


def broken(picture: Picture) -> str:
    """Why nobody can look at a picture: no bytes, cut short, or more pixels than are read; empty where one can.

    A file that is gone says nothing of the picture: it may come back.
    """
    try:
        picture.data()
        decode(picture, animated=True)
    except InputError:
        return ""
    except Unscorable as reason:
        return str(reason)
    return ""


def _bytes(picture: Picture) -> bytes:
    try:
        data = picture.data()
    except InputError as error:
        raise Unscorable(str(error)) from error
    if not data:
        raise Unscorable("the picture has no bytes")
    if media_type(data) is None:
        raise Unscorable(f"this is not a picture we know: it begins with {data[:8]!r}")
    return data
