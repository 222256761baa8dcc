"""Tasks that must not meet the same person: named pairs, and tasks on one picture, also across studies.

Who wrote what a task shows does not judge it either; that is known from the content itself, see `Content.authors`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, insert, select, update

from fullbench.errors import InputError
from fullbench.nouns.note import Note
from fullbench.web.database import insert_here
from fullbench.web.people.content import Content
from fullbench.web.people.studies import CHUNK, Study, listed
from fullbench.web.people.tables import conflicts, studies, tasks

EVERY = "*"
"""In place of a study's name: every study, those that come later included."""
_MOST = 10_000


def keep_apart(connection: Connection, into: Study, pairs: Iterable[tuple[str, str]]) -> int:
    """Pairs of items whose tasks must not meet the same person."""
    tasks_by_item: dict[str, list[int]] = {}
    for task, content in connection.execute(select(tasks.c.id, tasks.c.content).where(tasks.c.study == into.id)):
        tasks_by_item.setdefault(content["item"]["id"], []).append(task)
    rows = set()
    for first, second in pairs:
        for name in (first, second):
            if name not in tasks_by_item:
                raise InputError(
                    Note(
                        "web.wrong.no-task-of-the-study",
                        "no task of the study {name!r} is on item {name_2!r}",
                        name=into.name,
                        name_2=name,
                    )
                )
        rows |= {(a, b) for a in tasks_by_item[first] for b in tasks_by_item[second] if a != b}
    both = rows | {(b, a) for a, b in rows}
    if both:
        connection.execute(insert(conflicts), [{"task": task, "other": other} for task, other in sorted(both)])
        connection.execute(update(studies).where(studies.c.id == into.id).values(conflicted=True))
    return len(rows)


def keep_apart_from(connection: Connection, into: Study, others: Sequence[Study]) -> int:
    """Let nobody work on tasks of this study and of others that show the same picture; how many pairs there are.

    Tasks without a picture are told apart by their question.
    """
    shown: dict[str, tuple[list[int], list[int]]] = {}
    ids = [into.id, *(other.id for other in others)]
    query = select(tasks.c.id, tasks.c.study, tasks.c.content).where(tasks.c.study.in_(ids))
    for task, study_id, content in connection.execute(query):
        item = Content.of(content).item
        for name in {picture.digest for picture in item.pictures} or {item.question}:
            shown.setdefault(name, ([], []))[study_id != into.id].append(task)
    pairs = {(own, other) for own_tasks, other_tasks in shown.values() for own in own_tasks for other in other_tasks}
    both = pairs | {(other, own) for own, other in pairs}
    for chunk in (sorted(both)[start : start + CHUNK] for start in range(0, len(both), CHUNK)):
        rows = [{"task": task, "other": other} for task, other in chunk]
        connection.execute(insert_here(connection, conflicts).on_conflict_do_nothing(), rows)
    if both:
        connection.execute(update(studies).where(studies.c.id.in_(ids)).values(conflicted=True))
    return len(pairs)


def others_of(connection: Connection, into: Study, named: Sequence[Study], *, every: bool) -> list[Study]:
    """The studies that one shares nobody with on the same picture: those named, or every other; and those that
    themselves keep apart from every other. A pilot and its study are one."""
    parent = into.rules.options.get("pilot_of")
    rest = [other for other in listed(connection, count=_MOST) if other.id not in {into.id, parent}]
    rest = [other for other in rest if other.rules.options.get("pilot_of") != into.id]
    ids = {other.id for other in named}
    return [other for other in rest if every or other.id in ids or other.rules.options.get("apart_every")]
