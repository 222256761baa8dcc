"""Distorted regions: a user's inpainting function repaints a masked region of a picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fullbench.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

Inpainter = Callable[["Image", "Image", str], "Image"]
"""(picture, mask that is white where to paint, text of what to paint) -> picture of the same size."""


@dataclass(frozen=True)
class Region:
    """A box (left, top, right, bottom) in shares of the picture's sides, so that it fits any size."""

    left: float
    top: float
    right: float
    bottom: float

    def __post_init__(self) -> None:
        if not (0 <= self.left < self.right <= 1 and 0 <= self.top < self.bottom <= 1):
            raise InputError(
                f"a region is given by shares from 0 to 1, left before right and top before bottom; found {self}"
            )

    @property
    def text(self) -> str:
        """The sides as text.

        >>> Region(0.1, 0.25, 0.5, 1).text
        '0.1,0.25,0.5,1'
        """
        return ",".join(f"{side:.3g}" for side in (self.left, self.top, self.right, self.bottom))

    def box(self, size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Return the box in pixels, at least one pixel wide and high."""
        width, height = size
        left, top = int(self.left * width), int(self.top * height)
        return left, top, max(left + 1, round(self.right * width)), max(top + 1, round(self.bottom * height))


def region_mask(size: tuple[int, int], region: Region) -> Image:
    """Return a mask that is white in the region and black elsewhere."""
    from PIL import Image as Images

    mask_image = Images.new("L", size, 0)
    mask_image.paste(255, region.box(size))
    return mask_image


def distort_region(image: Image, region: Region, inpaint: Inpainter, content: str = "") -> Image:
    """Repaint a region of a picture. Pixels outside the region never change, whatever the inpainter returns."""
    from PIL import Image as Images

    source = image.convert("RGB")
    hole = region_mask(source.size, region)
    painted_image = inpaint(source.copy(), hole.copy(), content)
    if painted_image.size != source.size:
        raise InputError(f"the inpainter must keep the size {source.size}; it gave {painted_image.size}")
    return Images.composite(painted_image.convert("RGB"), source, hole)
