"""Servers and prompts that the tests of this folder share."""

from __future__ import annotations

import random
from collections.abc import Iterator
from io import BytesIO

import pytest
from PIL import Image

from fullbench.core.item import Turn
from fullbench.core.model import Prompt
from fullbench.core.picture import Picture
from tests.support.fake_chat_server import FakeServer


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    """A server that behaves."""
    with FakeServer() as server:
        yield server


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FULLBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def ask(number: int, words: str = "What is shown?", *pictures: Picture, **rest) -> Prompt:
    """A prompt that the fake server knows by its number."""
    return Prompt((Turn("user", (*pictures, f"{words} #{number}")),), **rest)


def noise(width: int, height: int, form: str = "JPEG", seed: int = 0, mode: str = "RGB", **options) -> bytes:
    """A picture of coarse noise."""
    small = Image.frombytes("RGB", (16, 16), random.Random(seed).randbytes(768))
    out = BytesIO()
    small.resize((width, height), Image.Resampling.BICUBIC).convert(mode).save(out, form, **options)
    return out.getvalue()
