"""Safe decoding of pictures for scorers: upright, RGB, limited in size."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING

from fullbench.core.picture import Picture, media_type
from fullbench.errors import InputError, Unscorable
from fullbench.picture_flattening_and_orientation import apply_orientation_in_place, flatten_to_rgb

if TYPE_CHECKING:
    from PIL.Image import Image

PIXELS = 64_000_000
"""Maximum pixels that are decoded; a file that claims more is a mistake or an attack."""


class UnscorableAmong(ValueError):
    """Some pictures of a batch cannot be scored; `reasons` are keyed by position."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__(f"{len(reasons)} pictures of a batch cannot be scored")
        self.reasons = reasons


def decode_picture(picture: Picture, *, max_pixels: int = PIXELS, allow_animated: bool = False) -> Image:
    """Decode a picture as RGB, rotated by its EXIF orientation, transparent areas on white.

    A picture that cannot be decoded completely, has too many pixels or is animated raises `Unscorable`. With
    `allow_animated=True` the first frame is taken.
    """
    from PIL import Image, UnidentifiedImageError

    data = _read_bytes(picture)
    try:
        with Image.open(BytesIO(data)) as image:
            if image.width * image.height > max_pixels:
                raise Unscorable(
                    f"the picture claims {image.width} x {image.height} pixels; at most {max_pixels} are read"
                )
            if (frames := getattr(image, "n_frames", 1)) > 1 and not allow_animated:
                raise Unscorable(f"the picture is animated ({frames} frames); give the one frame to be scored")
            image.load()
            rgb_image = flatten_to_rgb(image)
            apply_orientation_in_place(rgb_image)
            return rgb_image
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise Unscorable(f"the picture claims more pixels than are read ({error})") from error
    except UnidentifiedImageError as error:
        raise Unscorable("the picture cannot be decoded (what follows its first bytes is no picture)") from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        if isinstance(error, Unscorable):
            raise
        raise Unscorable(f"the picture cannot be decoded ({error})") from error


def broken_reason(picture: Picture) -> str:
    """Return why a picture is unusable: no bytes, truncated, or too many pixels; empty if it is fine.
    A missing file is no reason: it may come back.
    """
    try:
        picture.data()
        decode_picture(picture, allow_animated=True)
    except InputError:
        return ""
    except Unscorable as reason:
        return str(reason)
    return ""


def _read_bytes(picture: Picture) -> bytes:
    try:
        data = picture.data()
    except InputError as error:
        raise Unscorable(str(error)) from error
    if not data:
        raise Unscorable("the picture has no bytes")
    if media_type(data) is None:
        raise Unscorable(f"this is not a picture we know: it begins with {data[:8]!r}")
    return data
