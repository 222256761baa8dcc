"""Tokens of pictures, by the providers' published examples, and prompts beside the bill that such a provider sends."""

from __future__ import annotations

import pytest

from fullbench.core.item import Turn
from fullbench.core.model import Prompt
from fullbench.core.picture import Picture
from fullbench.models.wire.token_estimates import estimate_tokens, rule_source, size_tokens
from tests.models.conftest import noise

KNOWN = [
    ("gpt-4o", (1024, 1024), 765), ("gpt-4o-2024-08-06", (2048, 4096), 1105), ("gpt-4o", (128, 64), 255),
    ("gpt-4o-mini", (1024, 1024), 25501), ("gpt-4o-mini", (128, 64), 8500), ("gpt-4.1", (128, 64), 255),
    ("o3", (128, 64), 225), ("o1", (1024, 1024), 675), ("gpt-5", (1024, 1024), 630), ("o4-mini", (128, 64), 14),
    ("gpt-4.1-mini", (1800, 2400), 2353), ("gpt-4.1-nano", (1024, 1024), 2520), ("gpt-4.1-mini", (4000, 1474), 2489),
    ("claude-sonnet-4-5", (1000, 1000), 1296), ("claude-3-opus", (200, 200), 64),
    ("claude-opus-4-1", (4000, 4000), 1568), ("claude-haiku-4-5", (400, 3000), 448),
    ("gemini-2.5-flash", (384, 384), 258), ("gemini-2.0-flash", (960, 540), 1548), ("gemini-3-pro", (960, 540), 1120),
    ("gpt-5.1", (1024, 1024), 630), ("gpt-5.2", (1024, 1024), 1229), ("gpt-5.3-codex", (4000, 1474), 1844),
    ("gpt-5.4", (1920, 1080), 2448), ("gpt-5.5-pro", (1280, 720), 1104), ("gpt-5.10", (512, 512), 308),
    ("openai/gpt-6", (1920, 1080), 2448), ("gpt-5.4-mini", (1024, 1024), 1659),
    ("claude-opus-4-7", (512, 512), 361), ("us.anthropic.claude-opus-4-7-v1:0", (1920, 1080), 2691),
    ("claude-sonnet-5", (768, 768), 784), ("claude-opus-4-8", (1990, 1990), 4784),
    ("claude-opus-4-6", (4000, 4000), 1568), ("anthropic.claude-3-haiku-20240307-v1:0", (28, 29), 2),
    ("grok-4", (448, 448), 512), ("grok-2-vision", (4000, 4000), 1792), ("grok-4", (200, 1800), 1536),
    ("gemini-3-pro", (4000, 30), 1120), ("gemini-2.5-flash", (300, 2000), 4128), ("gpt-4o", (300, 3000), 765),
    ("qwen3-vl-plus", (1024, 1024), 1026), ("my-own-vlm", (1000, 1000), 1334),
    ("qwen2.5-vl-7b", (1120, 1120), 1602), ("openai/gpt-4o", (1024, 1024), 765),
]  # fmt: skip


@pytest.mark.parametrize(("model", "size", "count"), KNOWN)
def test_by_the_providers_own_rule(model, size, count):
    assert size_tokens(size, model) == count


COUNTED = [
    # By count_tokens, in a published comparison: whatever is large comes to about this on Claude before Opus 4.7.
    ("claude-opus-4-6", (1568, 1045), 1_558), ("claude-opus-4-6", (2576, 1717), 1_560),
    ("claude-opus-4-6", (1932, 2576), 1_561),
    # The bill of a picture that OpenAI's own calculator and its rule had otherwise (2,348 and 2,450).
    ("gpt-4.1-mini", (4000, 1474), 2_488),
]  # fmt: skip


@pytest.mark.parametrize(("model", "size", "billed"), COUNTED)
def test_what_others_were_billed(model, size, billed):
    assert size_tokens(size, model) == pytest.approx(billed, rel=0.15)


def test_several_pictures_cost_the_sum_of_each():
    pictures = [Picture.from_bytes(noise(*size)) for size in ((64, 64), (1024, 512), (200, 900))]
    for model in ("gpt-4o", "gpt-5.4", "claude-opus-4-7", "gemini-2.5-pro", "grok-4", "qwen2.5-vl", "unheard-of"):
        alone = [estimate_tokens(Prompt((Turn("user", (picture,)),)), model) - 4 for picture in pictures]
        assert estimate_tokens(Prompt((Turn("user", tuple(pictures)),)), model) == 4 + sum(alone)


@pytest.mark.parametrize(
    ("model", "who"),
    [
        ("gpt-4o", "published"), ("gpt-5.1-mini", "published"), ("gpt-5.2", "measured"), ("gpt-5.4-mini", "measured"),
        ("azure/gpt-6", "measured"), ("claude-opus-4-7", "measured"), ("claude-sonnet-4", "published"),
        ("grok-4", "measured"), ("gemini-3-pro", "published"),
        ("llama-4-maverick", "unknown"),
    ],
)  # fmt: skip
def test_a_rule_says_who_says_so(model, who):
    assert rule_source(model) == who


def test_a_picture_of_unknown_size_is_not_free():
    assert size_tokens(None, "gpt-4o") > 0


@pytest.mark.parametrize(
    ("model", "billed"),
    [("gpt-4o", 765 + 11), ("gpt-4o-mini", 25501 + 11), ("claude-sonnet-4-5", 1369 + 12), ("gemini-2.5-pro", 1032 + 9)],
)
def test_a_prompt_is_estimated_within_fifteen_per_cent(model, billed):
    prompt = Prompt((Turn("user", (Picture.from_bytes(noise(1024, 1024)), "How many cats are there?")),))
    assert estimate_tokens(prompt, model) == pytest.approx(billed, rel=0.15)
