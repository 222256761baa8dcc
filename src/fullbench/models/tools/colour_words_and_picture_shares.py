"""Colours: those that a text names, and the share of a picture that each one fills."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image

HUES: Mapping[str, tuple[float, float]] = {
    "red": (340, 15), "orange": (15, 40), "yellow": (40, 68), "green": (68, 165), "blue": (165, 255),
    "purple": (255, 300), "pink": (300, 340),
}  # fmt: skip
"""Range of hues of each colour, in degrees."""
_WORDS: Mapping[str, str] = {
    "red": "red|红", "orange": "orange|橙", "yellow": "yellow|golden|黄", "green": "green|绿", "blue": "blue|azure|蓝",
    "purple": "purple|violet|紫", "pink": "pink|粉", "black": "black|黑", "white": "white|白", "grey": "gr[ae]y|灰",
}  # fmt: skip
_NAMES = re.compile("|".join(rf"(?P<{name}>(?:\b(?=[a-z])|(?![a-z]))(?:{words}))" for name, words in _WORDS.items()))
LEAST = 0.0015
"""Least share of a picture that a colour must fill to count."""


def colours_named(text: str) -> frozenset[str]:
    """Return the colours that a text names, in English or Chinese.

    >>> sorted(colours_named("Two red stars beside a blue one; 还有绿色的圆形。"))
    ['blue', 'green', 'red']
    """
    return frozenset(match.lastgroup for match in _NAMES.finditer(text.lower()) if match.lastgroup)


def colour_shares(image: Image) -> dict[str, float]:
    """Return the share of the picture that each colour fills, for shares of at least `LEAST`."""
    import numpy as np

    small = image.convert("RGB")
    small.thumbnail((160, 160))
    hue, vivid, bright = np.asarray(small.convert("HSV"), dtype=np.float64).reshape(-1, 3).T
    degrees, vivid, bright = hue * 360 / 255, vivid / 255, bright / 255
    colour_mask = (vivid > 0.3) & (bright > 0.25)
    shares = {
        name: float((colour_mask & _hue_mask(degrees, *span)).mean()) for name, span in HUES.items()
    } | {
        "black": float((bright <= 0.25).mean()),
        "white": float(((vivid < 0.12) & (bright > 0.85)).mean()),
        "grey": float(((vivid < 0.15) & (bright > 0.25) & (bright <= 0.85)).mean()),
    }  # fmt: skip
    return {name: round(share, 4) for name, share in shares.items() if share >= LEAST}


def _hue_mask(degrees: np.ndarray[Any, np.dtype[np.float64]], begin: float, end: float) -> Any:
    return (degrees >= begin) & (degrees < end) if begin < end else (degrees >= begin) | (degrees < end)


class Colours:
    """Tool that notes colours; it needs only the pixels."""

    name = "colours"
    version = "hues 1"

    def look(self, image: Image) -> dict[str, float]:
        return colour_shares(image)
