"""How many tokens a prompt will take, before it is sent: a guess that the server's own count corrects."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from math import ceil, floor, sqrt
from typing import Literal

from fullbench.core.model import Prompt
from fullbench.core.picture import Picture
from fullbench.models.wire.image_encoding import Limit, measured

# How many tokens a picture takes, by the rule of the provider whose model looks at it.
#
# Most rules are those that OpenAI, Anthropic, Google, xAI and Qwen publish in their guides to vision. For GPT-5.2 and
# later the rules are what people measured, and `source` says so. Models of which no rule is known are taken to need
# about a token for every 750 pixels, at most 1,600.

UNKNOWN_SIZE = 1_600
Rule = Callable[[int, int], int]
Source = Literal["published", "measured", "unknown"]
"""Who says so: the provider itself, people who counted, or nobody."""


def tokens(size: tuple[int, int] | None, model: str) -> int:
    """What a picture of this size takes; the most of an unknown rule where its size is not known.

    >>> tokens((1024, 1024), "gpt-4o"), tokens((1024, 1024), "gpt-4o-mini"), tokens((1800, 2400), "gpt-4.1-mini")
    (765, 25501, 2353)
    >>> tokens((1024, 1024), "gpt-5"), tokens((1024, 1024), "gpt-5.2"), tokens((1920, 1080), "claude-opus-4-7")
    (630, 1229, 2691)
    """
    return UNKNOWN_SIZE if size is None else _rule(model)[0](*size)


def source(model: str) -> Source:
    """Who says what a picture takes when this model looks at it.

    >>> source("gpt-4o"), source("openai/gpt-5.2"), source("my-own-vlm")
    ('published', 'measured', 'unknown')
    """
    return _rule(model)[1]


def _rule(model: str) -> tuple[Rule, Source]:
    bare = model.rsplit("/", 1)[-1].lower()
    return next(((rule, who) for pattern, rule, who in RULES if pattern.match(bare)), (_by_area, "unknown"))


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


def _by_squares(width: int, height: int, *, longest: int, most: int) -> int:
    """Claude: the long side down to a limit, then squares of 28 by 28, so many of them at most."""
    width, height = Limit(pixels=longest).fit((width, height))
    return min(most, ceil(width / 28) * ceil(height / 28))


def _by_large_tiles(width: int, height: int) -> int:
    """Grok: tiles of 448 by 448, six of them at most, and one more for the whole; 256 tokens each."""
    return 256 * (1 + min(6, ceil(width / 448) * ceil(height / 448)))


def _by_area(width: int, height: int) -> int:
    """Where nobody says: the long side down to 1,568, then a token for 750 pixels."""
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


_MEASURED = {
    r"gpt-5\.\d+-mini", r"gpt-5\.\d+-nano", r"gpt-5\.[23](?!\d)", r"gpt-5\.4(?!\d)",
    r"gpt-(5\.([5-9]|\d\d)|[6-9]|\d\d)", r"([\w-]+\.)*claude-(opus-4[-.][7-9]|[a-z]+-[5-9]|mythos)", r"grok",
}  # fmt: skip
"""The rules for which we have other people's word and measurements, not their providers'."""
RULES: tuple[tuple[re.Pattern[str], Rule, Source], ...] = tuple(
    (re.compile(pattern), rule, "measured" if pattern in _MEASURED else "published")
    for pattern, rule in (
        (r"gpt-4o-mini", partial(_by_tiles, base=2_833, tile=5_667)),
        (r"gpt-4\.1-mini|gpt-5(\.1)?-mini", partial(_by_patches, factor=1.62)),
        (r"gpt-4\.1-nano|gpt-5(\.1)?-nano", partial(_by_patches, factor=2.46)),
        (r"gpt-5\.\d+-mini", partial(_by_patches, factor=1.62)),
        (r"gpt-5\.\d+-nano", partial(_by_patches, factor=2.46)),
        (r"o4-mini", partial(_by_patches, factor=1.72)),
        (r"o[13](-|$)", partial(_by_tiles, base=75, tile=150)),
        (r"gpt-5\.[23](?!\d)", partial(_by_patches, factor=1.2)),
        (r"gpt-5\.4(?!\d)", partial(_by_patches, factor=1.2, most=2_500)),
        (r"gpt-(5\.([5-9]|\d\d)|[6-9]|\d\d)", partial(_by_patches, factor=1.2, most=10_000)),
        (r"gpt-5", partial(_by_tiles, base=70, tile=140)),
        (r"(chat)?gpt-4", partial(_by_tiles, base=85, tile=170)),
        # No side is sent longer than 2,000 pixels, though these look at 2,576.
        (
            r"([\w-]+\.)*claude-(opus-4[-.][7-9]|[a-z]+-[5-9]|mythos)",
            partial(_by_squares, longest=2_000, most=4_784),
        ),
        (r"([\w-]+\.)*claude", partial(_by_squares, longest=1_568, most=1_568)),
        (r"gemini-[3-9]", lambda _width, _height: 1_120),
        (r"gemini", _by_crops),
        (r"grok", _by_large_tiles),
        (r"qwen3.*vl", partial(_by_grid, side=32)),
        (r"qwen.*vl", partial(_by_grid, side=28)),
        (r"llava-?1\.5|llava-v1\.5", lambda _width, _height: 576),
    )
)
"""The first that fits a model's name, in lower case and without the provider's, is its rule."""


def estimate(prompt: Prompt, model: str = "") -> int:
    """About how many tokens a prompt takes: four letters of plain text, one or two of other scripts; pictures by the
    rule of the model's provider.

    >>> from fullbench.core.item import Turn
    >>> estimate(Prompt((Turn("user", ("How many cats are there?",)),)))
    10
    """
    total = 0
    for turn in prompt.turns:
        total += 4
        for part in turn.parts:
            total += words(part) if isinstance(part, str) else picture(part, model)
    return total


def words(text: str) -> int:
    """About how many tokens a text takes.

    >>> words("a" * 400), words("图" * 100)
    (100, 100)
    """
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // 4) + len(text) - plain


def picture(picture: Picture, model: str = "") -> int:
    """About how many tokens a picture takes when this model looks at it."""
    return tokens(measured(picture), model)
