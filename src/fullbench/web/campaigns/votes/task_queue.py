"""Who gets what: slots by lease.

Each function runs inside one transaction of the caller. The first statement takes the person's own row of the study,
so that two requests of one person take turns; a free slot is taken with SKIP LOCKED where the database has it (on
SQLite a transaction that writes is alone), so that requests of different people neither wait nor meet.
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

from fullbench.core.digests import digest
from fullbench.errors import UserError
from fullbench.web.accounts.account_tables import users
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
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.tasks.task_content import Content, order
from fullbench.web.database import insert_here

HELD = 4
"""How many slots one person may hold at once: the one in view, and some loaded ahead."""

Why = Literal["done", "failed", "closed", "wait", "assigned"]


GONE = "this task is not yours, or your time for it ran out and it went to somebody else; go on with the next one"


class Gone(UserError):
    """A lease that is not this person's, or no longer."""


@dataclass(frozen=True)
class Desk:
    """One person at work on one study, now, in one transaction."""

    connection: Connection
    study: Study
    person: str
    now: float

    @property
    def member(self) -> ColumnElement[bool]:
        return and_(members.c.study == self.study.id, members.c.person == self.person)

    def draw(self, turn: int, what: str) -> float:
        """A number from 0 to 1 that this person cannot foresee and that is always the same."""
        return random.Random(digest([self.study.seed, self.study.id, self.person, turn, what])).random()


@dataclass(frozen=True)
class Lease:
    """One slot in one person's hands."""

    token: str
    study: str
    task: int
    role: str
    content: Content
    shown: tuple[int, ...]
    revision: int = 0
    answer: Mapping[str, Any] | None = None
    draft: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Nothing:
    """Why there is nothing to do: all is done, did not qualify, the study is closed, others hold what is left, or the
    study is for others."""

    why: Why


# The statements of every vote, put together once.


def _barred(free: Any, *, conflicted: bool, authored: bool, voted: bool = False) -> ColumnElement[bool]:
    """Whether a slot is not for this person: of a task they met (with `voted`: voted on), one that must not meet those,
    or their own work."""
    own = slots.alias("mine")
    person: BindParameter[str] = bindparam("p_person")
    by_them = and_(own.c.person == person, own.c.revision > 0) if voted else own.c.person == person
    barred: ColumnElement[bool] = exists().where(own.c.task == free.c.task, by_them)
    if conflicted:
        other = exists().where(conflicts.c.task == free.c.task, own.c.task == conflicts.c.other, own.c.person == person)
        barred = or_(barred, other)
    if authored:
        own_work = exists().where(
            task_authors.c.task == free.c.task,
            users.c.id == person,
            or_(task_authors.c.author == users.c.name, task_authors.c.author == users.c.rater),
        )
        barred = or_(barred, own_work)
    return barred


