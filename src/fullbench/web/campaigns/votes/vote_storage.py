"""Storage of votes: idempotent inserts, revisions, and the updates that each vote triggers."""

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
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.tasks import pictures_uploaded_by_annotators
from fullbench.web.campaigns.tasks.task_content import Content, draw_display_order
from fullbench.web.campaigns.votes.task_queue import LEASE_GONE_MESSAGE, AnnotatorContext, LeaseGone, own_slot_condition
from fullbench.web.database import dialect_insert


class VoteConflict(UserError):
    """Error for a vote that contradicts the stored state: unknown revision, closed campaign or reused key."""


@dataclass(frozen=True)
class Receipt:
    """Stored vote. `again` is true if it was already stored by an earlier request."""

    lease: str
    revision: int
    again: bool = False


def store_vote(
    context: AnnotatorContext,
    token: str,
    *,
    key: str,
    fields: Mapping[str, str],
    replaces: int = 0,
    seconds: float = 0.0,
    guideline: str = "",
) -> Receipt:
    """Store a vote, or a change of one.

    A vote from a second tab, on top of one that this page had not seen, is a revision as well: the latest counts and
    all stay. An expired lease is still valid: if somebody else has taken the slot, the late vote gets its own slot.

    Args:
        context: Connection, campaign, person and time.
        token: Token of the lease.
        key: Identifies the vote: the same key again counts once.
        fields: Fields of the form.
        replaces: Revision that the person saw; 0 for none.
        seconds: Time that the person took.
        guideline: Version of the instructions that the person saw.
    """
    campaign, person = context.campaign, context.person
    slot = _find_slot(context, token)
    if slot.revision != replaces:
        # Checked before the state: a repeated request gets its receipt even if the campaign closed since.
        sent_before = _find_earlier_receipt(context, slot, key)
        if sent_before is not None:
            return sent_before
        if replaces > slot.revision:
            raise VoteConflict(f"there is no revision {replaces} of this vote; the latest is {slot.revision}")
    if not campaign.is_open:
        raise VoteConflict(f"the study {campaign.name!r} is closed; your vote was not counted")
    content = Content.from_json(slot.content)
    display_order = draw_display_order(campaign.seed, campaign.id, slot.task, person, len(content.responses))
    answer = campaign.kind.read(fields, campaign.rules, display_order)
    if "pictures" in answer:
        pictures_uploaded_by_annotators.check_own_pictures(context.connection, person, answer, content)
    right = None if slot.known is None else campaign.kind.label(answer) == campaign.kind.label(slot.known)
    revision = slot.revision + 1
    cursor = context.connection.execute(
        _FILL_SLOT, {"p_id": slot.id, "p_lease": slot.lease, "p_replaces": slot.revision, "revision": revision}
    )
    if cursor.rowcount != 1:
        raise LeaseGone(LEASE_GONE_MESSAGE)
    row = {
        "slot": slot.id, "study": campaign.id, "task": slot.task, "person": person, "revision": revision, "key": key,
        "answer": answer, "shown": display_order, "right": right, "seconds": max(0.0, seconds), "at": context.now,
        "guideline": guideline,
    }  # fmt: skip
    try:
        context.connection.execute(_INSERT_VOTE, row)
    except IntegrityError as error:
        raise VoteConflict("this vote's key was used for another vote; a key names one vote") from error
    if slot.drafted is not None:
        context.connection.execute(delete(drafts).where(drafts.c.slot == slot.id))
    _update_after_vote(context, slot, first=revision == 1)
    return Receipt(slot.lease, revision)


