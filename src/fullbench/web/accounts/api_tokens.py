"""API tokens for scripts: shown once, stored as a digest, revocable. Scope `read` or `write`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal, cast, get_args

from sqlalchemy import Connection, func, insert, or_, select, update

from fullbench.errors import InputError
from fullbench.web.accounts.account_and_shared_site_tables import tokens, users
from fullbench.web.accounts.random_ids_digests_and_site_key import new_id, new_secret, secret_digest
from fullbench.web.accounts.users import COLUMNS, User, clean_name, user_from_row
from fullbench.web.site_settings_and_worker_transfer import DAY
from fullbench.web.words import key

Scope = Literal["read", "write"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "fb_"
MOST = 50
# Record the use of a token at most once in this many seconds, so that most calls write nothing.
_TOUCH = 60.0


@dataclass(frozen=True, slots=True)
class Token:
    """API token that acts as its owner."""

    id: str
    name: str
    scope: Scope
    at: float
    until: float | None
    used: float | None


def create_token(
    connection: Connection, user: User, name: str, scope: str, days: int | None = None
) -> tuple[Token, str]:
    """Create a token and return it with its secret, which is not stored."""
    if scope not in SCOPES:
        raise InputError(key("A token reads, or reads and writes."))
    open_ones = select(func.count()).select_from(tokens).where(tokens.c.user_id == user.id, tokens.c.revoked.is_(None))
    if connection.execute(open_ones).scalar_one() >= MOST:
        raise InputError(key("You have too many tokens; revoke some."))
    secret, now = PREFIX + new_secret(), time.time()
    token = Token(new_id(), clean_name(name), scope, now, None if days is None else now + days * DAY, None)
    connection.execute(
        insert(tokens).values(
            id=token.id,
            user_id=user.id,
            name=token.name,
            digest=secret_digest(secret),
            scope=scope,
            at=now,
            until=token.until,
        )
    )
    return token, secret


def find_token_owner(connection: Connection, secret: str) -> tuple[User, Token, bool] | None:
    """Return the owner, the token, and True if its use is due to be recorded; None if it is not valid."""
    now = time.time()
    row = connection.execute(
        select(*COLUMNS, tokens.c.id.label("token_id"), tokens.c.name.label("token_name"), tokens.c.scope)
        .add_columns(tokens.c.at.label("made"), tokens.c.until, tokens.c.used)
        .join_from(tokens, users)
        .where(
            tokens.c.digest == secret_digest(secret),
            tokens.c.revoked.is_(None),
            or_(tokens.c.until.is_(None), tokens.c.until > now),
            users.c.disabled.is_(False),
        )
    ).one_or_none()
    if row is None:
        return None
    token = Token(row.token_id, row.token_name, cast("Scope", row.scope), row.made, row.until, row.used)
    return user_from_row(row), token, row.used is None or row.used < now - _TOUCH


def record_token_use(connection: Connection, token: Token) -> None:
    """Set the time of the token's last use to now."""
    connection.execute(update(tokens).where(tokens.c.id == token.id).values(used=time.time()))


def list_user_tokens(connection: Connection, user: User) -> list[Token]:
    """Return the user's tokens that are not revoked, newest first; at most `MOST`."""
    rows = connection.execute(
        select(tokens)
        .where(tokens.c.user_id == user.id, tokens.c.revoked.is_(None))
        .order_by(tokens.c.at.desc(), tokens.c.id)
    )
    return [Token(row.id, row.name, cast("Scope", row.scope), row.at, row.until, row.used) for row in rows]


def revoke_token(connection: Connection, user: User, token_id: str) -> bool:
    """Revoke a token of this user; return False if there was none."""
    own_token = update(tokens).where(tokens.c.id == token_id, tokens.c.user_id == user.id, tokens.c.revoked.is_(None))
    return connection.execute(own_token.values(revoked=time.time())).rowcount == 1
