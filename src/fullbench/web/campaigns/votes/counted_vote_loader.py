"""Votes that count, loaded from the database with labels, raters and times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, select

from fullbench.web.accounts.account_and_shared_site_tables import users
from fullbench.web.campaigns.campaign_tables import slots, tasks, votes
from fullbench.web.campaigns.campaigns import Campaign


@dataclass(frozen=True, slots=True)
class Vote:
    """Vote that counts. `label` is None if the person abstained or nothing is comparable."""

    id: int
    task: int
    role: str
    person: str
    answer: dict[str, Any]
    display_order: tuple[int, ...]
    label: str | None
    right: bool | None
    seconds: float
    at: float
    revision: int = 1
    guideline: str = ""
    probability: float | None = None


def load_counted_votes(
    connection: Connection, campaign: Campaign, *, roles: Sequence[str] = ("work",), revisions: bool = False
) -> list[Vote]:
    """Return the latest revision of every vote (or all `revisions`) on tasks of these roles, by task and time."""
    latest = slots.c.id == votes.c.slot
    query = (
        select(votes, tasks.c.role, tasks.c.probability)
        .join(slots, latest if revisions else and_(latest, slots.c.revision == votes.c.revision))
        .join(tasks, tasks.c.id == votes.c.task)
        .where(votes.c.study == campaign.id, tasks.c.role.in_(roles))
        .order_by(tasks.c.place, votes.c.at, votes.c.id)
    )
    return [_vote_from_row(campaign, row) for row in connection.execute(query)]


def _vote_from_row(campaign: Campaign, row: Any) -> Vote:
    label = campaign.kind.label(row.answer)
    return Vote(
        row.id, row.task, row.role, row.person, row.answer, tuple(row.shown), label, row.right, row.seconds, row.at,
        row.revision, row.guideline, row.probability,
    )  # fmt: skip


def account_names(connection: Connection) -> dict[str, str]:
    """Return the account names by user id."""
    return {row.id: row.name for row in connection.execute(select(users.c.id, users.c.name))}


def rater_ids(connection: Connection) -> dict[str, str]:
    """Return the rater ids used in ledgers by user id."""
    return {row.id: row.rater for row in connection.execute(select(users.c.id, users.c.rater))}


def task_contents(
    connection: Connection, campaign: Campaign, roles: Sequence[str] = ("work",), *, count: int | None = None
) -> Iterator[tuple[int, Any]]:
    """Return the stored contents of a campaign's tasks in order: all, or the first `count`."""
    query = select(tasks.c.id, tasks.c.content).where(tasks.c.study == campaign.id, tasks.c.role.in_(roles))
    yield from ((row.id, row.content) for row in connection.execute(query.order_by(tasks.c.place).limit(count)))
