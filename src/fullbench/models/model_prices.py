"""Model prices in dollars per million tokens, in and out. An unknown price is None, never zero."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

Price = tuple[float, float]
Shares = tuple[float, float]
"""Price of a token read from a cache and of one written to it; a fresh token costs 1."""
FRESH: Shares = (1.0, 1.0)


def is_local(url: str) -> bool:
    """Return True for this machine or a private address, which need no key and cost nothing.

    >>> is_local("http://localhost:8000/v1"), is_local("http://10.0.0.7/v1"), is_local("https://api.openai.com/v1")
    (True, True, False)
    """
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_private


def shares_at(price: Price | None, cached_price: float | None) -> Shares:
    """Return the cache shares for a given price of cached tokens. Writing to the cache costs as much as fresh tokens.

    >>> shares_at((2.0, 8.0), 0.5), shares_at((2.0, 8.0), None), shares_at(None, 0.5)
    ((0.25, 1.0), (1.0, 1.0), (1.0, 1.0))
    """
    return FRESH if not price or not price[0] or cached_price is None else (cached_price / price[0], 1.0)


@lru_cache(maxsize=1024)
def price_of(model: str, url: str, provider: str = "") -> Price | None:
    """Return the list price of a model at a server or provider, or None if it is unlisted or the list is missing.
    The list comes with the extra `prices`. If long prompts cost more, this is the price of short ones.
    """
    if url and is_local(url):
        return (0.0, 0.0)
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    thousand = 1_000
    where = _price_source(url, provider)
    try:
        into = calc_price(Usage(input_tokens=thousand), model, **where)
        out = calc_price(Usage(output_tokens=thousand), model, **where)
    except (LookupError, ValueError):
        return None
    return float(into.total_price) * thousand, float(out.total_price) * thousand


@lru_cache(maxsize=1024)
def cache_shares(model: str, url: str, provider: str = "") -> Shares:
    """Return the list price of cached tokens as shares; 1 if unlisted, so that no bill is too low."""
    if url and is_local(url):
        return FRESH
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return FRESH
    thousand = 1_000
    where = _price_source(url, provider)
    usages = (Usage(input_tokens=thousand, cache_read_tokens=thousand),
              Usage(input_tokens=thousand, cache_write_tokens=thousand))  # fmt: skip
    try:
        fresh = calc_price(Usage(input_tokens=thousand), model, **where).total_price
        read, write = (float(calc_price(usage, model, **where).total_price / fresh) for usage in usages)
    except (ArithmeticError, LookupError, ValueError):
        return FRESH
    return read, write


@lru_cache(maxsize=1024)
def audio_share(model: str, url: str, provider: str = "") -> float:
    """Return the list price of a token of sound as a share of that of a token of text; 1 if unlisted."""
    if url and is_local(url):
        return 1.0
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return 1.0
    thousand = 1_000
    where = _price_source(url, provider)
    try:
        text = calc_price(Usage(input_tokens=thousand), model, **where).total_price
        sound = calc_price(Usage(input_tokens=thousand, input_audio_tokens=thousand), model, **where).total_price
        return float(sound / text)
    except (ArithmeticError, LookupError, ValueError):
        return 1.0


def _price_source(url: str, provider: str) -> dict[str, Any]:
    return {"provider_id": provider} if provider else {"provider_api_url": url}
