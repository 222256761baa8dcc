"""Prices and estimates of tokens."""

from __future__ import annotations

import sys

import pytest

from fullbench.core.picture import Picture
from fullbench.models.chat_model import ChatModel
from fullbench.models.model_prices import is_local, price_of
from fullbench.models.wire.token_estimates import estimate_tokens
from tests.models.conftest import ask, noise


@pytest.mark.parametrize(
    ("model", "url", "price"),
    [
        ("gpt-4o", "https://api.openai.com/v1", (2.5, 10.0)),
        ("claude-sonnet-4-5", "https://api.anthropic.com/v1", (3.0, 15.0)),
        ("no-such-model", "https://api.openai.com/v1", None),
        ("gpt-4o", "https://unheard.example/v1", None),
        ("gpt-4o", "http://127.0.0.1:8000/v1", (0.0, 0.0)),
    ],
)
def test_listed_prices(model, url, price):
    assert price_of(model, url) == price
    assert ChatModel(model, url).price == price
    assert ChatModel(model, url, listed_price=(7.0, 8.0)).price == (7.0, 8.0)


def test_without_the_list_a_price_is_unknown_not_zero(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    price_of.cache_clear()
    assert price_of("gpt-4o", "https://api.openai.com/v1") is None
    price_of.cache_clear()


@pytest.mark.parametrize("url", ["http://localhost", "http://[::1]:80", "http://192.168.1.2:1", "http://gpu.local/v1"])
def test_local(url):
    assert is_local(url)


@pytest.mark.parametrize("url", ["https://example.org", "http://8.8.8.8", "http://localhost.example.org"])
def test_not_local(url):
    assert not is_local(url)


def test_estimates_follow_what_servers_count():
    words = estimate_tokens(ask(1, "The quick brown fox jumps over the lazy dog. " * 40))
    assert 400 < words < 520
    bare = estimate_tokens(ask(1))
    small, large = Picture.from_bytes(noise(300, 300)), Picture.from_bytes(noise(3000, 3000))
    assert estimate_tokens(ask(1, "What is shown?", small)) == bare + 300 * 300 // 750
    assert estimate_tokens(ask(1, "What is shown?", large)) == bare + 1_600
    bitmap = Picture.from_bytes(noise(30, 30, "BMP"))
    assert estimate_tokens(ask(1, "What is shown?", bitmap)) == bare + 1_600
