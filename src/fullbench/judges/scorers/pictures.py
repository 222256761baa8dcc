"""Pictures for scorers: decoded with care, upright, in three colours."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from io import BytesIO
from typing import TYPE_CHECKING

from fullbench.core.errors import InputError
from fullbench.core.pictures import Picture, media_type

if TYPE_CHECKING:
    from PIL.Image import Image

PIXELS = 64_000_000
"""The most pixels that are decoded; a file that claims more is a mistake or an attack."""


class Unscorable(ValueError):
    """A picture that cannot be scored; the sentence says why. The judge recuses itself from its cases."""


class UnscorableAmong(ValueError):
    """Some pictures of a batch cannot be scored: why, by their places in it."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__(f"{len(reasons)} pictures of a batch cannot be scored")
        self.reasons = reasons


def decode(picture: Picture, *, pixels: int = PIXELS) -> Image:
    """The picture as it is meant to be seen: turned as its EXIF says, on white where it is transparent, as RGB.

    What cannot be decoded in full, has too many pixels or is animated raises `Unscorable`.
    """
    from PIL import Image, ImageOps

    data = _bytes(picture)
    try:
        with Image.open(BytesIO(data)) as image:
            if image.width * image.height > pixels:
                raise Unscorable(f"the picture claims {image.width} x {image.height} pixels; at most {pixels} are read")
            if (frames := getattr(image, "n_frames", 1)) > 1:
                raise Unscorable(f"the picture is animated ({frames} frames); give the one frame to be scored")
            image.load()
            flat = _flat(image)
            ImageOps.exif_transpose(flat, in_place=True)
            return flat
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise Unscorable(f"the picture claims more pixels than are read ({error})") from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        if isinstance(error, Unscorable):
            raise
        raise Unscorable(f"the picture cannot be decoded ({error})") from error


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


def _flat(image: Image) -> Image:
    """In three colours of eight bits, with the EXIF of the original; no copy is made of what is so already.

    A copy holds the interpreter's lock, and with it every other thread that decodes.
    """
    from PIL import Image as Images

    if image.mode == "RGB" and "transparency" not in image.info:
        return image
    exif = image.getexif()
    if image.mode.startswith("I") or image.mode == "F":
        flat = _eight_bits(image)
    elif image.mode in {"RGBA", "LA", "PA"} or "transparency" in image.info:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            over = image.convert("RGBA")
        flat = Images.alpha_composite(Images.new("RGBA", over.size, "white"), over).convert("RGB")
    else:
        flat = image.convert("RGB")
    flat.info["exif"] = exif.tobytes() if exif else b""
    return flat


def _eight_bits(image: Image) -> Image:
    """A picture of sixteen bits, brought to eight: Pillow's own conversion would cut off all above 255."""
    import numpy as np
    from PIL import Image as Images

    values = np.asarray(image).astype(np.float64)
    top = 65535.0 if values.max(initial=0.0) > 255 else 255.0
    return Images.fromarray(np.clip(values * 255 / top, 0, 255).round().astype(np.uint8)).convert("RGB")
