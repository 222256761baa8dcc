"""A pilot: a few tasks of a study in a study of their own, so that its votes are never taken for others."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, func, select

from fullbench.core.note import Note
from fullbench.errors import InputError
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaign_tables import slots, tasks
from fullbench.web.campaigns.campaigns import Plan, Study
from fullbench.web.campaigns.create import omitted_data, task_creation
from fullbench.web.campaigns.create.task_creation import Finishing
from fullbench.web.campaigns.create.task_lists import refuse_too_many
from fullbench.web.campaigns.create.task_plans import TaskPlan
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.site_settings import TASK_LIMIT

MOST = 1000


def pilot_of(connection: Connection, study: Study) -> Study | None:
    """The newest pilot of a study."""
    return next((newest for newest in pilots(connection, study)), None)


def pilots(connection: Connection, study: Study) -> list[Study]:
    """All pilots of a study, the newest first."""
    every = campaigns.listed(connection, count=10_000)
    return [other for other in every if other.rules.options.get("pilot_of") == study.id]


def make(connection: Connection, study: Study, count: int, task_limit: int = TASK_LIMIT) -> Study:
    """Make a pilot of the first `count` tasks that a draw gives, open at once, with the guidelines of now.

    Known answers come along: a pilot also shows whether they are right.

    Args:
        connection: The transaction.
        study: The study that it is a pilot of.
        count: Number of tasks to work on.
        task_limit: Number of tasks that a study may have.
    """
    campaigns.refuse_unfinished(study)
    if study.is_pilot:
        raise InputError(Note("web.wrong.a-pilot-has-no-pilot", "{name!r} is a pilot itself", name=study.name))
    if not 1 <= count <= MOST:
        raise InputError(
            Note("web.wrong.a-pilot-has-tasks", "a pilot has 1 to {most} tasks; found {n}", most=MOST, n=count)
        )
    number = len(pilots(connection, study)) + 1
    left_out = {
        "creating",
        "draft",
        "guideline",
        "assigned",
        "each",
        "group",
        "ordered",
        "authored",
        "gain",
        omitted_data.OPTION,
    }
    options = {name: value for name, value in study.rules.options.items() if name not in left_out}
    plan = Plan(
        f"{study.name} (pilot{f' {number}' if number > 1 else ''})", study.kind_name, study.rules.ballot,
        study.rules.criterion, study.guidelines, {**options, "pilot_of": study.id}, study.votes, study.most,
        study.settled_by, study.lease_seconds, study.gold_every, study.pass_share, study.seed,
    )  # fmt: skip
    first = select(slots.c.task, func.min(slots.c.lot)).where(slots.c.study == study.id).group_by(slots.c.task)
    drawn = {row.task for row in connection.execute(first.order_by(func.min(slots.c.lot)).limit(count))}
    known = {role: _known_tasks(connection, study, role) for role in ("gold", "qualify")}
    query = select(tasks.c.content).where(tasks.c.id.in_(drawn), tasks.c.role == "work").order_by(tasks.c.place)
    work = [Content.of(content) for content in connection.execute(query).scalars()]
    refuse_too_many(len(work) + sum(map(len, known.values())), task_limit)
    task_plan = TaskPlan.from_contents(study, known.items(), work)
    new_pilot = campaigns.create(connection, plan, draft=not task_creation.is_small(plan.votes, task_plan))
    if task_creation.create_tasks(connection, new_pilot, task_plan, Finishing(opens=True)) is None:
        task_creation.store_plan(connection, new_pilot.id, task_plan)
    return campaigns.study(connection, new_pilot.id)


def _known_tasks(connection: Connection, study: Study, role: str) -> list[tuple[Content, dict[str, Any]]]:
    query = select(tasks.c.content, tasks.c.known).where(tasks.c.study == study.id, tasks.c.role == role)
    return [(Content.of(row.content), row.known) for row in connection.execute(query.order_by(tasks.c.place))]
