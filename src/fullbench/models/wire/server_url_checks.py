"""Checks of server and proxy addresses before any request."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from fullbench.errors import InputError


def check_url(model: str, url: str) -> None:
    """Raise if the URL of a model is malformed."""
    if (fault := fault_of(url)) is not None:
        raise InputError(f"the URL of {model!r} {fault}")


def fault_of(url: str) -> str | None:
    """Return why an address cannot be a server's and how to write it, or None if it can.

    >>> fault_of("http://[::1]:8000/v1"), fault_of("localhost:8000")
    (None, 'must begin with http:// or https:// and name a server')
    >>> fault_of("http://host:99999/v1"), fault_of("http://::1:8000/v1")[:21]
    ('has no port that can be: 0 to 65535, after the last colon', 'has an address of IPv')
    """
    if re.search(r"\s", url):
        return "holds a space; leave it out, or write %20 within a path"
    brackets = "has an address of IPv6, which stands in brackets: http://[::1]:8000/v1"
    try:
        parts = urlsplit(url)
        host, name = parts.netloc.rpartition("@")[2], parts.hostname
    except ValueError:
        return brackets
    if parts.scheme in {"http", "https"} and host.count(":") > 1 and not host.startswith("["):
        return brackets
    if parts.scheme not in {"http", "https"} or not name:
        return "must begin with http:// or https:// and name a server"
    try:
        _ = parts.port
    except ValueError:
        return "has no port that can be: 0 to 65535, after the last colon"
    return None
