"""Conversion between pictures and tensors."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from fullbench.core.picture import Picture
from fullbench.picture_flattening_and_orientation import encode_image, flatten_to_rgb


def png_of(pixels: Any) -> bytes:
    """Return planes from -1 to 1 as a PNG file."""
    from PIL import Image

    planes = ((pixels.float().cpu() + 1) * 127.5).round().clamp(0, 255).byte()
    return encode_image(Image.fromarray(planes.permute(1, 2, 0).numpy()))


def pixels_of(picture: Picture) -> Any:
    """Return a picture as planes from -1 to 1."""
    import numpy as np
    import torch
    from PIL import Image

    with Image.open(BytesIO(picture.data())) as image:
        values = np.asarray(flatten_to_rgb(image), dtype=np.float32)
    return torch.from_numpy(values.copy()).permute(2, 0, 1) / 127.5 - 1
