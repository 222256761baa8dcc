"""Removal of campaigns that nobody voted in."""

from __future__ import annotations

import time

from sqlalchemy import Connection, delete, func, select

from fullbench.core.translatable_note import Note
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
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.database import dialect_insert


def is_unused(connection: Connection, campaign: Campaign) -> bool:
    """Return True if nobody voted in the campaign, so that it can be removed."""
    return connection.execute(select(votes.c.id).where(votes.c.study == campaign.id).limit(1)).first() is None


def remove_campaign(connection: Connection, campaign: Campaign) -> int:
    """Remove a campaign with its tasks, close accounts created only for it, and return their number.

    A campaign with votes stays: votes are never deleted.
    """
    if not is_unused(connection, campaign):
        count = connection.execute(select(func.count()).where(votes.c.study == campaign.id)).scalar_one()
        raise InputError(Note("web.wrong.a-study-with-votes-stays", name=campaign.name, n=count))
    closed_accounts = _close_accounts(connection, campaign)
    slot_ids = select(slots.c.id).where(slots.c.study == campaign.id)
    connection.execute(delete(drafts).where(drafts.c.slot.in_(slot_ids)))
    task_ids = select(tasks.c.id).where(tasks.c.study == campaign.id)
    connection.execute(delete(conflicts).where(conflicts.c.task.in_(task_ids) | conflicts.c.other.in_(task_ids)))
    connection.execute(delete(task_authors).where(task_authors.c.task.in_(task_ids)))
    for table in (leases, slots, tasks, members, arrivals, guidelines, campaign_items):
        connection.execute(delete(table).where(table.c.study == campaign.id))
    connection.execute(delete(studies_table).where(studies_table.c.id == campaign.id))
    return closed_accounts


def _close_accounts(connection: Connection, campaign: Campaign) -> int:
    """Close accounts and revoke invitations of people who came only for this campaign; return their number.

    Otherwise they would see all other campaigns. A person assigned to another campaign keeps the account.
    """
    came = connection.execute(select(arrivals.c.person).where(arrivals.c.study == campaign.id)).scalars().all()
    connection.execute(delete(ways_back).where(ways_back.c.person.in_(came)))
    closed_accounts = 0
    for person in came:
        other_campaign_query = (
            select(members.c.study).where(members.c.person == person, members.c.study != campaign.id).limit(1)
        )
        other_campaign = connection.execute(other_campaign_query).scalar()
        if other_campaign is not None:
            row = {"study": other_campaign, "person": person, "at": time.time()}
            connection.execute(dialect_insert(connection, arrivals).values(row).on_conflict_do_nothing())
            continue
        if users.find_user(connection, person) is not None:
            users.change_user(connection, person, disabled=True)
        invitations.revoke_account_invitations(connection, person)
        closed_accounts += 1
    return closed_accounts
