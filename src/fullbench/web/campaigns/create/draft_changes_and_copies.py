"""Change a draft that nobody has worked in, and copy a campaign with its tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from fullbench.errors import InputError
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaign_tables import conflicts, slots, studies, tasks
from fullbench.web.campaigns.campaigns import CHUNK, Campaign, CampaignPlan
from fullbench.web.campaigns.create import resumable_task_creation
from fullbench.web.campaigns.create.lazy_lists_of_possible_tasks import refuse_too_many
from fullbench.web.campaigns.create.new_campaign_form import parse_wage, parse_whole_number
from fullbench.web.campaigns.create.pilot_campaign import LEFT_OUT, known_tasks_of, plan_of
from fullbench.web.campaigns.create.storable_task_plan import TaskPlan
from fullbench.web.campaigns.removal_of_campaigns_without_votes import is_unused
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.words import key


def change_draft(connection: Connection, campaign: Campaign, fields: Mapping[str, str]) -> Campaign:
    """Change name, votes, agreement, times and pay of a draft; kind, ballot and tasks stay.

    Args:
        connection: Connection with a transaction.
        campaign: The draft.
        fields: Fields of the form; an absent one stays as it is.
    """
    if campaign.stage != "draft" or not is_unused(connection, campaign):
        raise InputError(key("Only a draft can be changed. Copy the campaign and change the copy."))
    options: dict[str, Any] = {"pay": parse_wage(pay)} if (pay := fields.get("pay", "").strip()) else {}
    # The plan checks all values together.
    plan = replace(
        plan_of(campaign, campaign.name, {}),
        name=fields.get("name", campaign.name).strip(),
        votes=parse_whole_number(fields, "votes", campaign.votes),
        most=parse_whole_number(fields, "most", campaign.most),
        settled_by="all" if fields.get("settled_by", campaign.settled_by) == "all" else "majority",
        lease_seconds=60 * parse_whole_number(fields, "lease_minutes", campaign.lease_seconds // 60),
        gold_every=parse_whole_number(fields, "gold_every", campaign.gold_every),
        pass_share=parse_whole_number(fields, "pass_percent", round(100 * campaign.pass_share)) / 100,
    )
    if plan.name != campaign.name:
        campaigns.refuse_taken_name(connection, plan.name)
    values = {
        name: getattr(plan, name)
        for name in ("name", "votes", "settled_by", "lease_seconds", "gold_every", "pass_share")
    }
    values["most"] = max(plan.most, plan.votes)
    connection.execute(update(studies).where(studies.c.id == campaign.id).values(values))
    if options:
        campaigns.set_options(connection, campaign, options)
    changed = campaigns.get_campaign(connection, campaign.id)
    if changed.votes != campaign.votes:
        _draw_slots_again(connection, changed)
    return changed


def _draw_slots_again(connection: Connection, campaign: Campaign) -> None:
    """Give each task as many slots as the campaign now has votes, with the lots of a campaign made so."""
    connection.execute(delete(slots).where(slots.c.study == campaign.id))
    of_work = (tasks.c.study == campaign.id, tasks.c.role == "work")
    task_ids = list(connection.execute(select(tasks.c.id).where(*of_work).order_by(tasks.c.place)).scalars())
    lots = campaigns.lots_of(campaign)
    for first in range(0, len(task_ids), CHUNK):
        chunk = task_ids[first : first + CHUNK]
        rows = [
            {"study": campaign.id, "task": task, "lot": lot}
            for task, task_lots in zip(chunk, lots.of_tasks(first, len(chunk)), strict=True)
            for lot in task_lots
        ]
        connection.execute(insert(slots), rows)
    connection.execute(update(tasks).where(*of_work).values(wanted=campaign.votes))


def copy_campaign(connection: Connection, campaign: Campaign, name: str, task_limit: int) -> Campaign:
    """Return a draft with the settings, guidelines and all tasks of a campaign, and none of its votes or people."""
    campaigns.refuse_unfinished(campaign)
    options = {
        option: value
        for option, value in campaign.rules.options.items()
        if option not in LEFT_OUT - {"ordered", "gain"}
    }
    plan: CampaignPlan = plan_of(campaign, name.strip(), options)
    query = select(tasks.c.content, tasks.c.probability).where(tasks.c.study == campaign.id, tasks.c.role == "work")
    work = [
        replace(Content.from_json(row.content), probability=row.probability)
        for row in connection.execute(query.order_by(tasks.c.place))
    ]
    known_tasks = {role: known_tasks_of(connection, campaign, role) for role in ("gold", "qualify")}
    refuse_too_many(len(work) + sum(map(len, known_tasks.values())), task_limit)
    copy = campaigns.create_campaign(connection, plan, draft=True)
    task_plan = TaskPlan.from_contents(campaign, known_tasks.items(), work)
    finishing = _separation_of(connection, campaign)
    if resumable_task_creation.create_tasks(connection, copy, task_plan, finishing) is None:
        resumable_task_creation.store_plan(connection, copy.id, task_plan)
    return campaigns.get_campaign(connection, copy.id)


def _separation_of(connection: Connection, campaign: Campaign) -> resumable_task_creation.Finishing:
    """Return which items, and which other campaigns, must not meet the same person in the copy either."""
    one, other = tasks.alias("one"), tasks.alias("other")
    query = (
        select(one.c.content, other.c.content.label("other_content"), other.c.study)
        .select_from(conflicts)
        .join(one, one.c.id == conflicts.c.task)
        .join(other, other.c.id == conflicts.c.other)
        .where(one.c.study == campaign.id)
    )
    pairs: set[tuple[str, str]] = set()
    others: set[str] = set()
    for row in connection.execute(query):
        if row.study == campaign.id:
            first, second = sorted((str(row.content["item"]["id"]), str(row.other_content["item"]["id"])))
            pairs.add((first, second))
        else:
            others.add(row.study)
    return resumable_task_creation.Finishing(opens=False, pairs=sorted(pairs), others=sorted(others))
