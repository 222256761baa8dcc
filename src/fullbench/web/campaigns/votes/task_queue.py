"""Task queue: assigns slots to people by lease.

Each function runs inside one transaction of the caller. The first statement locks the person's row of the campaign, so
that two requests of one person take turns. A free slot is taken with SKIP LOCKED if the database has it (on SQLite
there is only one writer), so that requests of different people neither wait nor collide.
"""

from __future__ import annotations

import operator
import random
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    and_,
    bindparam,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from fullbench.core.json_digests_and_cached_properties import digest
from fullbench.errors import UserError
from fullbench.web.accounts.account_and_shared_site_tables import users
from fullbench.web.campaigns.campaign_tables import (
    arrivals,
    conflicts,
    drafts,
    leases,
    members,
    slots,
    task_authors,
    tasks,
    votes,
)
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.tasks.task_content import Content, draw_display_order
from fullbench.web.database import dialect_insert

MOST_HELD_SLOTS = 4
"""Maximum number of slots that one person holds: the one shown, and some loaded ahead."""

Why = Literal["done", "failed", "closed", "wait", "assigned"]


LEASE_GONE_MESSAGE = (
    "this task is not yours, or your time for it ran out and it went to somebody else; go on with the next one"
)


class LeaseGone(UserError):
    """Error for a lease that is not, or no longer, this person's."""


@dataclass(frozen=True)
class AnnotatorContext:
    """One person at work on one campaign, at one time, in one transaction."""

    connection: Connection
    campaign: Campaign
    person: str
    now: float

    @property
    def member(self) -> ColumnElement[bool]:
        return and_(members.c.study == self.campaign.id, members.c.person == self.person)

    def draw(self, turn: int, what: str) -> float:
        """Return a number from 0 to 1 that this person cannot predict and that is always the same."""
        return random.Random(digest([self.campaign.seed, self.campaign.id, self.person, turn, what])).random()


@dataclass(frozen=True)
class Lease:
    """Slot held by one person."""

    token: str
    campaign_id: str
    task: int
    role: str
    content: Content
    display_order: tuple[int, ...]
    revision: int = 0
    answer: Mapping[str, Any] | None = None
    draft: Mapping[str, str] | None = None


@dataclass(frozen=True)
class NoTask:
    """Reason why there is no task.

    The person did everything (`done`) or did not qualify (`failed`), the campaign is closed, others hold the remaining
    tasks (`wait`), or the campaign is for other people (`assigned`).
    """

    why: Why


# SQL statements that every vote needs, built once at import.


def _barred_condition(
    free: Any, *, has_conflicts: bool, has_authors: bool, only_voted: bool = False
) -> ColumnElement[bool]:
    """A slot is barred if the person has the task (`only_voted`: voted on it), has a conflicting one, or wrote its
    content.
    """
    own_slots = slots.alias("mine")
    person: BindParameter[str] = bindparam("p_person")
    by_them = (
        and_(own_slots.c.person == person, own_slots.c.revision > 0) if only_voted else own_slots.c.person == person
    )
    condition: ColumnElement[bool] = exists().where(own_slots.c.task == free.c.task, by_them)
    if has_conflicts:
        conflict_condition = exists().where(
            conflicts.c.task == free.c.task, own_slots.c.task == conflicts.c.other, own_slots.c.person == person
        )
        condition = or_(condition, conflict_condition)
    if has_authors:
        own_work = exists().where(
            task_authors.c.task == free.c.task,
            users.c.id == person,
            or_(task_authors.c.author == users.c.name, task_authors.c.author == users.c.rater),
        )
        condition = or_(condition, own_work)
    return condition


def _take_statement(side: Callable[[Any, Any], ColumnElement[bool]], *, has_conflicts: bool, has_authors: bool) -> Any:
    """Take the free slot with the lowest lot on one side of the start."""
    free = slots.alias("free")
    lowest = (
        select(free.c.id)
        .where(free.c.study == bindparam("p_study"), free.c.revision == 0, free.c.expires < bindparam("p_now"))
        .where(
            side(free.c.lot, bindparam("p_start")),
            ~_barred_condition(free, has_conflicts=has_conflicts, has_authors=has_authors),
        )
        .order_by(free.c.lot)
        .limit(1)
        .with_for_update(skip_locked=True, of=free)
    )
    return (
        update(slots)
        .where(slots.c.id == lowest.scalar_subquery())
        .values({name: bindparam(name) for name in ("person", "lease", "leased_at", "expires")})
        .returning(slots.c.task)
    )


