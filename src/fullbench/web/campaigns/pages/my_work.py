"""What a person at work sees of their own: studies, pace, votes given."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, and_, select

from fullbench.core.ballot import LETTERS
from fullbench.web.campaigns.campaign_members import only_assigned
from fullbench.web.campaigns.campaign_tables import members, slots, tasks, votes
from fullbench.web.campaigns.campaigns import Study, listed
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.votes.task_queue import waiting

WRITTEN = {"reason", "text", "instruction", "caption", "picture"}
"""Fields of an answer that people write in their own words."""
PAGE = 50
MOST = 10_000
"""How many open studies are looked through."""
RECENT = 20
_left: dict[tuple[str, str], tuple[float, int]] = {}


@dataclass(frozen=True)
class Open:
    """A study that is open to somebody, and how far they are."""

    study: Study
    standing: str
    done: int


@dataclass(frozen=True)
class Given:
    """A vote that counts, as its giver sees it."""

    lease: str
    at: float
    seconds: float
    question: str
    said: list[tuple[str, str]]


def open_to(connection: Connection, person: str, page: int) -> tuple[list[Open], bool]:
    """A page of the open studies that this person may work in, and whether there are more."""
    query = select(members).where(members.c.person == person)
    memberships = {row.study: row for row in connection.execute(query)}
    others_too = not only_assigned(connection, person)
    allowed = [
        study
        for study in listed(connection, only_open=True, count=MOST)
        if study.id in memberships or (others_too and not study.rules.options.get("assigned"))
    ]
    page_studies = allowed[(page - 1) * PAGE : page * PAGE + 1]
    shown = [
        Open(study, memberships[study.id].standing, memberships[study.id].done)
        if study.id in memberships
        else Open(study, "new", 0)
        for study in page_studies[:PAGE]
    ]
    return shown, len(page_studies) > PAGE


def standing(connection: Connection, study: Study, person: str) -> tuple[str, int]:
    """A member's standing and number of votes."""
    query = select(members.c.standing, members.c.done).where(members.c.study == study.id, members.c.person == person)
    row = connection.execute(query).first()
    return ("new", 0) if row is None else (row.standing, row.done)


def pace(connection: Connection, study: Study, person: str) -> int:
    """Votes an hour, by the latest votes; 0 where there are too few to say."""
    query = select(votes.c.at).where(votes.c.study == study.id, votes.c.person == person, votes.c.revision == 1)
    times = connection.execute(query.order_by(votes.c.id.desc()).limit(RECENT)).scalars().all()
    if len(times) < 3 or times[0] <= times[-1]:
        return 0
    return int((len(times) - 1) / (times[0] - times[-1]) * 3600)


def left(connection: Connection, study: Study, person: str) -> int:
    """How many tasks still wait for a vote that this person could give; looked up every few seconds only."""
    now = time.monotonic()
    known = _left.get((study.id, person))
    if known is None or now - known[0] > 5:
        if len(_left) > MOST:
            _left.clear()
        known = _left[study.id, person] = (now, waiting(connection, study, person))
    each = int(study.rules.options.get("each") or 0)
    return min(known[1], max(0, each - standing(connection, study, person)[1])) if each else known[1]


def given(connection: Connection, study: Study, person: str, page: int) -> tuple[list[Given], bool]:
    """A page of this person's votes that count, the latest first, and whether there are more."""
    query = (
        select(slots.c.lease, votes.c.at, votes.c.seconds, votes.c.answer, votes.c.shown, tasks.c.content)
        .join(slots, and_(slots.c.id == votes.c.slot, slots.c.revision == votes.c.revision))
        .join(tasks, tasks.c.id == votes.c.task)
        .where(votes.c.study == study.id, votes.c.person == person)
        .order_by(votes.c.at.desc(), votes.c.id.desc())
        .offset((page - 1) * PAGE)
        .limit(PAGE + 1)
    )
    rows = connection.execute(query).all()
    return [_given(study, row) for row in rows[:PAGE]], len(rows) > PAGE


def _given(study: Study, row: Any) -> Given:
    fields = study.kind.fields(row.answer, row.shown)
    question = Content.of(row.content).item.question
    answers = [(_whose(name), _letter(name, value)) for name, value in fields.items()]
    return Given(row.lease, row.at, row.seconds, question[:200], answers)


def _whose(name: str) -> str:
    """The name of a field; that of one response's mark is its letter."""
    number = name.removeprefix("mark")
    return LETTERS[int(number)] if number.isdigit() else name


def _letter(name: str, value: str) -> str:
    if name == "best" and value.isdigit():
        return LETTERS[int(value)]
    if name == "order":
        return " > ".join(LETTERS[int(place)] for place in value.split(","))
    return value if len(value) <= 200 else value[:200] + "…"


def before(connection: Connection, study: Study, person: str, lease: str | None) -> str | None:
    """The lease of the vote given before the one named; the latest where that one is not a vote yet."""
    own_votes = (votes.c.study == study.id, votes.c.person == person, votes.c.revision == 1)
    query = select(slots.c.lease).join(slots, slots.c.id == votes.c.slot).where(*own_votes)
    at = None
    if lease is not None:
        at = connection.execute(
            select(votes.c.id).join(slots, slots.c.id == votes.c.slot).where(*own_votes, slots.c.lease == lease)
        ).scalar()
    if at is not None:
        query = query.where(votes.c.id < at)
    return connection.execute(query.order_by(votes.c.id.desc()).limit(1)).scalar()
