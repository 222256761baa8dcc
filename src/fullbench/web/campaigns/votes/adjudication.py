"""Splits, and what a lead rules on them. A ruling is a verdict of its own, marked as one; every vote stays as it is."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, func, insert, select

from fullbench.core.note import Note
from fullbench.errors import InputError
from fullbench.web.accounts.users import User
from fullbench.web.campaigns.campaign_tables import adjudications, tasks
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.votes.counted_votes import Vote, counted
from fullbench.web.words import key

ROLE = "adjudication"
Standing = Literal["no votes", "one mind", "differ", "split", "ruled"]
STANDINGS: Mapping[Standing, str] = {
    "split": key("split: no majority"),
    "differ": key("not of one mind"),
    "one mind": key("of one mind"),
    "ruled": key("ruled on by a lead"),
    "no votes": key("without votes"),
}
"""How people stand on a task; each task is under one of these."""


@dataclass(frozen=True)
class Task:
    """A task with its votes and the rulings of leads on it, the latest last."""

    id: int
    content: Mapping[str, Any]
    votes: Sequence[Vote]
    rulings: Sequence[Vote]

    @property
    def standing(self) -> Standing:
        return "ruled" if self.rulings else standing(self.votes)


def standing(votes: Sequence[Vote]) -> Standing:
    """How the votes on a task stand; people who could not judge say nothing."""
    labels = Counter(vote.label for vote in votes if vote.label is not None).most_common()
    if not labels:
        return "no votes"
    if len(labels) == 1:
        return "one mind"
    return "split" if labels[0][1] == labels[1][1] else "differ"


def listed(connection: Connection, study: Study) -> list[Task]:
    """All tasks of a study for work, in order."""
    by_task: dict[int, list[Vote]] = defaultdict(list)
    for vote in counted(connection, study):
        by_task[vote.task].append(vote)
    ruled: dict[int, list[Vote]] = defaultdict(list)
    for ruling in rulings(connection, study, revisions=True):
        ruled[ruling.task].append(ruling)
    query = select(tasks.c.id, tasks.c.content).where(tasks.c.study == study.id, tasks.c.role == "work")
    rows = connection.execute(query.order_by(tasks.c.place))
    return [Task(row.id, row.content, by_task[row.id], ruled[row.id]) for row in rows]


def waiting(connection: Connection, study: Study, counted_votes: Sequence[Vote]) -> int:
    """How many tasks are split and not ruled on yet."""
    ruled = {ruling.task for ruling in rulings(connection, study)}
    by_task: dict[int, list[Vote]] = defaultdict(list)
    for vote in counted_votes:
        by_task[vote.task].append(vote)
    return sum(standing(votes) == "split" for task, votes in by_task.items() if task not in ruled)


def task_of(connection: Connection, study: Study, task: int) -> Task | None:
    """One task of a study."""
    return next((candidate for candidate in listed(connection, study) if candidate.id == task), None)


def rulings(connection: Connection, study: Study, *, revisions: bool = False) -> list[Vote]:
    """What leads ruled, as votes: the latest of each task, or all `revisions`, by time."""
    query = select(adjudications).where(adjudications.c.study == study.id).order_by(adjudications.c.id)
    rows = connection.execute(query).all()
    latest = {row.task: row.id for row in rows}
    return [
        Vote(
            row.id, row.task, ROLE, row.person, row.answer, (), study.kind.label(row.answer), None, 0.0, row.at,
            row.revision, study.guideline,
        )
        for row in rows
        if revisions or latest[row.task] == row.id
    ]  # fmt: skip


def rule(connection: Connection, study: Study, task: Task, lead: User, fields: Mapping[str, str]) -> int:
    """Keep a lead's ruling on a task; the number of its revision. Places are those of the task, not of a person."""
    if not task.votes:
        raise InputError(
            Note(
                "web.wrong.nobody-voted-on-task",
                "nobody voted on task {task}; there is no split to rule on",
                task=task.id,
            )
        )
    if study.kind_name == "write":
        raise InputError(key("what people wrote is no vote; there is nothing to rule on"))
    if fields.get("recused"):
        raise InputError(key("a ruling says which; leave the task as it is where you cannot say"))
    answer = study.kind.read(fields, study.rules, range(len(task.content["responses"])))
    last = select(func.max(adjudications.c.revision)).where(adjudications.c.task == task.id)
    revision = (connection.execute(last).scalar() or 0) + 1
    row = {"study": study.id, "task": task.id, "revision": revision, "person": lead.id, "answer": answer,
           "at": time.time()}  # fmt: skip
    connection.execute(insert(adjudications).values(row))
    return revision