# Two statements each: free slots from the start upwards, then, from the lowest lot, those below it.
_TAKE_STATEMENTS = {
    (conflicted, authored): [
        _take_statement(side, has_conflicts=conflicted, has_authors=authored) for side in (operator.ge, operator.lt)
    ]
    for conflicted in (False, True)
    for authored in (False, True)
}


def _waiting_query(*, has_conflicts: bool, has_authors: bool) -> Any:
    free = slots.alias("free")
    condition = _barred_condition(free, has_conflicts=has_conflicts, has_authors=has_authors, only_voted=True)
    return select(func.count(free.c.task.distinct())).where(
        free.c.study == bindparam("p_study"), free.c.revision == 0, free.c.lot.is_not(None), ~condition
    )


_WAITING_QUERIES = {
    (conflicted, authored): _waiting_query(has_conflicts=conflicted, has_authors=authored)
    for conflicted in (False, True)
    for authored in (False, True)
}
_MEMBER_QUERY = (
    select(members.c.standing, members.c.done)
    .where(members.c.study == bindparam("p_study"), members.c.person == bindparam("p_person"))
    .with_for_update()
)
_HELD_SLOTS_QUERY = (
    select(slots.c.id, slots.c.task, slots.c.lease)
    .where(slots.c.person == bindparam("p_person"), slots.c.study == bindparam("p_study"), slots.c.revision == 0)
    .order_by(slots.c.leased_at, slots.c.id)
)
_RENEW_LEASE = update(slots).where(slots.c.id == bindparam("p_id")).values(expires=bindparam("expires"))
_INSERT_LEASE = insert(leases)
_LEASED_TASK_QUERY = (
    select(tasks.c.content, tasks.c.role, slots.c.revision, drafts.c.fields)
    .join(slots, slots.c.task == tasks.c.id)
    .outerjoin(drafts, and_(drafts.c.slot == slots.c.id, drafts.c.person == slots.c.person))
    .where(tasks.c.id == bindparam("p_task"), slots.c.lease == bindparam("p_lease"))
)


def take_next_task(context: AnnotatorContext, holding: Sequence[str] = ()) -> Lease | NoTask:
    """Return the next slot for this person that is not in `holding`: one already held, or a free one."""
    campaign = context.campaign
    if not campaign.is_open:
        return NoTask("closed")
    membership = _enter_campaign(context)
    if membership is None:
        return NoTask("assigned")
    standing, vote_count = membership
    here = {"p_person": context.person, "p_study": campaign.id}
    held_slots = context.connection.execute(_HELD_SLOTS_QUERY, here).all()
    # At the limit, the oldest held slot is given again, even if it is in `holding`.
    held_slot = next(
        (slot for slot in held_slots if slot.lease not in holding),
        held_slots[0] if len(held_slots) >= MOST_HELD_SLOTS else None,
    )
    if held_slot is not None:
        renewal = {"p_id": held_slot.id, "expires": context.now + campaign.lease_seconds}
        context.connection.execute(_RENEW_LEASE, renewal)
        return _load_lease(context, held_slot.task, held_slot.lease)
    if standing == "failed":
        return NoTask("failed")
    turn = vote_count + len(held_slots)
    if 0 < int(campaign.rules.options.get("each") or 0) <= turn:
        return NoTask("done")
    if standing == "new":
        return _take_known_task(context, "qualify", turn) or NoTask("wait")
    if campaign.golds and campaign.gold_every and context.draw(turn, "gold") < 1 / campaign.gold_every:
        gold = _take_known_task(context, "gold", turn)
        if gold is not None:
            return gold
    return _take_free_slot(context, turn)


def _enter_campaign(context: AnnotatorContext) -> tuple[str, int] | None:
    """Lock the person's row of the campaign, insert it if missing, and return standing and number of votes.

    None if only assigned people may work here, or if this person came for other campaigns.
    """
    campaign = context.campaign
    here = {"p_person": context.person, "p_study": campaign.id}
    row = context.connection.execute(_MEMBER_QUERY, here).first()
    if row is None:
        came_for_others = exists().where(arrivals.c.person == context.person)
        if campaign.rules.options.get("assigned") or context.connection.execute(select(came_for_others)).scalar():
            return None
        fresh = {
            "study": campaign.id,
            "person": context.person,
            "standing": "new" if campaign.qualifies else "qualified",
        }
        context.connection.execute(
            dialect_insert(context.connection, members).values(**fresh, done=0, at=context.now).on_conflict_do_nothing()
        )
        row = context.connection.execute(_MEMBER_QUERY, here).one()
    return row.standing, row.done


