"""Tokens of pictures, by the providers' published examples, and prompts beside the bill that such a provider sends."""

from __future__ import annotations

import pytest

from fullbench.models.picture_tokens import tokens
from fullbench.models.tokens import estimate
from fullbench.nouns.item import Turn
from fullbench.nouns.model import Prompt
from fullbench.nouns.picture import Picture
from tests.models.conftest import noise

KNOWN = [
    ("gpt-4o", (1024, 1024), 765), ("gpt-4o-2024-08-06", (2048, 4096), 1105), ("gpt-4o", (128, 64), 255),
    ("gpt-4o-mini", (1024, 1024), 25501), ("gpt-4o-mini", (128, 64), 8500), ("gpt-4.1", (128, 64), 255),
    ("o3", (128, 64), 225), ("o1", (1024, 1024), 675), ("gpt-5", (1024, 1024), 630), ("o4-mini", (128, 64), 14),
    ("gpt-4.1-mini", (1800, 2400), 2353), ("gpt-4.1-nano", (1024, 1024), 2520), ("gpt-4.1-mini", (4000, 1474), 2489),
    ("claude-sonnet-4-5", (1000, 1000), 1334), ("claude-3-opus", (200, 200), 54),
    ("claude-opus-4-1", (4000, 4000), 1600),
    ("gemini-2.5-flash", (384, 384), 258), ("gemini-2.0-flash", (960, 540), 1548), ("gemini-3-pro", (960, 540), 1120),
    ("gpt-5.1", (1024, 1024), 630), ("gpt-5.2", (1024, 1024), 1229), ("gpt-5.3-codex", (4000, 1474), 1844),
    ("gpt-5.4", (1920, 1080), 2448), ("gpt-5.5-pro", (1280, 720), 1104), ("gpt-5.10", (512, 512), 308),
    ("openai/gpt-6", (1920, 1080), 2448), ("gpt-5.4-mini", (1024, 1024), 1659),
    ("claude-opus-4-7", (512, 512), 361), ("us.anthropic.claude-opus-4-7-v1:0", (1920, 1080), 2691),
    ("claude-sonnet-5", (768, 768), 784), ("claude-opus-4-8", (1990, 1990), 4784),
    ("claude-opus-4-6", (4000, 4000), 1600),
    ("qwen2.5-vl-7b", (1120, 1120), 1602), ("openai/gpt-4o", (1024, 1024), 765),
]  # fmt: skip


@pytest.mark.parametrize(("model", "size", "count"), KNOWN)
def test_by_the_providers_own_rule(model, size, count):
    assert tokens(size, model) == count


def test_a_picture_of_unknown_size_is_not_free():
    assert tokens(None, "gpt-4o") > 0


@pytest.mark.parametrize(
    ("model", "billed"),
    [("gpt-4o", 765 + 11), ("gpt-4o-mini", 25501 + 11), ("claude-sonnet-4-5", 1399 + 12), ("gemini-2.5-pro", 1032 + 9)],
)
def test_a_prompt_is_estimated_within_fifteen_per_cent(model, billed):
    prompt = Prompt((Turn("user", (Picture.of(noise(1024, 1024)), "How many cats are there?")),))
    assert estimate(prompt, model) == pytest.approx(billed, rel=0.15)
