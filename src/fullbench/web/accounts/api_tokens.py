"""Tokens for scripts: shown once, kept as a digest, taken back at any time. `read` looks, `write` may change."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal, cast, get_args

from sqlalchemy import Connection, func, insert, or_, select, update

from fullbench.errors import InputError
from fullbench.web.accounts.account_tables import tokens, users
from fullbench.web.accounts.random_ids_and_digests import digest, new_id, new_secret
from fullbench.web.accounts.users import COLUMNS, User, clean_name, of_row
from fullbench.web.site_settings import DAY
from fullbench.web.words import key

Scope = Literal["read", "write"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "fb_"
MOST = 50
_TOUCH = 60.0


@dataclass(frozen=True, slots=True)
class Token:
    """A key for scripts that acts as its owner."""

    id: str
    name: str
    scope: Scope
    at: float
    until: float | None
    used: float | None


def make(connection: Connection, user: User, name: str, scope: str, days: int | None = None) -> tuple[Token, str]:
    """A new token and its secret, which is not kept."""
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
            digest=digest(secret),
            scope=scope,
            at=now,
            until=token.until,
        )
    )
    return token, secret


def find(connection: Connection, secret: str) -> tuple[User, Token, bool] | None:
    """Whose token this is, and whether its use should be written down."""
    now = time.time()
    row = connection.execute(
        select(*COLUMNS, tokens.c.id.label("token_id"), tokens.c.name.label("token_name"), tokens.c.scope)
        .add_columns(tokens.c.at.label("made"), tokens.c.until, tokens.c.used)
        .join_from(tokens, users)
        .where(
            tokens.c.digest == digest(secret),
            tokens.c.revoked.is_(None),
            or_(tokens.c.until.is_(None), tokens.c.until > now),
            users.c.disabled.is_(False),
        )
    ).one_or_none()
    if row is None:
        return None
    token = Token(row.token_id, row.token_name, cast("Scope", row.scope), row.made, row.until, row.used)
    return of_row(row), token, row.used is None or row.used < now - _TOUCH


def touch(connection: Connection, token: Token) -> None:
    """The token is in use."""
    connection.execute(update(tokens).where(tokens.c.id == token.id).values(used=time.time()))


def of_user(connection: Connection, user: User) -> list[Token]:
    """The tokens of a user that were not taken back, the latest first; at most `MOST`."""
    rows = connection.execute(
        select(tokens)
        .where(tokens.c.user_id == user.id, tokens.c.revoked.is_(None))
        .order_by(tokens.c.at.desc(), tokens.c.id)
    )
    return [Token(row.id, row.name, cast("Scope", row.scope), row.at, row.until, row.used) for row in rows]


def revoke(connection: Connection, user: User, token_id: str) -> bool:
    """Take a token of this user back; whether there was one."""
    own_token = update(tokens).where(tokens.c.id == token_id, tokens.c.user_id == user.id, tokens.c.revoked.is_(None))
    return connection.execute(own_token.values(revoked=time.time())).rowcount == 1