def _taking(side: Callable[[Any, Any], ColumnElement[bool]], *, conflicted: bool, authored: bool) -> Any:
    """Take the free slot with the lowest lot on one side of the start, in one statement."""
    free = slots.alias("free")
    lowest = (
        select(free.c.id)
        .where(free.c.study == bindparam("p_study"), free.c.revision == 0, free.c.expires < bindparam("p_now"))
        .where(side(free.c.lot, bindparam("p_start")), ~_barred(free, conflicted=conflicted, authored=authored))
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


_TAKING = {
    (conflicted, authored): [
        _taking(side, conflicted=conflicted, authored=authored) for side in (operator.ge, operator.lt)
    ]
    for conflicted in (False, True)
    for authored in (False, True)
}


def _waiting(*, conflicted: bool, authored: bool) -> Any:
    """How many tasks want a vote that this person could give, whoever holds them now."""
    free = slots.alias("free")
    barred = _barred(free, conflicted=conflicted, authored=authored, voted=True)
    return select(func.count(free.c.task.distinct())).where(
        free.c.study == bindparam("p_study"), free.c.revision == 0, free.c.lot.is_not(None), ~barred
    )


_WAITING = {
    (conflicted, authored): _waiting(conflicted=conflicted, authored=authored)
    for conflicted in (False, True)
    for authored in (False, True)
}
_MEMBER = (
    select(members.c.standing, members.c.done)
    .where(members.c.study == bindparam("p_study"), members.c.person == bindparam("p_person"))
    .with_for_update()
)
_HELD = (
    select(slots.c.id, slots.c.task, slots.c.lease)
    .where(slots.c.person == bindparam("p_person"), slots.c.study == bindparam("p_study"), slots.c.revision == 0)
    .order_by(slots.c.leased_at, slots.c.id)
)
_RENEWED = update(slots).where(slots.c.id == bindparam("p_id")).values(expires=bindparam("expires"))
_NOTED = insert(leases)
_LEASED = (
    select(tasks.c.content, tasks.c.role, slots.c.revision, drafts.c.fields)
    .join(slots, slots.c.task == tasks.c.id)
    .outerjoin(drafts, and_(drafts.c.slot == slots.c.id, drafts.c.person == slots.c.person))
    .where(tasks.c.id == bindparam("p_task"), slots.c.lease == bindparam("p_lease"))
)


def take(desk: Desk, holding: Sequence[str] = ()) -> Lease | Nothing:
    """The next slot for this person, other than those named in `holding`: one held already, or a free one."""
    study = desk.study
    if not study.is_open:
        return Nothing("closed")
    entered = _enter(desk)
    if entered is None:
        return Nothing("assigned")
    standing, done = entered
    here = {"p_person": desk.person, "p_study": study.id}
    held = desk.connection.execute(_HELD, here).all()
    own = next((slot for slot in held if slot.lease not in holding), held[0] if len(held) >= HELD else None)
    if own is not None:
        renewed = {"p_id": own.id, "expires": desk.now + study.lease_seconds}
        desk.connection.execute(_RENEWED, renewed)
        return _lease(desk, own.task, own.lease)
    if standing == "failed":
        return Nothing("failed")
    turn = done + len(held)
    if 0 < int(study.rules.options.get("each") or 0) <= turn:
        return Nothing("done")
    if standing == "new":
        return _known(desk, "qualify", turn) or Nothing("wait")
    if study.golds and study.gold_every and desk.draw(turn, "gold") < 1 / study.gold_every:
        gold = _known(desk, "gold", turn)
        if gold is not None:
            return gold
    return _free(desk, turn)


def _enter(desk: Desk) -> tuple[str, int] | None:
    """Take this person's row of the study, made where there is none: their standing, and how much they have done.

    None where the study is for people who were assigned alone, or this person came for other studies.
    """
    study = desk.study
    here = {"p_person": desk.person, "p_study": study.id}
    row = desk.connection.execute(_MEMBER, here).first()
    if row is None:
        came_for_others = exists().where(arrivals.c.person == desk.person)
        if study.rules.options.get("assigned") or desk.connection.execute(select(came_for_others)).scalar():
            return None
        fresh = {"study": study.id, "person": desk.person, "standing": "new" if study.qualifies else "qualified"}
        desk.connection.execute(
            insert_here(desk.connection, members).values(**fresh, done=0, at=desk.now).on_conflict_do_nothing()
        )
        row = desk.connection.execute(_MEMBER, here).one()
    return row.standing, row.done


def _known(desk: Desk, role: str, turn: int) -> Lease | None:
    """A slot on a task with a known answer that this person has not met; only they can fill it."""
    study = desk.study
    seen = exists().where(slots.c.task == tasks.c.id, slots.c.person == desk.person)
    query = select(tasks.c.id).where(tasks.c.study == study.id, tasks.c.role == role, ~seen).order_by(tasks.c.id)
    left = desk.connection.execute(query).scalars().all()
    if not left:
        return None
    task = left[int(desk.draw(turn, role) * len(left))]
    token = secrets.token_urlsafe(16)
    desk.connection.execute(
        insert(slots).values(
            study=study.id,
            task=task,
            person=desk.person,
            lease=token,
            leased_at=desk.now,
            expires=desk.now + study.lease_seconds,
        )
    )
    return _lease(desk, task, token)


def _free(desk: Desk, turn: int) -> Lease | Nothing:
    """A slot that nobody holds, or whose lease ran out: the first from a lot drawn for this person and turn."""
    study = desk.study
    token = secrets.token_urlsafe(16)
    values = {
        "p_person": desk.person, "p_study": study.id, "p_now": desk.now,
        "p_start": 0.0 if study.rules.options.get("ordered") else desk.draw(turn, "lot"),
        "person": desk.person, "lease": token, "leased_at": desk.now, "expires": desk.now + study.lease_seconds,
    }  # fmt: skip
    for taking in _TAKING[study.conflicted, bool(study.rules.options.get("authored"))]:
        task = desk.connection.execute(taking, values).scalar()
        if task is not None:
            desk.connection.execute(_NOTED, {"lease": token, "study": study.id, "task": task, "person": desk.person,
                                             "at": desk.now})  # fmt: skip
            return _lease(desk, task, token)
    return Nothing("wait" if waiting(desk.connection, study, desk.person) else "done")


def waiting(connection: Connection, study: Study, person: str) -> int:
    """How many tasks of a study want a vote that this person could give, whoever holds them now."""
    query = _WAITING[study.conflicted, bool(study.rules.options.get("authored"))]
    return int(connection.execute(query, {"p_study": study.id, "p_person": person}).scalar_one())


def _lease(desk: Desk, task: int, token: str) -> Lease:
    row = desk.connection.execute(_LEASED, {"p_task": task, "p_lease": token}).one()
    return _made(desk, task, token, row)


def _made(
    desk: Desk, task: int, token: str, row: Row[*tuple[Any, ...]], answer: Mapping[str, Any] | None = None
) -> Lease:
    content = Content.of(row.content)
    shown = tuple(order(desk.study.seed, desk.study.id, task, desk.person, len(content.responses)))
    return Lease(token, desk.study.id, task, row.role, content, shown, row.revision, answer, row.fields)


def mine(desk: Desk, token: str) -> ColumnElement[bool]:
    return and_(slots.c.lease == token, slots.c.person == desk.person, slots.c.study == desk.study.id)


def held(desk: Desk, token: str) -> Lease:
    """A slot that this person holds or has filled, with the answer that counts: for going back."""
    row = desk.connection.execute(
        select(slots.c.task, slots.c.revision, tasks.c.content, tasks.c.role, votes.c.answer, drafts.c.fields)
        .join(tasks, tasks.c.id == slots.c.task)
        .outerjoin(votes, and_(votes.c.slot == slots.c.id, votes.c.revision == slots.c.revision))
        .outerjoin(drafts, and_(drafts.c.slot == slots.c.id, drafts.c.person == slots.c.person))
        .where(mine(desk, token))
    ).first()
    if row is None:
        raise Gone(GONE)
    return _made(desk, row.task, token, row, row.answer)
