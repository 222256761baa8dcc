"""Distortions: a region of a picture is masked and painted anew by a function that the user brings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullbench.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

Inpainter = Callable[["Image", "Image", str], "Image"]
"""(picture, mask: white where to paint, what to paint) -> picture of the same size."""


@dataclass(frozen=True)
class Region:
    """A box in shares of the picture's sides, so that it fits any size: left, top, right, bottom."""

    left: float
    top: float
    right: float
    bottom: float

    def __post_init__(self) -> None:
        if not (0 <= self.left < self.right <= 1 and 0 <= self.top < self.bottom <= 1):
            raise InputError(f"a region lies between 0 and 1, left before right and top before bottom; found {self}")

    def box(self, size: tuple[int, int]) -> tuple[int, int, int, int]:
        """The box in pixels, at least one pixel wide and high."""
        width, height = size
        left, top = int(self.left * width), int(self.top * height)
        return left, top, max(left + 1, round(self.right * width)), max(top + 1, round(self.bottom * height))


def mask(size: tuple[int, int], region: Region) -> Image:
    """White in the region, black elsewhere."""
    from PIL import Image as Images

    made = Images.new("L", size, 0)
    made.paste(255, region.box(size))
    return made


def distort(image: Image, region: Region, inpaint: Inpainter, what: str = "") -> Image:
    """The picture with a region painted anew. What lies outside of it stays as it was, whatever the inpainter does."""
    from PIL import Image as Images

    source = image.convert("RGB")
    hole = mask(source.size, region)
    painted = inpaint(source.copy(), hole.copy(), what)
    if painted.size != source.size:
        raise InputError(f"the inpainter must keep the size {source.size}; it gave {painted.size}")
    return Images.composite(painted.convert("RGB"), source, hole)
