"""Members of a campaign: assignment, invitation and qualification."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.web.accounts import invitations
from fullbench.web.accounts.account_and_shared_site_tables import invitations as invited
from fullbench.web.accounts.account_and_shared_site_tables import users
from fullbench.web.accounts.users import User
from fullbench.web.campaigns.campaign_tables import arrivals, members
from fullbench.web.campaigns.campaigns import Campaign, set_options
from fullbench.web.database import dialect_insert
from fullbench.web.words import key

BULK = 500
"""Maximum number of invitations created at once."""
STANDINGS = {"new": key("may not work yet"), "qualified": key("takes part"), "failed": key("is shut out")}


@dataclass(frozen=True)
class Member:
    """Person who takes part in a campaign."""

    person: str
    name: str
    standing: str
    vote_count: int

    @property
    def words(self) -> str:
        return STANDINGS[self.standing]


def list_members(connection: Connection, campaign: Campaign, people: dict[str, str], most: int = 500) -> list[Member]:
    """Return the members, those with most votes first."""
    query = select(members).where(members.c.study == campaign.id).order_by(members.c.done.desc(), members.c.person)
    coming = select(invited.c.account, invited.c.note).where(invited.c.used_by.is_(None))
    notes = {row.account: row.note for row in connection.execute(coming)}
    return [
        Member(row.person, people.get(row.person, notes.get(row.person, row.person)), row.standing, row.done)
        for row in connection.execute(query.limit(most))
    ]


def sees_only_assigned(connection: Connection, person: str) -> bool:
    """Return True if the person came for certain campaigns and may see no others."""
    query = select(arrivals.c.study).where(arrivals.c.person == person).limit(1)
    return connection.execute(query).first() is not None


def assign_people(connection: Connection, campaign: Campaign, names: Sequence[str]) -> int:
    """Assign people to a campaign, restrict it to assigned people, and return the number of new members."""
    ids_by_name = {
        row.name: row.id
        for row in connection.execute(select(users.c.id, users.c.name).where(users.c.name.in_(list(names))))
    }
    if missing := [name for name in names if name not in ids_by_name]:
        raise InputError(f"there is no account {missing[0]!r}; create it first with an invitation")
    standing = "new" if campaign.qualifies else "qualified"
    fresh = [
        {"study": campaign.id, "person": ids_by_name[name], "standing": standing, "done": 0, "at": time.time()}
        for name in dict.fromkeys(names)
    ]
    before = set(connection.execute(select(members.c.person).where(members.c.study == campaign.id)).scalars())
    connection.execute(dialect_insert(connection, members).on_conflict_do_nothing(), fresh)
    set_options(connection, campaign, {"assigned": True})
    return sum(row["person"] not in before for row in fresh)


def invite_people(connection: Connection, campaign: Campaign, by: User, notes: Sequence[str]) -> list[tuple[str, str]]:
    """Create an invitation for each note, for an annotator assigned to the campaign; return notes and link secrets."""
    if not 1 <= len(notes) <= BULK:
        raise InputError(Note("web.wrong.invite-so-many-at-once", most=BULK, n=len(notes)))
    standing = "new" if campaign.qualifies else "qualified"
    links = []
    for note in notes:
        invitation, secret = invitations.create_invitation(connection, "annotator", by, note=note)
        row = {"study": campaign.id, "person": invitation.account, "standing": standing, "done": 0, "at": time.time()}
        connection.execute(dialect_insert(connection, members).values(row))
        arrival = {"study": campaign.id, "person": invitation.account, "at": time.time()}
        connection.execute(dialect_insert(connection, arrivals).values(arrival))
        links.append((note, secret))
    set_options(connection, campaign, {"assigned": True})
    return links


def set_standing(connection: Connection, campaign: Campaign, person: str, standing: str) -> bool:
    """Set a member's standing to `qualified` or `failed`; return False if there is no such member."""
    if standing not in {"qualified", "failed"}:
        return False
    member = (members.c.study == campaign.id, members.c.person == person)
    return connection.execute(update(members).where(*member).values(standing=standing)).rowcount == 1
