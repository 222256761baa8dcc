"""Proxies between us and servers, as the environment names them."""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from fullbench.errors import ModelError
from fullbench.models.model_prices import is_local
from fullbench.models.wire.server_urls import fault_of


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for this address; looked up once, since every call would cost."""
    parts = urlsplit(url)
    if is_local(url) or proxy_bypass(parts.hostname or ""):
        return None
    named = getproxies()
    which = parts.scheme if parts.scheme in named else "all"
    proxy = named.get(which)
    if proxy is not None and proxy.startswith("socks"):
        raise ModelError(
            f"{which}_proxy names a proxy that speaks SOCKS, which is not spoken here; name one that speaks HTTP in "
            f"{parts.scheme}_proxy, or ask without one: no_proxy={parts.hostname}"
        )
    if proxy is not None and (fault := fault_of(proxy if "://" in proxy else f"http://{proxy}")) is not None:
        # What stands there may hold a password, and is not shown.
        raise ModelError(f"the proxy that {which}_proxy names {fault}; mend the variable, or unset it")
    return proxy
