"""Pilots: a few tasks of a campaign in a campaign of their own, so that their votes stay separate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, select

from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaign_tables import slots, tasks
from fullbench.web.campaigns.campaigns import Campaign, CampaignPlan
from fullbench.web.campaigns.create import omitted_data_counts, resumable_task_creation
from fullbench.web.campaigns.create.lazy_lists_of_possible_tasks import refuse_too_many
from fullbench.web.campaigns.create.resumable_task_creation import Finishing
from fullbench.web.campaigns.create.storable_task_plan import TaskPlan
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.site_settings_and_worker_transfer import TASK_LIMIT

MOST = 1000
LEFT_OUT = frozenset(
    {
        *("creating", "draft", "guideline", "assigned", "each", "group", "ordered", "authored", "gain"),
        omitted_data_counts.OPTION,
    }
)
"""Options that a pilot or a copy does not take over."""


def list_pilots(connection: Connection, campaign: Campaign) -> list[Campaign]:
    """Return all pilots of a campaign, newest first."""
    every = campaigns.list_campaigns(connection, count=10_000)
    return [candidate for candidate in every if candidate.rules.options.get("pilot_of") == campaign.id]


def create_pilot(connection: Connection, campaign: Campaign, count: int, task_limit: int = TASK_LIMIT) -> Campaign:
    """Create a pilot of the `count` tasks with the lowest lots, open at once, with the current guidelines.

    Tasks with known answers are copied too: a pilot also shows whether those answers are right.
    """
    campaigns.refuse_unfinished(campaign)
    if campaign.is_pilot:
        raise InputError(Note("web.wrong.a-pilot-has-no-pilot", name=campaign.name))
    if not 1 <= count <= MOST:
        raise InputError(Note("web.wrong.a-pilot-has-tasks", most=MOST, n=count))
    number = len(list_pilots(connection, campaign)) + 1
    options = {name: value for name, value in campaign.rules.options.items() if name not in LEFT_OUT}
    name = f"{campaign.name} (pilot{f' {number}' if number > 1 else ''})"
    plan = plan_of(campaign, name, {**options, "pilot_of": campaign.id})
    first = select(slots.c.task, func.min(slots.c.lot)).where(slots.c.study == campaign.id).group_by(slots.c.task)
    drawn_task_ids = {row.task for row in connection.execute(first.order_by(func.min(slots.c.lot)).limit(count))}
    known_tasks = {role: known_tasks_of(connection, campaign, role) for role in ("gold", "qualify")}
    query = (
        select(tasks.c.content).where(tasks.c.id.in_(drawn_task_ids), tasks.c.role == "work").order_by(tasks.c.place)
    )
    work = [Content.from_json(content) for content in connection.execute(query).scalars()]
    refuse_too_many(len(work) + sum(map(len, known_tasks.values())), task_limit)
    task_plan = TaskPlan.from_contents(campaign, known_tasks.items(), work)
    new_pilot = campaigns.create_campaign(
        connection, plan, draft=not resumable_task_creation.is_small(plan.votes, task_plan)
    )
    if resumable_task_creation.create_tasks(connection, new_pilot, task_plan, Finishing(opens=True)) is None:
        resumable_task_creation.store_plan(connection, new_pilot.id, task_plan)
    return campaigns.get_campaign(connection, new_pilot.id)


def plan_of(campaign: Campaign, name: str, options: Mapping[str, Any]) -> CampaignPlan:
    """Return the settings of a campaign under another name, with other options."""
    return CampaignPlan(
        name,
        campaign.kind_name,
        campaign.rules.ballot,
        campaign.rules.criterion,
        campaign.guidelines,
        options,
        campaign.votes,
        campaign.most,
        campaign.settled_by,
        campaign.lease_seconds,
        campaign.gold_every,
        campaign.pass_share,
        campaign.seed,
    )


def known_tasks_of(connection: Connection, campaign: Campaign, role: str) -> list[tuple[Content, dict[str, Any]]]:
    """Return the tasks of a campaign with known answers, of one role."""
    query = select(tasks.c.content, tasks.c.known).where(tasks.c.study == campaign.id, tasks.c.role == role)
    return [(Content.from_json(row.content), row.known) for row in connection.execute(query.order_by(tasks.c.place))]
