"""Preprocessing of whole batches of pictures as an image processor does it, and JPEG decoding on the GPU.

Pillow decodes too slowly for a large score model; the GPU's JPEG decoder keeps up. It interpolates reduced colours
(4:2:0) otherwise than Pillow does, by 7 of 255 levels in the mean for a colourful texture, and pictures are then
resized without rounding to whole levels. So a judge that uses it has another name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from fullbench.core.picture import Picture
from fullbench.errors import Unscorable
from fullbench.judges.scorers.safe_picture_decoding import PIXELS

if TYPE_CHECKING:
    from PIL.Image import Image

_HEADER = 65536
_FRAMES = {0xC0, 0xC1, 0xC2}
_APPLICATION = 0xE1
CLIP_MEAN, CLIP_DEVIATION = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
"""CLIP's mean and deviation of colours, which the score models built on CLIP or BLIP share."""
_ALONE = {0x01, *range(0xD0, 0xDA)}  # JPEG markers without a length field


@dataclass(frozen=True)
class Recipe:
    """Steps of an image processor: length of the shorter side, crop, mean and deviation of colours."""

    side: int
    crop: int
    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @classmethod
    def from_processor(cls, processor: Any) -> Recipe | None:
        """Return the recipe of a transformers image processor, or None if it has further steps."""
        size = dict(processor.size or {})
        crop = dict(getattr(processor, "crop_size", None) or {})
        # 3 is Pillow's code of bicubic resampling.
        usual = processor.do_resize and processor.do_rescale and processor.do_normalize and processor.resample == 3
        square = crop.get("height") == crop.get("width")
        if not usual or set(size) != {"shortest_edge"} or not getattr(processor, "do_center_crop", False) or not square:
            return None
        return cls(size["shortest_edge"], crop["height"], tuple(processor.image_mean), tuple(processor.image_std))

    def size(self, height: int, width: int) -> tuple[int, int]:
        """Return height and width after the shorter side was resized."""
        short, long = sorted((height, width))
        long_side = int(self.side * long / short)
        return (self.side, long_side) if height <= width else (long_side, self.side)

    def corner(self, height: int, width: int) -> tuple[int, int]:
        """Return top and left of the centre crop."""
        return (height - self.crop) // 2, (width - self.crop) // 2

    def cut(self, image: Image) -> Any:
        """Resize and crop a Pillow picture; return its bytes as rows, columns, colours."""
        import numpy as np
        from PIL.Image import Resampling

        height, width = self.size(image.height, image.width)
        small = image.resize((width, height), Resampling.BICUBIC)
        if (height, width) != (self.crop, self.crop):
            top, left = self.corner(height, width)
            small = small.crop((left, top, left + self.crop, top + self.crop))
        return np.array(small)

    def colours(self, batch: Any, dtype: Any) -> Any:
        """Normalise bytes of colour for the model."""
        import torch

        mean = torch.tensor(self.mean, device=batch.device)[:, None, None]
        deviation = torch.tensor(self.deviation, device=batch.device)[:, None, None]
        return ((batch.float() / 255 - mean) / deviation).to(dtype)

    def shrink(self, batch: Any) -> Any:
        """Resize and crop pictures of one size by two matrix products."""
        height, width = batch.shape[-2:]
        size = self.size(height, width)
        top, left = self.corner(*size)
        down = _resize_weights(height, size[0])[top : top + self.crop].to(batch)
        across = _resize_weights(width, size[1])[left : left + self.crop].to(batch)
        return (down @ (batch @ across.T)).clamp(0, 255)


@lru_cache(maxsize=64)
def _resize_weights(length: int, size: int) -> Any:
    """Return the weight of each input row in each output row, by torch's bicubic resize that follows Pillow's."""
    import torch
    from torch.nn.functional import interpolate

    rows = torch.eye(length)[None, None]
    return interpolate(rows, size=(size, length), mode="bicubic", antialias=True)[0, 0]


class RoundedCropRecipe(Recipe):
    """A recipe with torchvision's crop position: half a pixel is rounded, while transformers truncates it."""

    def corner(self, height: int, width: int) -> tuple[int, int]:
        return round((height - self.crop) / 2), round((width - self.crop) / 2)


def plain_jpeg(picture: Picture) -> Any | None:
    """Return the file of a JPEG that the GPU decodes like Pillow, as a pinned tensor; else None.

    It must be complete, without EXIF, in three colours and not too large. It is read in one step and checked in
    another: every further step makes the thread that feeds the GPU wait for the interpreter.
    """
    import torch
    from torchvision.io import read_file

    if picture.media_type != "image/jpeg":
        return None
    if isinstance(picture.source, bytes):
        data = torch.frombuffer(bytearray(picture.source), dtype=torch.uint8)
    else:
        try:
            data = read_file(str(picture.source))
        except RuntimeError as error:
            raise Unscorable(f"the picture cannot be read ({str(error).splitlines()[0]})") from error
        if sha256(data.numpy()).hexdigest() != picture.digest:
            raise Unscorable("the picture changed since the items were read")
    file = memoryview(data.numpy())
    return data.pin_memory() if _is_decodable(file[:_HEADER]) and bytes(file[-2:]) == b"\xff\xd9" else None


def _is_decodable(head: memoryview) -> bool:
    place = 2
    while place + 9 < len(head) and head[place] == 0xFF:
        kind = head[place + 1]
        if kind == _APPLICATION and bytes(head[place + 4 : place + 8]) == b"Exif":
            return False
        if kind in _FRAMES:
            height, width = int.from_bytes(head[place + 5 : place + 7]), int.from_bytes(head[place + 7 : place + 9])
            return 0 < height * width <= PIXELS and head[place + 9] == 3
        place += 2 if kind in _ALONE else 2 + int.from_bytes(head[place + 2 : place + 4])
    return False


def can_decode_on_gpu() -> bool:
    """Return True if this machine's torchvision decodes JPEGs on a GPU."""
    try:
        import torch
        from torchvision.io import decode_jpeg
    except (ImportError, RuntimeError):  # RuntimeError: torchvision was built for another torch
        return False
    return torch.cuda.is_available() and callable(decode_jpeg)


def decode_on_gpu(files: Sequence[Any], recipe: Recipe, device: Any, dtype: Any) -> Any:
    """Decode JPEG files to pictures of the model's size, colours from 0 to 255. Equal sizes are processed together."""
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg

    images = decode_jpeg(list(files), mode=ImageReadMode.RGB, device=str(device))
    places_by_shape: dict[tuple[int, ...], list[int]] = {}
    for place, image in enumerate(images):
        places_by_shape.setdefault(tuple(image.shape), []).append(place)
    groups = [
        recipe.shrink(torch.stack([images[place] for place in places]).to(colour_dtype(dtype)))
        for places in places_by_shape.values()
    ]
    if len(groups) == 1:
        return groups[0]
    order = [place for places in places_by_shape.values() for place in places]
    image_by_place = dict(zip(order, (image for group in groups for image in group), strict=True))
    return torch.stack([image_by_place[place] for place in range(len(files))])


def colour_dtype(dtype: Any) -> Any:
    """Return the dtype of colour arithmetic for a model's dtype: bfloat16 is too coarse."""
    import torch

    return torch.float32 if dtype == torch.float32 else torch.float16