# Locks the member row, as the task queue does, so that two requests of one person take turns.
_SLOT_QUERY = (
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
_FILL_SLOT = (
    update(slots)
    .where(slots.c.id == bindparam("p_id"), slots.c.lease == bindparam("p_lease"))
    .where(slots.c.revision == bindparam("p_replaces"))
    .values(revision=bindparam("revision"))
)
_COUNT_MEMBER_VOTE = (
    update(members)
    .where(members.c.study == bindparam("p_study"), members.c.person == bindparam("p_person"))
    .values(done=members.c.done + 1)
)
_COUNT_TASK_VOTE = (
    update(tasks)
    .where(tasks.c.id == bindparam("p_task"))
    .values(voted=tasks.c.voted + bindparam("p_more", type_=Integer))
    .returning(tasks.c.voted, tasks.c.wanted)
)
_INSERT_VOTE = insert(votes)


def _find_slot(context: AnnotatorContext, token: str) -> Row[*tuple[Any, ...]]:
    values = {"p_lease": token, "p_person": context.person, "p_study": context.campaign.id}
    row = context.connection.execute(_SLOT_QUERY, values).first()
    if row is None:
        values["p_lease"] = _slot_for_late_vote(context, token)
        row = context.connection.execute(_SLOT_QUERY, values).one()
    return row


def _slot_for_late_vote(context: AnnotatorContext, token: str) -> str:
    """Return the lease of this person's additional slot on the task of an expired lease that went to somebody else.

    A vote on a task judged under a valid lease counts next to the other person's vote.
    """
    lease_condition = (
        leases.c.lease == token,
        leases.c.person == context.person,
        leases.c.study == context.campaign.id,
    )
    task = context.connection.execute(select(leases.c.task).where(*lease_condition)).scalar()
    if task is None:
        raise LeaseGone(LEASE_GONE_MESSAGE)
    own_slot_query = select(slots.c.lease).where(slots.c.task == task, slots.c.person == context.person)
    lease = context.connection.execute(own_slot_query).scalar()
    if lease is not None:
        return str(lease)
    row = {
        "study": context.campaign.id,
        "task": task,
        "person": context.person,
        "lease": token,
        "leased_at": context.now,
        "expires": context.now + context.campaign.lease_seconds,
    }
    context.connection.execute(insert(slots).values(row))
    context.connection.execute(update(tasks).where(tasks.c.id == task).values(wanted=tasks.c.wanted + 1))
    return token


def _find_earlier_receipt(context: AnnotatorContext, slot: Row[*tuple[Any, ...]], key: str) -> Receipt | None:
    query = select(votes.c.revision).where(
        votes.c.person == context.person, votes.c.key == key, votes.c.slot == slot.id
    )
    revision = context.connection.execute(query).scalar()
    return None if revision is None else Receipt(slot.lease, revision, again=True)


def _update_after_vote(context: AnnotatorContext, slot: Row[*tuple[Any, ...]], *, first: bool) -> None:
    campaign = context.campaign
    if first:
        context.connection.execute(_COUNT_MEMBER_VOTE, {"p_study": campaign.id, "p_person": context.person})
    if slot.role == "qualify":
        _finish_qualification(context)
    if slot.role != "work":
        return
    task_counts = context.connection.execute(_COUNT_TASK_VOTE, {"p_task": slot.task, "p_more": int(first)}).one()
    if task_counts.voted >= task_counts.wanted and needs_another_vote(campaign, _vote_labels(context, slot.task)):
        context.connection.execute(insert(slots).values(study=campaign.id, task=slot.task, lot=random.random()))
        context.connection.execute(update(tasks).where(tasks.c.id == slot.task).values(wanted=tasks.c.wanted + 1))


def _vote_labels(context: AnnotatorContext, task: int) -> list[str | None]:
    """Labels of the votes that count; None for each abstention."""
    rows = context.connection.execute(
        select(votes.c.answer)
        .join(slots, and_(slots.c.id == votes.c.slot, slots.c.revision == votes.c.revision))
        .where(votes.c.task == task)
    ).scalars()
    return [None if answer.get("abstained") else context.campaign.kind.label(answer) or "" for answer in rows]


def needs_another_vote(campaign: Campaign, labels: Sequence[str | None]) -> bool:
    """Return True if a task with these votes needs another one."""
    vote_labels = [label for label in labels if label is not None]
    if len(vote_labels) < campaign.votes:
        # Abstentions do not count as answers, so the number of all votes is limited too.
        return len(labels) < campaign.most + campaign.votes
    top = Counter(vote_labels).most_common(1)[0][1]
    is_settled = top == len(vote_labels) if campaign.settled_by == "all" else 2 * top > len(vote_labels)
    return not is_settled and len(vote_labels) < campaign.most and len(labels) < campaign.most + campaign.votes


def _finish_qualification(context: AnnotatorContext) -> None:
    rights = context.connection.execute(
        select(votes.c.right)
        .join(slots, and_(slots.c.id == votes.c.slot, slots.c.revision == votes.c.revision))
        .join(tasks, tasks.c.id == votes.c.task)
        .where(votes.c.study == context.campaign.id, votes.c.person == context.person, tasks.c.role == "qualify")
    ).scalars().all()  # fmt: skip
    total = context.connection.execute(
        select(func.count()).where(tasks.c.study == context.campaign.id, tasks.c.role == "qualify")
    ).scalar_one()
    if len(rights) < total:
        return
    standing = "qualified" if sum(map(bool, rights)) >= context.campaign.pass_share * total else "failed"
    context.connection.execute(
        update(members).where(context.member, members.c.standing == "new").values(standing=standing)
    )


def store_draft(context: AnnotatorContext, token: str, fields: Mapping[str, str]) -> None:
    """Store the fields filled in so far; the latest draft replaces earlier ones."""
    slot = context.connection.execute(select(slots.c.id).where(own_slot_condition(context, token))).scalar()
    if slot is None:
        raise LeaseGone(LEASE_GONE_MESSAGE)
    expires = context.now + context.campaign.lease_seconds
    context.connection.execute(update(slots).where(slots.c.id == slot).values(expires=expires))
    values = {"person": context.person, "fields": dict(fields), "at": context.now}
    query = dialect_insert(context.connection, drafts).values(slot=slot, **values)
    context.connection.execute(query.on_conflict_do_update(index_elements=[drafts.c.slot], set_=values))
