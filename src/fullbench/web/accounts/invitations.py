"""Invitation links: each works once, expires, and gives a fixed role."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import cast

from sqlalchemy import Connection, insert, select, update

from fullbench.errors import InputError
from fullbench.web.accounts import passwords, users
from fullbench.web.accounts.account_and_shared_site_tables import invitations
from fullbench.web.accounts.random_ids_digests_and_site_key import new_id, new_secret, secret_digest
from fullbench.web.accounts.users import Role, User
from fullbench.web.site_settings_and_worker_transfer import DAY
from fullbench.web.words import key

# Long enough for a holiday; not for ever, because whoever has the link gets the account.
LASTING = 7 * DAY
FIRST = "first start"


@dataclass(frozen=True, slots=True)
class Invitation:
    """Link that lets one person create one account."""

    id: str
    role: Role
    note: str
    at: float
    until: float
    ended: float | None
    used_by: str | None
    account: str | None = None
    """Id that the account will have, so that a person can be assigned to work before they accept."""

    @property
    def open(self) -> bool:
        return self.ended is None and self.until > time.time()


def create_invitation(
    connection: Connection, role: Role, by: User | None, *, note: str = "", lasting: float = LASTING
) -> tuple[Invitation, str]:
    """Create an invitation and return it with the secret of its link, which is not stored."""
    secret, now = new_secret(), time.time()
    invitation = Invitation(new_id(), role, note[:200], now, now + lasting, None, None, new_id())
    connection.execute(
        insert(invitations).values(
            id=invitation.id,
            digest=secret_digest(secret),
            role=role,
            note=invitation.note,
            made_by=by.id if by else None,
            at=now,
            until=invitation.until,
            account=invitation.account,
        )
    )
    return invitation, secret


def create_first_invitation(connection: Connection) -> str | None:
    """Return the secret of a link for the first lead, or None if there is a lead. Earlier such links end."""
    if users.count_organisers(connection):
        return None
    connection.execute(
        update(invitations)
        .where(invitations.c.note == FIRST, invitations.c.made_by.is_(None), invitations.c.ended.is_(None))
        .values(ended=time.time())
    )
    return create_invitation(connection, "organiser", None, note=FIRST, lasting=DAY)[1]


def find_invitation(connection: Connection, secret: str) -> Invitation | None:
    """Return the open invitation of a link, or None."""
    row = connection.execute(select(invitations).where(invitations.c.digest == secret_digest(secret))).one_or_none()
    invitation = None if row is None else _invitation_from_row(row)
    return invitation if invitation is not None and invitation.open else None


def accept_invitation(connection: Connection, secret: str, name: str, password: str) -> User:
    """Create the account of an invitation. Of two simultaneous requests only one succeeds."""
    invitation = find_invitation(connection, secret)
    if invitation is None:
        raise InputError(key("This invitation is used up or has ended; ask for a new one."))
    user = users.create_user(connection, name, invitation.role, password, as_id=invitation.account)
    took = connection.execute(
        update(invitations)
        .where(invitations.c.id == invitation.id, invitations.c.ended.is_(None))
        .values(ended=time.time(), used_by=user.id)
    )
    if took.rowcount != 1:
        raise InputError(key("This invitation is used up or has ended; ask for a new one."))
    return user


def find_accepting_user(connection: Connection, secret: str, name: str, password: str) -> User | None:
    """Return the user who used this link if name and password match, for a form that was sent twice."""
    used_by = connection.execute(
        select(invitations.c.used_by).where(invitations.c.digest == secret_digest(secret))
    ).scalar_one_or_none()
    user, password_hash = users.find_user_for_sign_in(connection, name)
    return (
        user if user is not None and user.id == used_by and passwords.verify_password(password, password_hash) else None
    )


def revoke_invitation(connection: Connection, invitation_id: str) -> bool:
    """Revoke an open invitation; return False if there was none."""
    open_invitation = update(invitations).where(invitations.c.id == invitation_id, invitations.c.ended.is_(None))
    return connection.execute(open_invitation.values(ended=time.time())).rowcount == 1


def revoke_account_invitations(connection: Connection, account: str) -> None:
    """Revoke the open invitations that reserve this account id."""
    open_invitations = (invitations.c.account == account, invitations.c.ended.is_(None))
    connection.execute(update(invitations).where(*open_invitations).values(ended=time.time()))


def list_invitations(connection: Connection, *, limit: int = 50, before: float | None = None) -> list[Invitation]:
    """Return invitations, newest first."""
    query = select(invitations).order_by(invitations.c.at.desc(), invitations.c.id).limit(limit)
    if before is not None:
        query = query.where(invitations.c.at < before)
    return [_invitation_from_row(row) for row in connection.execute(query)]


def _invitation_from_row(row: object) -> Invitation:
    values = {name: getattr(row, name) for name in ("id", "note", "at", "until", "ended", "used_by", "account")}
    return Invitation(role=cast("Role", getattr(row, "role", "viewer")), **values)
