"""Proxies for requests, from the environment."""

from __future__ import annotations

from urllib.parse import urlsplit

from fullbench.errors import ModelError
from fullbench.models.model_prices import is_local
from fullbench.models.wire.server_url_checks import fault_of


def proxy_for(url: str) -> str | None:
    """Return the environment's proxy for an address, or None. Keep the result: a lookup for every call is slow."""
    if is_local(url):
        return None
    from urllib.request import getproxies, proxy_bypass  # late: it imports a client and a parser of mails

    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    proxy_key = parts.scheme if parts.scheme in proxies else "all"
    proxy = proxies.get(proxy_key)
    if proxy is not None and proxy.startswith("socks"):
        raise ModelError(
            f"{proxy_key}_proxy names a SOCKS proxy, which is not supported. Set an HTTP proxy in "
            f"{parts.scheme}_proxy, or use none for this host: no_proxy={parts.hostname}"
        )
    if proxy is not None and (fault := fault_of(proxy if "://" in proxy else f"http://{proxy}")) is not None:
        # The value may contain a password, so the error does not show it.
        raise ModelError(f"the proxy that {proxy_key}_proxy names {fault}; fix the variable, or unset it")
    return proxy
