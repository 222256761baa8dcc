"""Pictures decoded on the GPU: a processor's resizing, cropping and normalising, done there on whole batches.

Decoding with Pillow feeds a large score model at a fraction of its pace; the card's own JPEG decoder does not. Pixels
differ from Pillow's by rounding, so a judge that decodes there has another name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fullbench.core.pictures import Picture
from fullbench.judges.scorers.pictures import PIXELS

_HEADER = 65536
_FRAMES = {0xC0, 0xC1, 0xC2}
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


def plain_jpeg(picture: Picture) -> bytes | None:
    """The bytes of a JPEG that the card decodes as Pillow would: upright, three colours, not too large; else None."""
    if picture.media != "image/jpeg":
        return None
    data = picture.data()
    head, place = data[:_HEADER], 2
    if b"Exif" in head:
        return None
    while place + 9 < len(head) and head[place] == 0xFF:
        kind = head[place + 1]
        if kind in _FRAMES:
            height, width = int.from_bytes(head[place + 5 : place + 7]), int.from_bytes(head[place + 7 : place + 9])
            whole = data.endswith(b"\xff\xd9") and 0 < height * width <= PIXELS
            return data if whole and head[place + 9] == 3 else None
        place += 2 if kind in _ALONE else 2 + int.from_bytes(head[place + 2 : place + 4])
    return None


def available() -> bool:
    """Whether this machine's torchvision decodes JPEGs on a GPU."""
    import torch

    if not torch.cuda.is_available():
        return False
    try:
        from torchvision.io import decode_jpeg
    except (ImportError, RuntimeError):
        return False
    return callable(decode_jpeg)


def pixels(files: Sequence[bytes], recipe: Recipe, device: Any, dtype: Any) -> Any:
    """A batch of JPEG files as the model's pixels."""
    import torch
    from torch.nn.functional import interpolate
    from torchvision.io import ImageReadMode, decode_jpeg

    raw = [torch.frombuffer(bytearray(file), dtype=torch.uint8) for file in files]
    seen = []
    for image in decode_jpeg(raw, mode=ImageReadMode.RGB, device=str(device)):
        height, width = image.shape[-2:]
        scale = recipe.side / min(height, width)
        size = (max(recipe.side, int(height * scale)), max(recipe.side, int(width * scale)))
        small = interpolate(image[None].to(dtype), size=size, mode="bicubic", antialias=True)[0]
        top, left = (size[0] - recipe.crop) // 2, (size[1] - recipe.crop) // 2
        seen.append(small[:, top : top + recipe.crop, left : left + recipe.crop])
    batch = torch.stack(seen).clamp(0, 255) / 255
    mean, deviation = (
        torch.tensor(v, device=device, dtype=dtype)[:, None, None] for v in (recipe.mean, recipe.deviation)
    )
    return (batch - mean) / deviation
