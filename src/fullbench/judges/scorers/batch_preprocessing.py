"""What a processor does to pictures, done on whole batches; and pictures decoded on the GPU.

Decoding with Pillow feeds a large score model at a fraction of its pace; the card's own JPEG decoder does not. Pixels
differ from Pillow's by rounding, so a judge that decodes there has another name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from fullbench.core.picture import Picture
from fullbench.errors import Unscorable
from fullbench.judges.scorers.decoded_pictures import PIXELS

if TYPE_CHECKING:
    from PIL.Image import Image

_HEADER = 65536
_FRAMES = {0xC0, 0xC1, 0xC2}
_APPLICATION = 0xE1
_ALONE = {0x01, *range(0xD0, 0xDA)}


@dataclass(frozen=True)
class Recipe:
    """What a processor does to a picture: the length of its shorter side, the crop, mean and deviation of colours."""

    side: int
    crop: int
    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @classmethod
    def of(cls, processor: Any) -> Recipe | None:
        """The recipe of an image processor of transformers; None for one that does something else as well."""
        size = dict(processor.size or {})
        crop = dict(getattr(processor, "crop_size", None) or {})
        usual = processor.do_resize and processor.do_rescale and processor.do_normalize and processor.resample == 3
        square = crop.get("height") == crop.get("width")
        if not usual or set(size) != {"shortest_edge"} or not getattr(processor, "do_center_crop", False) or not square:
            return None
        return cls(size["shortest_edge"], crop["height"], tuple(processor.image_mean), tuple(processor.image_std))

    def size(self, height: int, width: int) -> tuple[int, int]:
        """Height and width once the shorter side has its length."""
        short, long = sorted((height, width))
        grown = int(self.side * long / short)
        return (self.side, grown) if height <= width else (grown, self.side)

    def corner(self, height: int, width: int) -> tuple[int, int]:
        """Top and left of the crop in the middle."""
        return (height - self.crop) // 2, (width - self.crop) // 2

    def cut(self, image: Image) -> Any:
        """A picture of Pillow's at the model's size, as bytes of colour: rows, columns, colours, as they lie there."""
        import numpy as np
        from PIL.Image import Resampling

        height, width = self.size(image.height, image.width)
        small = image.resize((width, height), Resampling.BICUBIC)
        if (height, width) != (self.crop, self.crop):
            top, left = self.corner(height, width)
            small = small.crop((left, top, left + self.crop, top + self.crop))
        return np.array(small)

    def colours(self, batch: Any, dtype: Any) -> Any:
        """Bytes of colour as the model wants them."""
        import torch

        mean = torch.tensor(self.mean, device=batch.device)[:, None, None]
        deviation = torch.tensor(self.deviation, device=batch.device)[:, None, None]
        return ((batch.float() / 255 - mean) / deviation).to(dtype)

    def shrink(self, batch: Any) -> Any:
        """Pictures of one size at the model's size and cut, by two matrix products."""
        height, width = batch.shape[-2:]
        size = self.size(height, width)
        top, left = self.corner(*size)
        down = _weights(height, size[0])[top : top + self.crop].to(batch)
        across = _weights(width, size[1])[left : left + self.crop].to(batch)
        return (down @ (batch @ across.T)).clamp(0, 255)


@lru_cache(maxsize=64)
def _weights(length: int, size: int) -> Any:
    """How much each of so many rows counts in each row of the resized picture, by torch's way that follows Pillow's."""
    import torch
    from torch.nn.functional import interpolate

    rows = torch.eye(length)[None, None]
    return interpolate(rows, size=(size, length), mode="bicubic", antialias=True)[0, 0]


class Rounded(Recipe):
    """A recipe whose crop lies where torchvision puts it: an odd pixel is rounded, where transformers cuts it off."""

    def corner(self, height: int, width: int) -> tuple[int, int]:
        return round((height - self.crop) / 2), round((width - self.crop) / 2)


def plain_jpeg(picture: Picture) -> Any | None:
    """The file of a JPEG that the card decodes as Pillow would, as a tensor of bytes that it can fetch; else None.

    It must be whole, upright, in three colours and not too large. It is read in one step and checked in another:
    every step more is a moment in which the thread that feeds the card has to wait for the interpreter.
    """
    import torch
    from torchvision.io import read_file

    if picture.media != "image/jpeg":
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
    return data.pin_memory() if _decodable(file[:_HEADER]) and bytes(file[-2:]) == b"\xff\xd9" else None


def _decodable(head: memoryview) -> bool:
    """Whether the beginning of a JPEG names three colours, no turning, and a size that is read."""
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


def available() -> bool:
    """Whether this machine's torchvision decodes JPEGs on a GPU."""
    try:
        import torch
        from torchvision.io import decode_jpeg
    except (ImportError, RuntimeError):  # torchvision of another build than torch raises the second
        return False
    return torch.cuda.is_available() and callable(decode_jpeg)


def pixels(files: Sequence[Any], recipe: Recipe, device: Any, dtype: Any) -> Any:
    """JPEG files as pictures of the model's size, colours from 0 to 255; those of one size are worked on together."""
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg

    decoded = decode_jpeg(list(files), mode=ImageReadMode.RGB, device=str(device))
    alike: dict[tuple[int, ...], list[int]] = {}
    for place, image in enumerate(decoded):
        alike.setdefault(tuple(image.shape), []).append(place)
    groups = [
        recipe.shrink(torch.stack([decoded[place] for place in places]).to(fine(dtype))) for places in alike.values()
    ]
    if len(groups) == 1:
        return groups[0]
    order = [place for places in alike.values() for place in places]
    seen = dict(zip(order, (image for group in groups for image in group), strict=True))
    return torch.stack([seen[place] for place in range(len(files))])


def fine(dtype: Any) -> Any:
    """The type that colours are worked out in for a model of a type: bfloat16 is too coarse for them."""
    import torch

    return torch.float32 if dtype == torch.float32 else torch.float16
