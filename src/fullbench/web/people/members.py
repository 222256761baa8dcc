"""The people of a study: who takes part, and who may."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from fullbench.web.people.studies import Study
from fullbench.web.people.tables import members
from fullbench.web.words import key

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
    return [
        Member(row.person, people.get(row.person, row.person), row.standing, row.done)
        for row in connection.execute(query.limit(most))
    ]


def set_standing(connection: Connection, study: Study, person: str, standing: str) -> bool:
    """Let somebody in (`qualified`) or shut them out (`failed`); whether there is such a member."""
    if standing not in {"qualified", "failed"}:
        return False
    member = (members.c.study == study.id, members.c.person == person)
    return connection.execute(update(members).where(*member).values(standing=standing)).rowcount == 1
