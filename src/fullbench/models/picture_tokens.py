"""How many tokens a picture takes, by the rule of the provider whose model looks at it.

The rules are those that OpenAI, Anthropic, Google and Qwen publish in their guides to vision; models that none of them
is known for take about a token for every 750 pixels, at most 1,600.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from math import ceil, floor, sqrt

from fullbench.models.pictures import Limit

UNKNOWN_SIZE = 1_600
Rule = Callable[[int, int], int]


def tokens(size: tuple[int, int] | None, model: str) -> int:
    """What a picture of this size takes; the most of an unknown rule where its size is not known.

    >>> tokens((1024, 1024), "gpt-4o"), tokens((1024, 1024), "gpt-4o-mini"), tokens((1800, 2400), "gpt-4.1-mini")
    (765, 25501, 2353)
    >>> tokens((1024, 1024), "gpt-5"), tokens((1024, 1024), "gpt-5.2"), tokens((1920, 1080), "claude-opus-4-7")
    (630, 1229, 2691)
    """
    if size is None:
        return UNKNOWN_SIZE
    bare = model.rsplit("/", 1)[-1].lower()
    rule = next((rule for pattern, rule in RULES if pattern.match(bare)), _by_area)
    return rule(*size)


def _by_tiles(width: int, height: int, *, base: int, tile: int) -> int:
    """OpenAI: into a square of 2,048, the short side down to 768, then tiles of 512."""
    width, height = Limit(pixels=2_048).fit((width, height))
    shrink = min(1.0, 768 / min(width, height))
    return base + tile * ceil(width * shrink / 512) * ceil(height * shrink / 512)


def _by_patches(width: int, height: int, *, factor: float, most: int = 1_536, side: int = 32) -> int:
    """OpenAI's small models, and all since GPT-5.2: patches of 32 by 32, so many of them at most, and a factor."""
    width, height = Limit(pixels=2_048).fit((width, height))
    patches = ceil(width / side) * ceil(height / side)
    if patches > most:
        shrink = sqrt(side * side * most / (width * height))
        across, down = width * shrink / side, height * shrink / side
        shrink *= min(floor(across) / across, floor(down) / down)
        patches = round(width * shrink / side) * ceil(round(height * shrink / side, 6))
    return ceil(patches * factor)


def _by_squares(width: int, height: int) -> int:
    """Claude since Opus 4.7: squares of 28 by 28, 4,784 of them at most; no side is sent longer than 2,000 pixels."""
    width, height = Limit(pixels=2_000).fit((width, height))
    return min(4_784, ceil(width / 28) * ceil(height / 28))


def _by_area(width: int, height: int) -> int:
    """Claude before that: the long side down to 1,568, then a token for 750 pixels."""
    width, height = Limit(pixels=1_568).fit((width, height))
    return min(UNKNOWN_SIZE, ceil(width * height / 750))


def _by_crops(width: int, height: int) -> int:
    """Gemini 2: 258 tokens up to 384 by 384, else for each crop of a side between 256 and 768."""
    if max(width, height) <= 384:
        return 258
    crop = min(768, max(256, floor(min(width, height) / 1.5)))
    return 258 * ceil(width / crop) * ceil(height / crop)


def _by_grid(width: int, height: int, *, side: int) -> int:
    """Qwen-VL: a token for each square of so many pixels, 16,384 at most."""
    return min(16_384, max(4, round(width / side) * round(height / side))) + 2


RULES: tuple[tuple[re.Pattern[str], Rule], ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (r"gpt-4o-mini", partial(_by_tiles, base=2_833, tile=5_667)),
        (r"gpt-4\.1-mini|gpt-5(\.\d+)?-mini", partial(_by_patches, factor=1.62)),
        (r"gpt-4\.1-nano|gpt-5(\.\d+)?-nano", partial(_by_patches, factor=2.46)),
        (r"o4-mini", partial(_by_patches, factor=1.72)),
        (r"o[13](-|$)", partial(_by_tiles, base=75, tile=150)),
        (r"gpt-5\.[23](?!\d)", partial(_by_patches, factor=1.2)),
        (r"gpt-5\.4(?!\d)", partial(_by_patches, factor=1.2, most=2_500)),
        (r"gpt-(5\.([5-9]|\d\d)|[6-9]|\d\d)", partial(_by_patches, factor=1.2, most=10_000)),
        (r"gpt-5", partial(_by_tiles, base=70, tile=140)),
        (r"(chat)?gpt-4", partial(_by_tiles, base=85, tile=170)),
        (r"([\w-]+\.)*claude-(opus-4[-.][7-9]|[a-z]+-[5-9]|mythos)", _by_squares),
        (r"gemini-[3-9]", lambda _width, _height: 1_120),
        (r"gemini", _by_crops),
        (r"qwen3.*vl", partial(_by_grid, side=32)),
        (r"qwen.*vl", partial(_by_grid, side=28)),
        (r"llava-?1\.5|llava-v1\.5", lambda _width, _height: 576),
    )
)
"""The first that fits a model's name, in lower case and without the provider's, is its rule."""
