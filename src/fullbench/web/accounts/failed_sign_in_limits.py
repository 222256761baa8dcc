"""Limits on failed sign-ins, counted in the database so that all workers share them.

Nobody can lock somebody else out. Failures count per name and address, per address, and, with a far higher limit,
per name. A browser in which the person signed in before has its own count, whatever others do to the name or from
the same address. Only digests are stored. An attempt is recorded before the password is verified, so that parallel
attempts cannot bypass the limit. It is deleted when the sign-in succeeds.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from ipaddress import IPv6Address, ip_address, ip_network

from sqlalchemy import Connection, delete, func, insert, select

from fullbench.web.accounts.account_and_shared_site_tables import attempts
from fullbench.web.accounts.random_ids_digests_and_site_key import sign_parts

# Seconds that a failure counts. Short, so that a person who mistyped a password need not ask anybody for help.
WINDOW = 15 * 60.0
PAIR_LIMIT = 10
"""Failures of one name from one address, or from a browser in which it signed in before."""
# Higher than for one name: a whole laboratory may share one address.
ADDRESS_LIMIT = 60
NAME_LIMIT = 300
"""Failures of one name from everywhere: more come from a guessing machine, not from a person."""


def record_attempt(connection: Connection, key: bytes, name: str, address: str, device: str = "") -> None:
    """Record an attempt. Commit before you call `is_attempt_allowed`."""
    now = time.time()
    connection.execute(delete(attempts).where(attempts.c.at < now - WINDOW))
    limits = _attempt_limits(key, name, address, device)
    connection.execute(insert(attempts), [{"key": attempt_key, "at": now} for attempt_key in limits])


def is_attempt_allowed(connection: Connection, key: bytes, name: str, address: str, device: str = "") -> bool:
    """Return True if every counter of this attempt is within its limit."""
    limits = _attempt_limits(key, name, address, device)
    return all(_count_attempts(connection, attempt_key) <= limit for attempt_key, limit in limits.items())


def _count_attempts(connection: Connection, attempt_key: str) -> int:
    recent = select(func.count()).select_from(attempts)
    cursor = connection.execute(recent.where(attempts.c.key == attempt_key, attempts.c.at >= time.time() - WINDOW))
    return int(cursor.scalar_one())


def clear_attempts(connection: Connection, key: bytes, name: str, address: str, device: str = "") -> None:
    """Clear the person's failures from this address or browser, and only this attempt from broader counters."""
    first, *broader_keys = _attempt_limits(key, name, address, device)
    connection.execute(delete(attempts).where(attempts.c.key == first))
    for attempt_key in broader_keys:
        latest = select(func.max(attempts.c.id)).where(attempts.c.key == attempt_key).scalar_subquery()
        connection.execute(delete(attempts).where(attempts.c.id == latest))


def _attempt_limits(key: bytes, name: str, address: str, device: str) -> dict[str, int]:
    """Limit of each counter, narrowest counter first."""
    if device:
        return {sign_parts(key, "attempt by device", name, device): PAIR_LIMIT}
    here = address_group(address)
    return {
        sign_parts(key, "attempt by name and address", name, here): PAIR_LIMIT,
        sign_parts(key, "attempt by address", here): ADDRESS_LIMIT,
        sign_parts(key, "attempt by name", name): NAME_LIMIT,
    }


def address_group(address: str) -> str:
    """Return the address to count under: the /64 network for IPv6, since one machine can use all of it.

    >>> address_group("2001:db8::1") == address_group("2001:db8::ffff"), address_group("192.0.2.7")
    (True, '192.0.2.7')
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((address, 64), strict=False)) if isinstance(ip, IPv6Address) else address


# The device cookie lists the names that signed in with this browser, each signed. It grants no access by itself:
# it only selects the counter for failures (see the module docstring).

COOKIE = "fullbench_device"
MOST = 8
"""Names stored per browser; of more, the last ones."""
# The upper bound of the repetition is MOST.
_SHAPE = re.compile(r"(?P<device>[0-9a-f]{32})(?P<names>(?:\.[0-9a-f]{64}){1,8})")


def known_device(key: bytes, cookie: str, name: str) -> str:
    """Return the browser's id if this name signed in there before, else an empty string."""
    device, signatures = _parse_device_cookie(cookie)
    expected_signature = sign_parts(key, "device", device, name)
    return device if any(hmac.compare_digest(expected_signature, signature) for signature in signatures) else ""


def device_cookie(key: bytes, cookie: str, name: str) -> str:
    """Return the device cookie with a signature for this name added."""
    device, signatures = _parse_device_cookie(cookie)
    device = device or secrets.token_hex(16)
    new_signature = sign_parts(key, "device", device, name)
    other_signatures = [signature for signature in signatures if signature != new_signature]
    return ".".join((device, *other_signatures[-(MOST - 1) :], new_signature))


def _parse_device_cookie(cookie: str) -> tuple[str, list[str]]:
    match = _SHAPE.fullmatch(cookie)
    return ("", []) if match is None else (match["device"], match["names"].split(".")[1:])
