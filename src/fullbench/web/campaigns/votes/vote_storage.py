"""Votes: kept once, changed by revisions, and what each brings about."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Integer, Row, and_, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from fullbench.errors import UserError
from fullbench.web.campaigns.campaign_tables import drafts, leases, members, slots, tasks, votes
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.tasks import picture_uploads
from fullbench.web.campaigns.tasks.task_content import Content, order
from fullbench.web.campaigns.votes.task_queue import GONE, Desk, Gone, mine
from fullbench.web.database import insert_here


class Clash(UserError):
    """A vote that is at odds with what is kept: given before, or the study is closed."""


@dataclass(frozen=True)
class Receipt:
    """A vote that is kept. `again` says that it was kept before, when it was sent the first time."""

    lease: str
    revision: int
    again: bool = False


def vote(
    desk: Desk,
    token: str,
    *,
    key: str,
    fields: Mapping[str, str],
    replaces: int = 0,
    seconds: float = 0.0,
    guideline: str = "",
) -> Receipt:
    """Keep a vote, or a change of one.

    `key` names this vote: the same key again is the same vote, and counts once. `replaces` is the revision that the
    person saw, 0 for none. A vote from a second tab, on top of one that this page had not seen, is a revision as well:
    the latest counts and all stay. A lease that ran out still serves: where somebody else has taken the slot, the late
    vote gets one of its own.
    """
    study, person = desk.study, desk.person
    slot = _slot(desk, token)
    if slot.revision != replaces:
        sent_before = _again(desk, slot, key)
        if sent_before is not None:
            return sent_before
        if replaces > slot.revision:
            raise Clash(f"there is no revision {replaces} of this vote; the latest is {slot.revision}")
    if not study.is_open:
        raise Clash(f"the study {study.name!r} is closed; your vote was not counted")
    content = Content.of(slot.content)
    shown = order(study.seed, study.id, slot.task, person, len(content.responses))
    answer = study.kind.read(fields, study.rules, shown)
    if "pictures" in answer:
        picture_uploads.check(desk.connection, person, answer, content)
    right = None if slot.known is None else study.kind.label(answer) == study.kind.label(slot.known)
    revision = slot.revision + 1
    filled = desk.connection.execute(
        _FILLED, {"p_id": slot.id, "p_lease": slot.lease, "p_replaces": slot.revision, "revision": revision}
    )
    if filled.rowcount != 1:
        raise Gone(GONE)
    row = {
        "slot": slot.id, "study": study.id, "task": slot.task, "person": person, "revision": revision, "key": key,
        "answer": answer, "shown": shown, "right": right, "seconds": max(0.0, seconds), "at": desk.now,
        "guideline": guideline,
    }  # fmt: skip
    try:
        desk.connection.execute(_KEPT, row)
    except IntegrityError as error:
        raise Clash("this vote's key was used for another vote; a key names one vote") from error
    if slot.drafted is not None:
        desk.connection.execute(delete(drafts).where(drafts.c.slot == slot.id))
    _after(desk, slot, first=revision == 1)
    return Receipt(slot.lease, revision)


_SLOT = (
    select(
        slots.c.id, slots.c.task, slots.c.revision, slots.c.lease, tasks.c.role, tasks.c.known, tasks.c.content,
        drafts.c.slot.label("drafted"),
    )
    .join(members, and_(members.c.study == slots.c.study, members.c.person == slots.c.person))
    .join(tasks, tasks.c.id == slots.c.task)
    .outerjoin(drafts, drafts.c.slot == slots.c.id)
    .where(
        slots.c.lease == bindparam("p_lease"),
        slots.c.person == bindparam("p_person"),
        slots.c.study == bindparam("p_study"),
    )
    .with_for_update(of=members)
)  # fmt: skip
_FILLED = (
    update(slots)
    .where(slots.c.id == bindparam("p_id"), slots.c.lease == bindparam("p_lease"))
    .where(slots.c.revision == bindparam("p_replaces"))
    .values(revision=bindparam("revision"))
)
_DONE = (
    update(members)
    .where(members.c.study == bindparam("p_study"), members.c.person == bindparam("p_person"))
    .values(done=members.c.done + 1)
)
_COUNTED = (
    update(tasks)
    .where(tasks.c.id == bindparam("p_task"))
    .values(voted=tasks.c.voted + bindparam("p_more", type_=Integer))
    .returning(tasks.c.voted, tasks.c.wanted)
)
_KEPT = insert(votes)


def _slot(desk: Desk, token: str) -> Row[*tuple[Any, ...]]:
    values = {"p_lease": token, "p_person": desk.person, "p_study": desk.study.id}
    row = desk.connection.execute(_SLOT, values).first()
    if row is None:
        values["p_lease"] = _late(desk, token)
        row = desk.connection.execute(_SLOT, values).one()
    return row


def _late(desk: Desk, token: str) -> str:
    """The lease of this person's slot on the task that a lease was on before it ran out and went to somebody else.

    The slot is a further one: what somebody judged while the lease was theirs counts beside the other's vote.
    """
    held = (leases.c.lease == token, leases.c.person == desk.person, leases.c.study == desk.study.id)
    task = desk.connection.execute(select(leases.c.task).where(*held)).scalar()
    if task is None:
        raise Gone(GONE)
    own = select(slots.c.lease).where(slots.c.task == task, slots.c.person == desk.person)
    lease = desk.connection.execute(own).scalar()
    if lease is not None:
        return str(lease)
    row = {"study": desk.study.id, "task": task, "person": desk.person, "lease": token, "leased_at": desk.now,
           "expires": desk.now + desk.study.lease_seconds}  # fmt: skip
    desk.connection.execute(insert(slots).values(row))
    desk.connection.execute(update(tasks).where(tasks.c.id == task).values(wanted=tasks.c.wanted + 1))
    return token


def _again(desk: Desk, slot: Row[*tuple[Any, ...]], key: str) -> Receipt | None:
    """The receipt of a vote that was kept when it was sent the first time."""
    query = select(votes.c.revision).where(votes.c.person == desk.person, votes.c.key == key, votes.c.slot == slot.id)
    revision = desk.connection.execute(query).scalar()
    return None if revision is None else Receipt(slot.lease, revision, again=True)


def _after(desk: Desk, slot: Row[*tuple[Any, ...]], *, first: bool) -> None:
    """What a vote brings about: counters, another slot where people disagree, the end of the qualification."""
    study = desk.study
    if first:
        desk.connection.execute(_DONE, {"p_study": study.id, "p_person": desk.person})
    if slot.role == "qualify":
        _qualify(desk)
    if slot.role != "work":
        return
    counted = desk.connection.execute(_COUNTED, {"p_task": slot.task, "p_more": int(first)}).one()
    if counted.voted >= counted.wanted and wanting(study, _labels(desk, slot.task)):
        desk.connection.execute(insert(slots).values(study=study.id, task=slot.task, lot=random.random()))
        desk.connection.execute(update(tasks).where(tasks.c.id == slot.task).values(wanted=tasks.c.wanted + 1))


def _labels(desk: Desk, task: int) -> list[str | None]:
    """What the votes that count say; None for each person who could not judge."""
    rows = desk.connection.execute(
        select(votes.c.answer)
        .join(slots, and_(slots.c.id == votes.c.slot, slots.c.revision == votes.c.revision))
        .where(votes.c.task == task)
    ).scalars()
    return [None if answer.get("recused") else desk.study.kind.label(answer) or "" for answer in rows]


def wanting(study: Study, labels: Sequence[str | None]) -> bool:
    """Whether a task with these votes needs another one."""
    ruled_labels = [label for label in labels if label is not None]
    if len(ruled_labels) < study.votes:
        return len(labels) < study.most + study.votes
    top = Counter(ruled_labels).most_common(1)[0][1]
    agreed = top == len(ruled_labels) if study.settled_by == "all" else 2 * top > len(ruled_labels)
    return not agreed and len(ruled_labels) < study.most and len(labels) < study.most + study.votes


def _qualify(desk: Desk) -> None:
    """Let a person in, or not, once the qualification round is over."""
    rights = desk.connection.execute(
        select(votes.c.right)
        .join(slots, and_(slots.c.id == votes.c.slot, slots.c.revision == votes.c.revision))
        .join(tasks, tasks.c.id == votes.c.task)
        .where(votes.c.study == desk.study.id, votes.c.person == desk.person, tasks.c.role == "qualify")
    ).scalars().all()  # fmt: skip
    total = desk.connection.execute(
        select(func.count()).where(tasks.c.study == desk.study.id, tasks.c.role == "qualify")
    ).scalar_one()
    if len(rights) < total:
        return
    standing = "qualified" if sum(map(bool, rights)) >= desk.study.pass_share * total else "failed"
    desk.connection.execute(update(members).where(desk.member, members.c.standing == "new").values(standing=standing))


def draft(desk: Desk, token: str, fields: Mapping[str, str]) -> None:
    """Keep what is filled in so far; the latest draft counts."""
    slot = desk.connection.execute(select(slots.c.id).where(mine(desk, token))).scalar()
    if slot is None:
        raise Gone(GONE)
    expires = desk.now + desk.study.lease_seconds
    desk.connection.execute(update(slots).where(slots.c.id == slot).values(expires=expires))
    values = {"person": desk.person, "fields": dict(fields), "at": desk.now}
    query = insert_here(desk.connection, drafts).values(slot=slot, **values)
    desk.connection.execute(query.on_conflict_do_update(index_elements=[drafts.c.slot], set_=values))
