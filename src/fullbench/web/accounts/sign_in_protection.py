"""How often somebody may fail to sign in, counted in the database so that all workers share it.

Nobody can lock somebody else out: failures count against a name from one address, against an address, and, by a far
higher limit, against a name from everywhere; a browser in which somebody signed in before (see below) has a count
of its own, whatever others do to the name or from the same address. Only digests are kept. An attempt is written down
before the password is looked at, so that many at once do not slip through, and taken back when it succeeds.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from ipaddress import IPv6Address, ip_address, ip_network

from sqlalchemy import Connection, delete, func, insert, select

from fullbench.web.accounts.account_tables import attempts
from fullbench.web.accounts.random_ids_and_digests import signed

WINDOW = 15 * 60.0
PAIR_LIMIT = 10
"""Failures of one name from one address, or from a browser that the name is known in."""
ADDRESS_LIMIT = 60
NAME_LIMIT = 300
"""Failures of one name from everywhere: so many addresses at once are a guessing machine, not a person."""


def note(connection: Connection, key: bytes, name: str, address: str, device: str = "") -> None:
    """Write an attempt down. Commit before `allowed` is asked."""
    now = time.time()
    connection.execute(delete(attempts).where(attempts.c.at < now - WINDOW))
    counted = _limits(key, name, address, device)
    connection.execute(insert(attempts), [{"key": attempt_key, "at": now} for attempt_key in counted])


def allowed(connection: Connection, key: bytes, name: str, address: str, device: str = "") -> bool:
    """Whether the attempts that count against this one are still few enough."""
    counted = _limits(key, name, address, device)
    return all(_count(connection, attempt_key) <= limit for attempt_key, limit in counted.items())


def _count(connection: Connection, attempt_key: str) -> int:
    recent = select(func.count()).select_from(attempts)
    counted = connection.execute(recent.where(attempts.c.key == attempt_key, attempts.c.at >= time.time() - WINDOW))
    return int(counted.scalar_one())


def succeeded(connection: Connection, key: bytes, name: str, address: str, device: str = "") -> None:
    """The right password came: the failures of this person here are forgotten, and this attempt everywhere."""
    first, *others = _limits(key, name, address, device)
    connection.execute(delete(attempts).where(attempts.c.key == first))
    for attempt_key in others:
        latest = select(func.max(attempts.c.id)).where(attempts.c.key == attempt_key).scalar_subquery()
        connection.execute(delete(attempts).where(attempts.c.id == latest))


def _limits(key: bytes, name: str, address: str, device: str) -> dict[str, int]:
    """What an attempt counts against and how much each bears, the narrowest first."""
    if device:
        return {signed(key, "attempt by device", name, device): PAIR_LIMIT}
    here = household(address)
    return {
        signed(key, "attempt by name and address", name, here): PAIR_LIMIT,
        signed(key, "attempt by address", here): ADDRESS_LIMIT,
        signed(key, "attempt by name", name): NAME_LIMIT,
    }


def household(address: str) -> str:
    """The address as it is counted: of IPv6 the network, since one machine has as many addresses there as it likes.

    >>> household("2001:db8::1") == household("2001:db8::ffff"), household("192.0.2.7")
    (True, '192.0.2.7')
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((address, 64), strict=False)) if isinstance(parsed, IPv6Address) else address


# Browsers in which somebody signed in before: a cookie says so, signed for each name, and opens no door by itself.
#
# It only decides against what a failure to sign in counts: see above.

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
