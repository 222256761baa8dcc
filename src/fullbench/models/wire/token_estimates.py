"""Estimates of the tokens of a prompt before it is sent; the server's own count corrects them.

Most rules for pictures are those that OpenAI, Anthropic, Google, xAI and Qwen publish in their guides to vision. For
GPT-5.2 and later the rules are what people measured, and `rule_source` says so. Models without a known rule get an
estimate: one token for every 750 pixels, at most 1,600.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from math import ceil, floor, sqrt
from typing import Literal

from fullbench.core.model import Prompt
from fullbench.core.picture import Picture
from fullbench.models.model_settings import Sampling
from fullbench.models.wire.image_encoding import Limit, measure_picture
from fullbench.models.wire.media_token_estimates import media_tokens, sound_tokens, text_tokens

# About a picture of 1,000 x 1,200 pixels: an estimate that is rather too high than too low.
UNKNOWN_SIZE = 1_600
Rule = Callable[[int, int], int]
Source = Literal["published", "measured", "unknown"]
"""Source of a rule: the provider, people's measurements, or none."""


def size_tokens(size: tuple[int, int] | None, model: str) -> int:
    """Return the tokens of a picture of this size; `UNKNOWN_SIZE` if the size is not known.

    >>> (size_tokens((1024, 1024), "gpt-4o"), size_tokens((1024, 1024), "gpt-4o-mini"),
    ...  size_tokens((1800, 2400), "gpt-4.1-mini"))
    (765, 25501, 2353)
    >>> (size_tokens((1024, 1024), "gpt-5"), size_tokens((1024, 1024), "gpt-5.2"),
    ...  size_tokens((1920, 1080), "claude-opus-4-7"))
    (630, 1229, 2691)
    """
    return UNKNOWN_SIZE if size is None else _token_rule(model)[0](*size)


def rule_source(model: str) -> Source:
    """Return who states the rule for pictures of this model.

    >>> rule_source("gpt-4o"), rule_source("openai/gpt-5.2"), rule_source("my-own-vlm")
    ('published', 'measured', 'unknown')
    """
    return _token_rule(model)[1]


def _token_rule(model: str) -> tuple[Rule, Source]:
    bare = model.rsplit("/", 1)[-1].lower()
    return next(((rule, who) for pattern, rule, who in RULES if pattern.match(bare)), (_by_area, "unknown"))


def _by_tiles(width: int, height: int, *, base: int, tile: int) -> int:
    """OpenAI: fit into a square of 2,048, shrink the short side to 768, then tiles of 512."""
    width, height = Limit(pixels=2_048).fit((width, height))
    shrink = min(1.0, 768 / min(width, height))
    return base + tile * ceil(width * shrink / 512) * ceil(height * shrink / 512)


def _by_patches(width: int, height: int, *, factor: float, most: int = 1_536, side: int = 32) -> int:
    """OpenAI's small models, and all since GPT-5.2: patches of 32 by 32, at most `most`, times a factor."""
    width, height = Limit(pixels=2_048).fit((width, height))
    patches = ceil(width / side) * ceil(height / side)
    if patches > most:
        shrink = sqrt(side * side * most / (width * height))
        across, down = width * shrink / side, height * shrink / side
        shrink *= min(floor(across) / across, floor(down) / down)
        patches = round(width * shrink / side) * ceil(round(height * shrink / side, 6))
    return ceil(patches * factor)


def _by_squares(width: int, height: int, *, longest: int, most: int) -> int:
    """Claude: shrink the long side to a limit, then squares of 28 by 28, at most `most`."""
    width, height = Limit(pixels=longest).fit((width, height))
    return min(most, ceil(width / 28) * ceil(height / 28))


def _by_large_tiles(width: int, height: int) -> int:
    """Grok: tiles of 448 by 448, at most six, and one more for the whole; 256 tokens each."""
    return 256 * (1 + min(6, ceil(width / 448) * ceil(height / 448)))


def _by_area(width: int, height: int) -> int:
    """Unknown rule: shrink the long side to 1,568, then one token for 750 pixels."""
    width, height = Limit(pixels=1_568).fit((width, height))
    return min(UNKNOWN_SIZE, ceil(width * height / 750))


def _by_crops(width: int, height: int) -> int:
    """Gemini 2: 258 tokens up to 384 by 384, else 258 for each crop with a side between 256 and 768."""
    if max(width, height) <= 384:
        return 258
    crop = min(768, max(256, floor(min(width, height) / 1.5)))
    return 258 * ceil(width / crop) * ceil(height / crop)


def _by_grid(width: int, height: int, *, side: int) -> int:
    """Qwen-VL: one token for each square of `side` pixels, 16,384 at most."""
    return min(16_384, max(4, round(width / side) * round(height / side))) + 2


_MEASURED_RULES = {
    r"gpt-5\.\d+-mini", r"gpt-5\.\d+-nano", r"gpt-5\.[23](?!\d)", r"gpt-5\.4(?!\d)",
    r"gpt-(5\.([5-9]|\d\d)|[6-9]|\d\d)", r"([\w-]+\.)*claude-(opus-4[-.][7-9]|[a-z]+-[5-9]|mythos)", r"grok",
}  # fmt: skip
"""Rules from other people's reports and measurements, not from their providers."""
RULES: tuple[tuple[re.Pattern[str], Rule, Source], ...] = tuple(
    (re.compile(pattern), rule, "measured" if pattern in _MEASURED_RULES else "published")
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
        # These models accept 2,576 pixels, but the dialect sends at most 2,000.
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
"""The first pattern that matches a model's name, in lower case and without the provider, gives its rule."""


def estimate_tokens(prompt: Prompt, model: str = "", sampling: Sampling | None = None) -> int:
    """Estimate the tokens of a prompt: 4 ASCII characters or 1 other per token; pictures and other media by the
    provider's rule (`sampling` has the rate of a video's frames). Media without a known rule count as 0.

    >>> from fullbench.core.item import Turn
    >>> estimate_tokens(Prompt((Turn("user", ("How many cats are there?",)),)))
    10
    """
    total = 0
    for turn in prompt.turns:
        total += 4  # the tokens around each turn
        for part in turn.parts:
            if isinstance(part, str):
                total += text_tokens(part)
            elif isinstance(part, Picture):
                total += size_tokens(measure_picture(part), model)
            else:
                total += media_tokens(part, model, sampling) or 0
    return total


def estimate_sound_tokens(prompt: Prompt, model: str, sampling: Sampling | None = None) -> int:
    """Estimate those tokens of a prompt that are billed as sound."""
    others = (part for turn in prompt.turns for part in turn.media if not isinstance(part, Picture))
    return sum(sound_tokens(part, model, sampling) for part in others)
