"""Adjudication: a lead's verdict on a task where votes are split. It is stored separately and votes stay unchanged."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, func, insert, select

from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.web.accounts.users import User
from fullbench.web.campaigns.campaign_tables import adjudications, tasks
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.votes.counted_vote_loader import Vote, load_counted_votes
from fullbench.web.words import key

ROLE = "adjudication"
Standing = Literal["no votes", "one mind", "differ", "split", "adjudicated"]
STANDINGS: Mapping[Standing, str] = {
    "split": key("split: no majority"),
    "differ": key("not of one mind"),
    "one mind": key("of one mind"),
    "adjudicated": key("decided by a lead"),
    "no votes": key("without votes"),
}
"""States of the votes on a task; each task has one."""


@dataclass(frozen=True)
class Task:
    """Task with its votes and the adjudications of leads, latest last."""

    id: int
    content: Mapping[str, Any]
    votes: Sequence[Vote]
    adjudications: Sequence[Vote]

    @property
    def standing(self) -> Standing:
        return "adjudicated" if self.adjudications else votes_standing(self.votes)


def votes_standing(votes: Sequence[Vote]) -> Standing:
    """Return the state of the votes on a task; abstentions are ignored."""
    labels = Counter(vote.label for vote in votes if vote.label is not None).most_common()
    if not labels:
        return "no votes"
    if len(labels) == 1:
        return "one mind"
    return "split" if labels[0][1] == labels[1][1] else "differ"


def list_tasks(connection: Connection, campaign: Campaign) -> list[Task]:
    """Return all work tasks of a campaign, in order."""
    by_task: dict[int, list[Vote]] = defaultdict(list)
    for vote in load_counted_votes(connection, campaign):
        by_task[vote.task].append(vote)
    adjudications_by_task: dict[int, list[Vote]] = defaultdict(list)
    for verdict in list_adjudications(connection, campaign, revisions=True):
        adjudications_by_task[verdict.task].append(verdict)
    query = select(tasks.c.id, tasks.c.content).where(tasks.c.study == campaign.id, tasks.c.role == "work")
    rows = connection.execute(query.order_by(tasks.c.place))
    return [Task(row.id, row.content, by_task[row.id], adjudications_by_task[row.id]) for row in rows]


def count_open_splits(connection: Connection, campaign: Campaign, counted_votes: Sequence[Vote]) -> int:
    """Return the number of split tasks without adjudication."""
    adjudicated_tasks = {verdict.task for verdict in list_adjudications(connection, campaign)}
    by_task: dict[int, list[Vote]] = defaultdict(list)
    for vote in counted_votes:
        by_task[vote.task].append(vote)
    return sum(votes_standing(votes) == "split" for task, votes in by_task.items() if task not in adjudicated_tasks)


def task_of(connection: Connection, campaign: Campaign, task: int) -> Task | None:
    """Return one task of a campaign, or None."""
    return next((candidate for candidate in list_tasks(connection, campaign) if candidate.id == task), None)


def list_adjudications(connection: Connection, campaign: Campaign, *, revisions: bool = False) -> list[Vote]:
    """Return leads' adjudications as votes: the latest of each task, or all `revisions`, by time."""
    query = select(adjudications).where(adjudications.c.study == campaign.id).order_by(adjudications.c.id)
    rows = connection.execute(query).all()
    latest = {row.task: row.id for row in rows}
    return [
        Vote(
            row.id, row.task, ROLE, row.person, row.answer, (), campaign.kind.label(row.answer), None, 0.0, row.at,
            row.revision, campaign.guideline,
        )
        for row in rows
        if revisions or latest[row.task] == row.id
    ]  # fmt: skip


def store_adjudication(
    connection: Connection, campaign: Campaign, task: Task, lead: User, fields: Mapping[str, str]
) -> int:
    """Store a lead's adjudication and return its revision. Fields use the task's order, not a person's."""
    if not task.votes:
        raise InputError(Note("web.wrong.nobody-voted-on-task", task=task.id))
    if campaign.kind_name == "write":
        raise InputError(key("texts that people wrote are not votes; there is nothing to decide"))
    if fields.get("abstained"):
        raise InputError(key("a decision needs a choice; leave the task unchanged if you cannot decide"))
    answer = campaign.kind.read(fields, campaign.rules, range(len(task.content["responses"])))
    last = select(func.max(adjudications.c.revision)).where(adjudications.c.task == task.id)
    revision = (connection.execute(last).scalar() or 0) + 1
    row = {"study": campaign.id, "task": task.id, "revision": revision, "person": lead.id, "answer": answer,
           "at": time.time()}  # fmt: skip
    connection.execute(insert(adjudications).values(row))
    return revision
