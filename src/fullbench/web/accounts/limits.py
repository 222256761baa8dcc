"""How often somebody may fail to sign in, counted in the database so that all workers share it.

Only digests of names and addresses are kept. An attempt is written down before the password is looked at, so that many
at once do not slip through, and taken back when it succeeds.
"""

from __future__ import annotations

import time
from ipaddress import IPv6Address, ip_address, ip_network

from sqlalchemy import Connection, delete, func, insert, select

from fullbench.web.accounts.secrets import signed
from fullbench.web.accounts.tables import attempts

WINDOW = 15 * 60.0
NAME_LIMIT = 10
ADDRESS_LIMIT = 60


def note(connection: Connection, key: bytes, name: str, address: str) -> None:
    """Write an attempt down. Commit before `allowed` is asked."""
    now = time.time()
    connection.execute(delete(attempts).where(attempts.c.at < now - WINDOW))
    connection.execute(insert(attempts), [{"key": attempt_key, "at": now} for attempt_key in _keys(key, name, address)])


def allowed(connection: Connection, key: bytes, name: str, address: str) -> bool:
    """Whether the attempts of that name and from that address are still few enough."""
    by_name, by_address = _keys(key, name, address)
    return _count(connection, by_name) <= NAME_LIMIT and _count(connection, by_address) <= ADDRESS_LIMIT


def _count(connection: Connection, attempt_key: str) -> int:
    recent = select(func.count()).select_from(attempts)
    counted = connection.execute(recent.where(attempts.c.key == attempt_key, attempts.c.at >= time.time() - WINDOW))
    return int(counted.scalar_one())


def succeeded(connection: Connection, key: bytes, name: str, address: str) -> None:
    """The right password came: the name's failures are forgotten, and one of the address's."""
    by_name, by_address = _keys(key, name, address)
    connection.execute(delete(attempts).where(attempts.c.key == by_name))
    latest = select(func.max(attempts.c.id)).where(attempts.c.key == by_address).scalar_subquery()
    connection.execute(delete(attempts).where(attempts.c.id == latest))


def _keys(key: bytes, name: str, address: str) -> tuple[str, str]:
    return signed(key, "attempt by name", name), signed(key, "attempt by address", household(address))


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
