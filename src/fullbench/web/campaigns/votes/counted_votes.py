"""What people said, read from the database once: the votes that count, with labels, names and times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, select

from fullbench.web.accounts.account_tables import users
from fullbench.web.campaigns.campaign_tables import slots, tasks, votes
from fullbench.web.campaigns.campaigns import Study


@dataclass(frozen=True, slots=True)
class Vote:
    """One vote that counts. `label` is None where somebody could not judge or where nothing is comparable."""

    id: int
    task: int
    role: str
    person: str
    answer: dict[str, Any]
    shown: tuple[int, ...]
    label: str | None
    right: bool | None
    seconds: float
    at: float
    revision: int = 1
    guideline: str = ""
    probability: float | None = None


def counted(
    connection: Connection, study: Study, *, roles: Sequence[str] = ("work",), revisions: bool = False
) -> list[Vote]:
    """The latest revision of every vote on tasks of these roles (or all `revisions`), by task and time."""
    latest = slots.c.id == votes.c.slot
    query = (
        select(votes, tasks.c.role, tasks.c.probability)
        .join(slots, latest if revisions else and_(latest, slots.c.revision == votes.c.revision))
        .join(tasks, tasks.c.id == votes.c.task)
        .where(votes.c.study == study.id, tasks.c.role.in_(roles))
        .order_by(tasks.c.place, votes.c.at, votes.c.id)
    )
    return [_vote(study, row) for row in connection.execute(query)]


def _vote(study: Study, row: Any) -> Vote:
    label = study.kind.label(row.answer)
    return Vote(
        row.id, row.task, row.role, row.person, row.answer, tuple(row.shown), label, row.right, row.seconds, row.at,
        row.revision, row.guideline, row.probability,
    )  # fmt: skip


def names(connection: Connection) -> dict[str, str]:
    """The name of everybody with an account."""
    return {row.id: row.name for row in connection.execute(select(users.c.id, users.c.name))}


def raters(connection: Connection) -> dict[str, str]:
    """The id under which the votes of everybody with an account stand in a ledger."""
    return {row.id: row.rater for row in connection.execute(select(users.c.id, users.c.rater))}


def contents(
    connection: Connection, study: Study, roles: Sequence[str] = ("work",), *, count: int | None = None
) -> Iterator[tuple[int, Any]]:
    """Return the contents of a study's tasks as they are stored, in order: all, or the first `count`."""
    query = select(tasks.c.id, tasks.c.content).where(tasks.c.study == study.id, tasks.c.role.in_(roles))
    yield from ((row.id, row.content) for row in connection.execute(query.order_by(tasks.c.place).limit(count)))
