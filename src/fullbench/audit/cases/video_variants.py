"""Variants of a moving picture: backwards, frozen, black, and with text in one frame."""

from __future__ import annotations

import io
import textwrap
from typing import TYPE_CHECKING

from fullbench.audit.cases.picture_variants import draw_text
from fullbench.synthetic.moving_pictures import MILLISECONDS, encode_frames

if TYPE_CHECKING:
    from PIL.Image import Image


def decode_frames(data: bytes) -> list[Image]:
    """Return all frames of a moving GIF or WebP."""
    from PIL import Image

    frames = []
    with Image.open(io.BytesIO(data)) as picture:
        for number in range(getattr(picture, "n_frames", 1)):
            picture.seek(number)
            frames.append(picture.convert("RGB"))
    return frames


def reverse_video(data: bytes) -> bytes:
    """Play the frames backwards."""
    return encode_frames(decode_frames(data)[::-1], MILLISECONDS)


def freeze_video(data: bytes) -> bytes:
    """Show the first frame all the time."""
    frames = decode_frames(data)
    return encode_frames([frames[0]] * len(frames), MILLISECONDS)


def black_video(data: bytes) -> bytes:
    """Return as many black frames."""
    from PIL import Image

    frames = decode_frames(data)
    return encode_frames([Image.new("RGB", frames[0].size)] * len(frames), MILLISECONDS)


def write_into_frame(data: bytes, text: str, *, is_small: bool = False) -> bytes:
    """Write text into the frame in the middle, and into no other."""
    frames = decode_frames(data)
    middle = len(frames) // 2
    lines = "\n".join(textwrap.wrap(text, 48 if is_small else 30))
    frames[middle] = draw_text(frames[middle], lines, size=9 if is_small else 14, place=(0.5, 0.97))
    return encode_frames(frames, MILLISECONDS)
