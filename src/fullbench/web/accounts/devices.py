"""Browsers in which somebody signed in before: a cookie says so, signed for each name, and opens no door by itself.

It only decides against what a failure to sign in counts: see `limits`.
"""

from __future__ import annotations

import hmac
import re
import secrets

from fullbench.web.accounts.secrets import signed

COOKIE = "fullbench_device"
MOST = 8
"""Names that one browser is known for; of more, the last ones."""
_SHAPE = re.compile(r"(?P<device>[0-9a-f]{32})(?P<names>(?:\.[0-9a-f]{64}){1,8})")


def known(key: bytes, cookie: str, name: str) -> str:
    """The browser's own id where this name signed in there before; else nothing."""
    device, signatures = _read(cookie)
    wanted = signed(key, "device", device, name)
    return device if any(hmac.compare_digest(wanted, signature) for signature in signatures) else ""


def remembered(key: bytes, cookie: str, name: str) -> str:
    """The cookie with which the browser is known for this name as well, and for those that it was known for."""
    device, signatures = _read(cookie)
    device = device or secrets.token_hex(16)
    own = signed(key, "device", device, name)
    listed = [signature for signature in signatures if signature != own]
    return ".".join((device, *listed[-(MOST - 1) :], own))


def _read(cookie: str) -> tuple[str, list[str]]:
    match = _SHAPE.fullmatch(cookie)
    return ("", []) if match is None else (match["device"], match["names"].split(".")[1:])