def _take_known_task(context: AnnotatorContext, role: str, turn: int) -> Lease | None:
    """The task is new to this person, and nobody else can fill the slot."""
    campaign = context.campaign
    has_met_task = exists().where(slots.c.task == tasks.c.id, slots.c.person == context.person)
    query = (
        select(tasks.c.id).where(tasks.c.study == campaign.id, tasks.c.role == role, ~has_met_task).order_by(tasks.c.id)
    )
    left = context.connection.execute(query).scalars().all()
    if not left:
        return None
    task = left[int(context.draw(turn, role) * len(left))]
    token = secrets.token_urlsafe(16)
    context.connection.execute(
        insert(slots).values(
            study=campaign.id,
            task=task,
            person=context.person,
            lease=token,
            leased_at=context.now,
            expires=context.now + campaign.lease_seconds,
        )
    )
    return _load_lease(context, task, token)


def _take_free_slot(context: AnnotatorContext, turn: int) -> Lease | NoTask:
    """Take a slot that nobody holds or whose lease expired, starting at a lot drawn for this person and turn."""
    campaign = context.campaign
    token = secrets.token_urlsafe(16)
    values = {
        "p_person": context.person,
        "p_study": campaign.id,
        "p_now": context.now,
        "p_start": 0.0 if campaign.rules.options.get("ordered") else context.draw(turn, "lot"),
        "person": context.person,
        "lease": token,
        "leased_at": context.now,
        "expires": context.now + campaign.lease_seconds,
    }
    for taking in _TAKE_STATEMENTS[campaign.has_conflicts, bool(campaign.rules.options.get("authored"))]:
        task = context.connection.execute(taking, values).scalar()
        if task is not None:
            context.connection.execute(
                _INSERT_LEASE,
                {"lease": token, "study": campaign.id, "task": task, "person": context.person, "at": context.now},
            )
            return _load_lease(context, task, token)
    return NoTask("wait" if count_waiting_tasks(context.connection, campaign, context.person) else "done")


def count_waiting_tasks(connection: Connection, campaign: Campaign, person: str) -> int:
    """Return the number of tasks on which this person could vote, even if others hold them now."""
    query = _WAITING_QUERIES[campaign.has_conflicts, bool(campaign.rules.options.get("authored"))]
    return int(connection.execute(query, {"p_study": campaign.id, "p_person": person}).scalar_one())


def _load_lease(context: AnnotatorContext, task: int, token: str) -> Lease:
    row = context.connection.execute(_LEASED_TASK_QUERY, {"p_task": task, "p_lease": token}).one()
    return _build_lease(context, task, token, row)


def _build_lease(
    context: AnnotatorContext,
    task: int,
    token: str,
    row: Row[*tuple[Any, ...]],
    answer: Mapping[str, Any] | None = None,
) -> Lease:
    content = Content.from_json(row.content)
    display_order = tuple(
        draw_display_order(context.campaign.seed, context.campaign.id, task, context.person, len(content.responses))
    )
    return Lease(token, context.campaign.id, task, row.role, content, display_order, row.revision, answer, row.fields)


def own_slot_condition(context: AnnotatorContext, token: str) -> ColumnElement[bool]:
    return and_(slots.c.lease == token, slots.c.person == context.person, slots.c.study == context.campaign.id)


def find_held_lease(context: AnnotatorContext, token: str) -> Lease:
    """Return a slot that this person holds or has filled, with the latest answer, to edit it."""
    row = context.connection.execute(
        select(slots.c.task, slots.c.revision, tasks.c.content, tasks.c.role, votes.c.answer, drafts.c.fields)
        .join(tasks, tasks.c.id == slots.c.task)
        .outerjoin(votes, and_(votes.c.slot == slots.c.id, votes.c.revision == slots.c.revision))
        .outerjoin(drafts, and_(drafts.c.slot == slots.c.id, drafts.c.person == slots.c.person))
        .where(own_slot_condition(context, token))
    ).first()
    if row is None:
        raise LeaseGone(LEASE_GONE_MESSAGE)
    return _build_lease(context, row.task, token, row, row.answer)
