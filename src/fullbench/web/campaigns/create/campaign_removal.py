"""Studies that are thrown away before anybody voted."""

from __future__ import annotations

import time

from sqlalchemy import Connection, delete, func, select

from fullbench.core.note import Note
from fullbench.errors import InputError
from fullbench.web.accounts import invitations, users
from fullbench.web.campaigns.campaign_tables import (
    arrivals,
    campaign_items,
    conflicts,
    drafts,
    guidelines,
    leases,
    members,
    slots,
    task_authors,
    tasks,
    votes,
    ways_back,
)
from fullbench.web.campaigns.campaign_tables import studies as studies_table
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.database import insert_here


def is_unused(connection: Connection, study: Study) -> bool:
    """Whether nobody voted in a study, so that it can be thrown away."""
    return connection.execute(select(votes.c.id).where(votes.c.study == study.id).limit(1)).first() is None


def throw_away(connection: Connection, study: Study) -> int:
    """Remove a study with all its tasks, and close the accounts of those who came for it alone: how many.

    A study that anybody worked in stays: votes are never thrown away.
    """
    if not is_unused(connection, study):
        count = connection.execute(select(func.count()).where(votes.c.study == study.id)).scalar_one()
        raise InputError(
            Note(
                "web.wrong.a-study-with-votes-stays",
                "a study without votes can be thrown away; {name!r} has {n:,}: close it, and it stays as a record",
                name=study.name, n=count,
            )
        )  # fmt: skip
    closed = _close_accounts(connection, study)
    held = select(slots.c.id).where(slots.c.study == study.id)
    connection.execute(delete(drafts).where(drafts.c.slot.in_(held)))
    own = select(tasks.c.id).where(tasks.c.study == study.id)
    connection.execute(delete(conflicts).where(conflicts.c.task.in_(own) | conflicts.c.other.in_(own)))
    connection.execute(delete(task_authors).where(task_authors.c.task.in_(own)))
    for table in (leases, slots, tasks, members, arrivals, guidelines, campaign_items):
        connection.execute(delete(table).where(table.c.study == study.id))
    connection.execute(delete(studies_table).where(studies_table.c.id == study.id))
    return closed


def _close_accounts(connection: Connection, study: Study) -> int:
    """Close the accounts and take back the invitations of those who came for this study alone, so that they do not see
    all others in its place; who was assigned to another one stays for that. How many were closed."""
    came = connection.execute(select(arrivals.c.person).where(arrivals.c.study == study.id)).scalars().all()
    connection.execute(delete(ways_back).where(ways_back.c.person.in_(came)))
    closed = 0
    for person in came:
        others = select(members.c.study).where(members.c.person == person, members.c.study != study.id).limit(1)
        other = connection.execute(others).scalar()
        if other is not None:
            row = {"study": other, "person": person, "at": time.time()}
            connection.execute(insert_here(connection, arrivals).values(row).on_conflict_do_nothing())
            continue
        if users.get(connection, person) is not None:
            users.change(connection, person, disabled=True)
        invitations.take_back(connection, person)
        closed += 1
    return closed
