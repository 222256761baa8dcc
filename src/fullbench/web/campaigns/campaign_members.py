"""The people of a study: who takes part, and who may."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from fullbench.core.note import Note
from fullbench.errors import InputError
from fullbench.web.accounts import invitations
from fullbench.web.accounts.account_tables import invitations as invited
from fullbench.web.accounts.account_tables import users
from fullbench.web.accounts.users import User
from fullbench.web.campaigns.campaign_tables import arrivals, members
from fullbench.web.campaigns.campaigns import Study, set_options
from fullbench.web.database import insert_here
from fullbench.web.words import key

BULK = 500
"""How many invitations are made at once."""
STANDINGS = {"new": key("may not work yet"), "qualified": key("takes part"), "failed": key("is shut out")}


@dataclass(frozen=True)
class Member:
    """Somebody who takes part."""

    person: str
    name: str
    standing: str
    done: int

    @property
    def words(self) -> str:
        return STANDINGS[self.standing]


def listed(connection: Connection, study: Study, people: dict[str, str], most: int = 500) -> list[Member]:
    """Who takes part, those who did most first."""
    query = select(members).where(members.c.study == study.id).order_by(members.c.done.desc(), members.c.person)
    coming = select(invited.c.account, invited.c.note).where(invited.c.used_by.is_(None))
    notes = {row.account: row.note for row in connection.execute(coming)}
    return [
        Member(row.person, people.get(row.person, notes.get(row.person, row.person)), row.standing, row.done)
        for row in connection.execute(query.limit(most))
    ]


def only_assigned(connection: Connection, person: str) -> bool:
    """Whether somebody came for certain studies, and sees no others."""
    query = select(arrivals.c.study).where(arrivals.c.person == person).limit(1)
    return connection.execute(query).first() is not None


def assign(connection: Connection, study: Study, names: Sequence[str]) -> int:
    """Let people into a study, which is from then on for those alone who were; how many were not in it before."""
    known = {
        row.name: row.id
        for row in connection.execute(select(users.c.id, users.c.name).where(users.c.name.in_(list(names))))
    }
    if missing := [name for name in names if name not in known]:
        raise InputError(f"there is no account {missing[0]!r}; make it first by an invitation")
    standing = "new" if study.qualifies else "qualified"
    fresh = [
        {"study": study.id, "person": known[name], "standing": standing, "done": 0, "at": time.time()}
        for name in dict.fromkeys(names)
    ]
    before = set(connection.execute(select(members.c.person).where(members.c.study == study.id)).scalars())
    connection.execute(insert_here(connection, members).on_conflict_do_nothing(), fresh)
    set_options(connection, study, {"assigned": True})
    return sum(row["person"] not in before for row in fresh)


def invite(connection: Connection, study: Study, by: User, notes: Sequence[str]) -> list[tuple[str, str]]:
    """An invitation for each note, for an annotator who is assigned to the study: the notes, and the links' secrets."""
    if not 1 <= len(notes) <= BULK:
        raise InputError(
            Note(
                "web.wrong.invite-so-many-at-once",
                "write 1 to {most} names, one a line; found {n}",
                most=BULK,
                n=len(notes),
            )
        )
    standing = "new" if study.qualifies else "qualified"
    links = []
    for note in notes:
        invitation, secret = invitations.make(connection, "annotator", by, note=note)
        row = {"study": study.id, "person": invitation.account, "standing": standing, "done": 0, "at": time.time()}
        connection.execute(insert_here(connection, members).values(row))
        arrival = {"study": study.id, "person": invitation.account, "at": time.time()}
        connection.execute(insert_here(connection, arrivals).values(arrival))
        links.append((note, secret))
    set_options(connection, study, {"assigned": True})
    return links


def set_standing(connection: Connection, study: Study, person: str, standing: str) -> bool:
    """Let somebody in (`qualified`) or shut them out (`failed`); whether there is such a member."""
    if standing not in {"qualified", "failed"}:
        return False
    member = (members.c.study == study.id, members.c.person == person)
    return connection.execute(update(members).where(*member).values(standing=standing)).rowcount == 1
