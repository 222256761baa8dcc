"""Small pictures for the tests of scorers."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from PIL import Image

from fullbench import Case, Choice, Item, Picture, Response
from fullbench.core.ballot import Ballot


def texture(seed: int = 0, side: int = 64) -> Image.Image:
    """A smooth but lively picture."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (side // 8, side // 8, 3), dtype=np.uint8))
    return coarse.resize((side, side), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, kind: str = "PNG", **options) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def picture(image: Image.Image, kind: str = "PNG", **options) -> Picture:
    return Picture.from_bytes(encoded(image, kind, **options))


def case(*pictures: Picture, ballot: Ballot | None = None, item: str = "i", prompt: str = "a scene") -> Case:
    responses = tuple(Response(item, f"c{place}", (picture,)) for place, picture in enumerate(pictures))
    return Case(Item.ask(item, prompt), responses, ballot or Choice())
