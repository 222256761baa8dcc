"""Tasks that must not meet the same person: named pairs, and tasks on one picture, also across studies.

Who wrote what a task shows does not judge it either; that is known from the content itself, see `Content.authors`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import Connection, select, update

from fullbench.core.item import Item
from fullbench.core.note import Note
from fullbench.errors import InputError
from fullbench.web.campaigns.campaign_tables import conflicts, studies, tasks
from fullbench.web.campaigns.campaigns import CHUNK, Study, listed
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.database import insert_here

EVERY = "*"
"""In place of a study's name: every study, those that come later included."""
_MOST = 10_000


@dataclass(frozen=True)
class Separated:
    """Pairs of tasks that nobody meets both of, and the ids of the studies that they are in."""

    pairs: set[tuple[int, int]]
    studies: Sequence[str]


def keep_apart(connection: Connection, into: Study, pairs: Iterable[tuple[str, str]]) -> int:
    """Let nobody meet the tasks on both items of a pair; return the number of pairs of tasks."""
    rows = named_pairs(connection, into, pairs)
    insert_conflicts(connection, rows)
    mark_conflicted(connection, [into.id] if rows else [])
    return len(rows)


def named_pairs(connection: Connection, into: Study, pairs: Iterable[tuple[str, str]]) -> set[tuple[int, int]]:
    """Return the pairs of tasks on pairs of items."""
    wanted = list(pairs)
    if not wanted:
        return set()
    tasks_by_item: dict[str, list[int]] = {}
    for task, content in connection.execute(select(tasks.c.id, tasks.c.content).where(tasks.c.study == into.id)):
        tasks_by_item.setdefault(content["item"]["id"], []).append(task)
    refuse_unknown_items(into.name, wanted, tasks_by_item)
    return {(a, b) for first, second in wanted for a in tasks_by_item[first] for b in tasks_by_item[second] if a != b}


def refuse_unknown_items(study: str, pairs: Iterable[tuple[str, str]], items: Collection[str]) -> None:
    """Raise `InputError` if a pair names an item that no task of the study is on."""
    for name in (name for pair in pairs for name in pair):
        if name not in items:
            raise InputError(
                Note(
                    "web.wrong.no-task-of-the-study",
                    "no task of the study {name!r} is on item {name_2!r}",
                    name=study,
                    name_2=name,
                )
            )


def shared_pairs(connection: Connection, into: Study, others: Sequence[Study]) -> set[tuple[int, int]]:
    """Return the pairs of a task of this study and one of others that show the same picture.

    Tasks without a picture are compared by their question.
    """
    shown: dict[str, tuple[list[int], list[int]]] = {}
    ids = [into.id, *(other.id for other in others)]
    query = select(tasks.c.id, tasks.c.study, tasks.c.content).where(tasks.c.study.in_(ids))
    for task, study_id, content in connection.execute(query):
        for name in names_shown(Content.of(content).item):
            shown.setdefault(name, ([], []))[study_id != into.id].append(task)
    return {(own, other) for own_tasks, other_tasks in shown.values() for own in own_tasks for other in other_tasks}


def names_shown(item: Item) -> set[str]:
    """Return what two items are compared by: the digests of their pictures, else the question."""
    return {picture.digest for picture in item.pictures} or {item.question}


def count_shared(connection: Connection, tasks_on: Mapping[str, int], others: Sequence[Study]) -> int:
    """Return the number of pairs that `shared_pairs` would return at most, without building them.

    Args:
        connection: The database.
        tasks_on: The number of the study's tasks by what they show.
        others: The other studies.
    """
    query = select(tasks.c.content).where(tasks.c.study.in_([other.id for other in others]))
    items = (Content.of(content).item for content in connection.execute(query).scalars())
    return sum(tasks_on.get(name, 0) for item in items for name in names_shown(item))


def refuse_too_many_pairs(count: int, limit: int) -> None:
    """Raise `InputError` if more pairs of tasks than this would be kept apart."""
    if count > limit:
        raise InputError(
            Note(
                "web.wrong.too-many-pairs-apart",
                "This study would keep {count:,} pairs of tasks apart; the limit is {limit:,}. Keep fewer items or "
                "studies apart, or make fewer tasks.",
                count=count,
                limit=limit,
            )
        )


def chunks(pairs: Iterable[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Return the pairs in lists that one short transaction can insert."""
    remaining = iter(sorted(pairs))
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk


def insert_conflicts(connection: Connection, pairs: Iterable[tuple[int, int]]) -> None:
    """Insert pairs of tasks that nobody meets both of; those that are there already stay."""
    for chunk in chunks(pairs):
        rows = [{"task": a, "other": b} for pair in chunk for a, b in (pair, pair[::-1])]
        connection.execute(insert_here(connection, conflicts).on_conflict_do_nothing(), rows)


def mark_conflicted(connection: Connection, ids: Sequence[str]) -> None:
    """Note that these studies have tasks that nobody meets both of."""
    if ids:
        connection.execute(update(studies).where(studies.c.id.in_(ids)).values(conflicted=True))


def others_of(connection: Connection, into: Study, named: Sequence[Study], *, every: bool) -> list[Study]:
    """The studies that one shares nobody with on the same picture: those named, or every other; and those that
    themselves keep apart from every other. A pilot and its study are one."""
    parent = into.rules.options.get("pilot_of")
    rest = [other for other in listed(connection, count=_MOST) if other.id not in {into.id, parent}]
    rest = [other for other in rest if other.rules.options.get("pilot_of") != into.id]
    ids = {other.id for other in named}
    return [other for other in rest if every or other.id in ids or other.rules.options.get("apart_every")]
