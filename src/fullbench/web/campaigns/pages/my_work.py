"""An annotator's own work: open campaigns, pace, remaining tasks, votes given."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, select

from fullbench.core.ballot import LETTERS
from fullbench.web.campaigns.campaign_members import sees_only_assigned
from fullbench.web.campaigns.campaign_tables import members, slots, tasks, votes
from fullbench.web.campaigns.campaigns import Campaign, list_campaigns
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.votes.task_queue import count_waiting_tasks

WRITTEN_FIELDS = {"reason", "text", "instruction", "caption", "picture"}
PAGE = 50
MOST = 10_000
"""Maximum number of open campaigns that are searched."""
RECENT = 20
_left_counts: dict[tuple[str, str], tuple[float, int]] = {}


@dataclass(frozen=True)
class OpenCampaign:
    """Campaign open to a person, with the person's progress."""

    campaign: Campaign
    standing: str
    vote_count: int


@dataclass(frozen=True)
class OwnVote:
    """Vote that counts, as shown to the person who gave it."""

    lease: str
    at: float
    seconds: float
    question: str
    answer_fields: list[tuple[str, str]]


def list_open_campaigns(connection: Connection, person: str, page: int) -> tuple[list[OpenCampaign], bool]:
    """Return a page of the open campaigns that this person may work in, and True if there are more."""
    query = select(members).where(members.c.person == person)
    memberships = {row.study: row for row in connection.execute(query)}
    others_too = not sees_only_assigned(connection, person)
    allowed_campaigns = [
        campaign
        for campaign in list_campaigns(connection, only_open=True, count=MOST)
        if campaign.id in memberships or (others_too and not campaign.rules.options.get("assigned"))
    ]
    page_studies = allowed_campaigns[(page - 1) * PAGE : page * PAGE + 1]
    entries = [
        OpenCampaign(campaign, memberships[campaign.id].standing, memberships[campaign.id].done)
        if campaign.id in memberships
        else OpenCampaign(campaign, "new", 0)
        for campaign in page_studies[:PAGE]
    ]
    return entries, len(page_studies) > PAGE


def member_standing(connection: Connection, campaign: Campaign, person: str) -> tuple[str, int]:
    """Return a member's standing and number of votes."""
    query = select(members.c.standing, members.c.done).where(members.c.study == campaign.id, members.c.person == person)
    row = connection.execute(query).first()
    return ("new", 0) if row is None else (row.standing, row.done)


def votes_per_hour(connection: Connection, campaign: Campaign, person: str) -> int:
    """Return votes per hour from the latest votes; 0 if there are too few."""
    query = select(votes.c.at).where(votes.c.study == campaign.id, votes.c.person == person, votes.c.revision == 1)
    times = connection.execute(query.order_by(votes.c.id.desc()).limit(RECENT)).scalars().all()
    if len(times) < 3 or times[0] <= times[-1]:
        return 0
    return int((len(times) - 1) / (times[0] - times[-1]) * 3600)


def count_tasks_left(connection: Connection, campaign: Campaign, person: str) -> int:
    """Return the number of tasks this person can still vote on, cached for five seconds."""
    now = time.monotonic()
    cache_entry = _left_counts.get((campaign.id, person))
    if cache_entry is None or now - cache_entry[0] > 5:
        if len(_left_counts) > MOST:
            _left_counts.clear()
        cache_entry = _left_counts[campaign.id, person] = (now, count_waiting_tasks(connection, campaign, person))
    each = int(campaign.rules.options.get("each") or 0)
    return (
        min(cache_entry[1], max(0, each - member_standing(connection, campaign, person)[1])) if each else cache_entry[1]
    )


def list_own_votes(connection: Connection, campaign: Campaign, person: str, page: int) -> tuple[list[OwnVote], bool]:
    """Return a page of this person's votes that count, latest first, and True if there are more."""
    query = (
        select(slots.c.lease, votes.c.at, votes.c.seconds, votes.c.answer, votes.c.shown, tasks.c.content)
        .join(slots, and_(slots.c.id == votes.c.slot, slots.c.revision == votes.c.revision))
        .join(tasks, tasks.c.id == votes.c.task)
        .where(votes.c.study == campaign.id, votes.c.person == person)
        .order_by(votes.c.at.desc(), votes.c.id.desc())
        .offset((page - 1) * PAGE)
        .limit(PAGE + 1)
    )
    rows = connection.execute(query).all()
    return [_own_vote_from_row(campaign, row) for row in rows[:PAGE]], len(rows) > PAGE


def _own_vote_from_row(campaign: Campaign, row: Any) -> OwnVote:
    fields = campaign.kind.fields(row.answer, row.shown)
    question = Content.from_json(row.content).item.question
    answers = [(_field_label(name), _field_text(name, value)) for name, value in fields.items()]
    return OwnVote(row.lease, row.at, row.seconds, question[:200], answers)


def _field_label(name: str) -> str:
    """Return the response's letter for the mark of one response."""
    number = name.removeprefix("mark")
    return LETTERS[int(number)] if number.isdigit() else name


def _field_text(name: str, value: str) -> str:
    if name == "best" and value.isdigit():
        return LETTERS[int(value)]
    if name == "order":
        return " > ".join(LETTERS[int(place)] for place in value.split(","))
    return value if len(value) <= 200 else value[:200] + "…"


def previous_vote_lease(connection: Connection, campaign: Campaign, person: str, lease: str | None) -> str | None:
    """Return the lease of the vote before the given one; the latest if that one is not a vote yet."""
    own_votes = (votes.c.study == campaign.id, votes.c.person == person, votes.c.revision == 1)
    query = select(slots.c.lease).join(slots, slots.c.id == votes.c.slot).where(*own_votes)
    at = None
    if lease is not None:
        at = connection.execute(
            select(votes.c.id).join(slots, slots.c.id == votes.c.slot).where(*own_votes, slots.c.lease == lease)
        ).scalar()
    if at is not None:
        query = query.where(votes.c.id < at)
    return connection.execute(query.order_by(votes.c.id.desc()).limit(1)).scalar()
