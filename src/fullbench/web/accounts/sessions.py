"""Server-side sessions: a random cookie, stored as a digest, that ends when idle, old or signed out."""

from __future__ import annotations

import time

from sqlalchemy import Connection, delete, insert, or_, select, update

from fullbench.web.accounts.account_and_shared_site_tables import sessions, users
from fullbench.web.accounts.random_ids_digests_and_site_key import new_secret, secret_digest
from fullbench.web.accounts.users import COLUMNS, User, user_from_row
from fullbench.web.site_settings_and_worker_transfer import Settings

TOUCH = 60.0
"""The use of a session is recorded at most once in this many seconds."""


def start_session(connection: Connection, user: User, *, address: str = "", agent: str = "") -> str:
    """Start a session and return the value of its cookie."""
    secret, now = new_secret(), time.time()
    connection.execute(
        insert(sessions).values(
            digest=secret_digest(secret), user_id=user.id, at=now, seen=now, address=address[:80], agent=agent[:200]
        )
    )
    return secret


def find_session_user(connection: Connection, secret: str, settings: Settings) -> tuple[User, bool] | None:
    """Return the session's user and True if its use is due to be recorded; None if it is over or unknown."""
    now = time.time()
    row = connection.execute(
        select(*COLUMNS, sessions.c.seen)
        .join_from(sessions, users)
        .where(
            sessions.c.digest == secret_digest(secret),
            users.c.disabled.is_(False),
            sessions.c.seen > now - settings.idle,
            sessions.c.at > now - settings.lasting,
        )
    ).one_or_none()
    return None if row is None else (user_from_row(row), row.seen < now - TOUCH)


def record_session_use(connection: Connection, secret: str) -> None:
    """Set the time of the session's last use to now."""
    connection.execute(update(sessions).where(sessions.c.digest == secret_digest(secret)).values(seen=time.time()))


def end_session(connection: Connection, secret: str) -> None:
    """Delete one session (sign out in this browser)."""
    connection.execute(delete(sessions).where(sessions.c.digest == secret_digest(secret)))


def end_all_sessions(connection: Connection, user_id: str) -> int:
    """Delete all sessions of a user and return their number."""
    return connection.execute(delete(sessions).where(sessions.c.user_id == user_id)).rowcount


def delete_expired_sessions(connection: Connection, settings: Settings) -> None:
    """Delete sessions that are idle or too old."""
    now = time.time()
    connection.execute(
        delete(sessions).where(or_(sessions.c.seen < now - settings.idle, sessions.c.at < now - settings.lasting))
    )
