"""Invitation links: they work once, end by themselves, and carry the role."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import cast

from sqlalchemy import Connection, insert, select, update

from fullbench.errors import InputError
from fullbench.web.accounts import passwords, users
from fullbench.web.accounts.account_tables import invitations
from fullbench.web.accounts.random_ids_and_digests import digest, new_id, new_secret
from fullbench.web.accounts.users import Role, User
from fullbench.web.site_settings import DAY
from fullbench.web.words import key

LASTING = 7 * DAY
FIRST = "first start"


@dataclass(frozen=True, slots=True)
class Invitation:
    """A link that lets one person make one account."""

    id: str
    role: Role
    note: str
    at: float
    until: float
    ended: float | None
    used_by: str | None
    account: str | None = None
    """The id that the account will have, so that somebody can be assigned to work before they come."""

    @property
    def open(self) -> bool:
        return self.ended is None and self.until > time.time()


def make(
    connection: Connection, role: Role, by: User | None, *, note: str = "", lasting: float = LASTING
) -> tuple[Invitation, str]:
    """A new invitation and the secret of its link, which is shown once and not kept."""
    secret, now = new_secret(), time.time()
    invitation = Invitation(new_id(), role, note[:200], now, now + lasting, None, None, new_id())
    connection.execute(
        insert(invitations).values(
            id=invitation.id,
            digest=digest(secret),
            role=role,
            note=invitation.note,
            made_by=by.id if by else None,
            at=now,
            until=invitation.until,
            account=invitation.account,
        )
    )
    return invitation, secret


def first(connection: Connection) -> str | None:
    """The secret of a link for the first organiser; None when there is one. Earlier such links end."""
    if users.organisers(connection):
        return None
    connection.execute(
        update(invitations)
        .where(invitations.c.note == FIRST, invitations.c.made_by.is_(None), invitations.c.ended.is_(None))
        .values(ended=time.time())
    )
    return make(connection, "organiser", None, note=FIRST, lasting=DAY)[1]


def find(connection: Connection, secret: str) -> Invitation | None:
    """The open invitation of a link."""
    row = connection.execute(select(invitations).where(invitations.c.digest == digest(secret))).one_or_none()
    invitation = None if row is None else _of_row(row)
    return invitation if invitation is not None and invitation.open else None


def accept(connection: Connection, secret: str, name: str, password: str) -> User:
    """Make the account that a link stands for. Of two at once, one wins."""
    invitation = find(connection, secret)
    if invitation is None:
        raise InputError(key("This invitation is used up or has ended; ask for a new one."))
    user = users.add(connection, name, invitation.role, password, as_id=invitation.account)
    took = connection.execute(
        update(invitations)
        .where(invitations.c.id == invitation.id, invitations.c.ended.is_(None))
        .values(ended=time.time(), used_by=user.id)
    )
    if took.rowcount != 1:
        raise InputError(key("This invitation is used up or has ended; ask for a new one."))
    return user


def accepted(connection: Connection, secret: str, name: str, password: str) -> User | None:
    """Who used this link, if these are that person's name and password: the form was sent twice."""
    used_by = connection.execute(
        select(invitations.c.used_by).where(invitations.c.digest == digest(secret))
    ).scalar_one_or_none()
    user, password_hash = users.login(connection, name)
    return user if user is not None and user.id == used_by and passwords.matches(password, password_hash) else None


def revoke(connection: Connection, invitation_id: str) -> bool:
    """Take an open invitation back; whether there was one."""
    ended = update(invitations).where(invitations.c.id == invitation_id, invitations.c.ended.is_(None))
    return connection.execute(ended.values(ended=time.time())).rowcount == 1


def take_back(connection: Connection, account: str) -> None:
    """Take back the invitations that promise an account."""
    promised = (invitations.c.account == account, invitations.c.ended.is_(None))
    connection.execute(update(invitations).where(*promised).values(ended=time.time()))


def page(connection: Connection, *, limit: int = 50, before: float | None = None) -> list[Invitation]:
    """Invitations, the latest first."""
    query = select(invitations).order_by(invitations.c.at.desc(), invitations.c.id).limit(limit)
    if before is not None:
        query = query.where(invitations.c.at < before)
    return [_of_row(row) for row in connection.execute(query)]


def _of_row(row: object) -> Invitation:
    values = {name: getattr(row, name) for name in ("id", "note", "at", "until", "ended", "used_by", "account")}
    return Invitation(role=cast("Role", getattr(row, "role", "viewer")), **values)
