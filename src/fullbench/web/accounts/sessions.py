"""Sessions on the server: a random cookie, kept as its digest, that ends when idle, when old, or when told to."""

from __future__ import annotations

import time

from sqlalchemy import Connection, delete, insert, or_, select, update

from fullbench.web.accounts.account_tables import sessions, users
from fullbench.web.accounts.random_ids_and_digests import digest, new_secret
from fullbench.web.accounts.users import COLUMNS, User, of_row
from fullbench.web.site_settings import Settings

TOUCH = 60.0
"""That a session is in use is written down at most once in this many seconds."""


def start(connection: Connection, user: User, *, address: str = "", agent: str = "") -> str:
    """A new session; the cookie's value."""
    secret, now = new_secret(), time.time()
    connection.execute(
        insert(sessions).values(
            digest=digest(secret), user_id=user.id, at=now, seen=now, address=address[:80], agent=agent[:200]
        )
    )
    return secret


def find(connection: Connection, secret: str, settings: Settings) -> tuple[User, bool] | None:
    """Whose session this is, and whether its use should be written down; None when it is over or never was."""
    now = time.time()
    row = connection.execute(
        select(*COLUMNS, sessions.c.seen)
        .join_from(sessions, users)
        .where(
            sessions.c.digest == digest(secret),
            users.c.disabled.is_(False),
            sessions.c.seen > now - settings.idle,
            sessions.c.at > now - settings.lasting,
        )
    ).one_or_none()
    return None if row is None else (of_row(row), row.seen < now - TOUCH)


def touch(connection: Connection, secret: str) -> None:
    """The session is in use."""
    connection.execute(update(sessions).where(sessions.c.digest == digest(secret)).values(seen=time.time()))


def end(connection: Connection, secret: str) -> None:
    """Sign out here."""
    connection.execute(delete(sessions).where(sessions.c.digest == digest(secret)))


def end_all(connection: Connection, user_id: str) -> int:
    """Sign out everywhere; how many sessions ended."""
    return connection.execute(delete(sessions).where(sessions.c.user_id == user_id)).rowcount


def clear(connection: Connection, settings: Settings) -> None:
    """Drop sessions that are over."""
    now = time.time()
    connection.execute(
        delete(sessions).where(or_(sessions.c.seen < now - settings.idle, sessions.c.at < now - settings.lasting))
    )
