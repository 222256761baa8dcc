"""Conflicting tasks, which one person must not both get: named pairs, and tasks on one picture, also across campaigns.

Authors do not judge their own work either; that follows from the content itself, see `Content.authors`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import Connection, select, update

from fullbench.core.item import Item
from fullbench.core.translatable_note import Note
from fullbench.errors import InputError
from fullbench.web.campaigns.campaign_tables import conflicts, studies, tasks
from fullbench.web.campaigns.campaigns import CHUNK, Campaign, list_campaigns
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.database import dialect_insert

EVERY = "*"
"""Instead of a campaign's name: every campaign, including later ones."""
# No limit in practice: all campaigns are searched for conflicts.
_MOST = 10_000


@dataclass(frozen=True)
class SeparatedTasks:
    """Pairs of conflicting tasks, and the ids of their campaigns."""

    pairs: set[tuple[int, int]]
    campaign_ids: Sequence[str]


def named_pairs(connection: Connection, campaign: Campaign, pairs: Iterable[tuple[str, str]]) -> set[tuple[int, int]]:
    """Return the pairs of tasks on pairs of items."""
    item_pairs = list(pairs)
    if not item_pairs:
        return set()
    tasks_by_item: dict[str, list[int]] = {}
    for task, content in connection.execute(select(tasks.c.id, tasks.c.content).where(tasks.c.study == campaign.id)):
        tasks_by_item.setdefault(content["item"]["id"], []).append(task)
    refuse_unknown_items(campaign.name, item_pairs, tasks_by_item)
    return {
        (a, b) for first, second in item_pairs for a in tasks_by_item[first] for b in tasks_by_item[second] if a != b
    }


def refuse_unknown_items(campaign_id: str, pairs: Iterable[tuple[str, str]], items: Collection[str]) -> None:
    """Raise `InputError` if a pair names an item that no task of the campaign is on."""
    for name in (name for pair in pairs for name in pair):
        if name not in items:
            raise InputError(Note("web.wrong.no-task-of-the-study", name=campaign_id, name_2=name))


def shared_pairs(
    connection: Connection, campaign: Campaign, other_campaigns: Sequence[Campaign]
) -> set[tuple[int, int]]:
    """Return the pairs of a task of this campaign and one of others that show the same picture.

    Tasks without a picture are compared by their question.
    """
    tasks_by_picture: dict[str, tuple[list[int], list[int]]] = {}
    ids = [campaign.id, *(counterpart.id for counterpart in other_campaigns)]
    query = select(tasks.c.id, tasks.c.study, tasks.c.content).where(tasks.c.study.in_(ids))
    for task, study_id, content in connection.execute(query):
        for name in picture_keys(Content.from_json(content).item):
            tasks_by_picture.setdefault(name, ([], []))[study_id != campaign.id].append(task)
    return {
        (own_task, counterpart)
        for own_tasks, other_tasks in tasks_by_picture.values()
        for own_task in own_tasks
        for counterpart in other_tasks
    }


def picture_keys(item: Item) -> set[str]:
    """Return the keys by which items are compared: the digests of their pictures, else the question."""
    return {media.digest for media in item.media} or {item.question}


def count_shared_pairs(connection: Connection, tasks_on: Mapping[str, int], other_campaigns: Sequence[Campaign]) -> int:
    """Return an upper bound on the number of `shared_pairs` without building them.

    `tasks_on` is the number of the campaign's tasks by picture key.
    """
    query = select(tasks.c.content).where(tasks.c.study.in_([campaign.id for campaign in other_campaigns]))
    items = (Content.from_json(content).item for content in connection.execute(query).scalars())
    return sum(tasks_on.get(name, 0) for item in items for name in picture_keys(item))


def refuse_too_many_pairs(count: int, limit: int) -> None:
    """Raise `InputError` if more than `limit` pairs of tasks would conflict."""
    if count > limit:
        raise InputError(Note("web.wrong.too-many-pairs-apart", count=count, limit=limit))


def chunk_pairs(pairs: Iterable[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Return the pairs in lists that one short transaction can insert."""
    remaining = iter(sorted(pairs))
    while chunk := list(islice(remaining, CHUNK)):
        yield chunk


def insert_conflicts(connection: Connection, pairs: Iterable[tuple[int, int]]) -> None:
    """Insert pairs of conflicting tasks; existing ones stay."""
    for chunk in chunk_pairs(pairs):
        rows = [{"task": a, "other": b} for pair in chunk for a, b in (pair, pair[::-1])]
        connection.execute(dialect_insert(connection, conflicts).on_conflict_do_nothing(), rows)


def mark_conflicted(connection: Connection, ids: Sequence[str]) -> None:
    """Record that these campaigns have conflicting tasks."""
    if ids:
        connection.execute(update(studies).where(studies.c.id.in_(ids)).values(conflicted=True))


def conflicting_campaigns(
    connection: Connection, campaign: Campaign, named_campaigns: Sequence[Campaign], *, every: bool
) -> list[Campaign]:
    """Return the campaigns that must not share a person with this one on the same picture.

    They are the named ones (or every other one), and those that themselves conflict with every other. A pilot never
    conflicts with its own campaign.
    """
    parent = campaign.rules.options.get("pilot_of")
    candidates = [
        candidate for candidate in list_campaigns(connection, count=_MOST) if candidate.id not in {campaign.id, parent}
    ]
    candidates = [candidate for candidate in candidates if candidate.rules.options.get("pilot_of") != campaign.id]
    ids = {candidate.id for candidate in named_campaigns}
    return [
        candidate
        for candidate in candidates
        if every or candidate.id in ids or candidate.rules.options.get("separate_every")
    ]
