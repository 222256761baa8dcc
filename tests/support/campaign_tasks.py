"""Tasks put into a campaign at once, without the plan and the worker that `create.task_creation` needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Literal

from sqlalchemy import Connection

from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.create.task_rows import TaskRow
from fullbench.web.campaigns.tasks import mutually_exclusive_tasks
from fullbench.web.campaigns.tasks.task_content import Content


def add_tasks(connection: Connection, campaign: Campaign, contents: Iterable[Content]) -> int:
    """Add tasks with their slots in one transaction and return their number.

    Slots are handed out by lot. Lots are random, unless the campaign is ordered by information gain: then the first
    task comes first. `create.task_creation` creates campaigns of any size.
    """
    lots = campaigns.lots_of(campaign)
    count = 0
    remaining = iter(contents)
    while chunk := list(islice(remaining, campaigns.CHUNK)):
        for content in chunk:
            campaign.kind.check(campaign.rules, content)
        campaigns.add_task_rows(
            connection, campaign, "work", [TaskRow.from_content(content) for content in chunk], lots, first=count
        )
        count += len(chunk)
    return count


def add_known_tasks(
    connection: Connection,
    campaign: Campaign,
    known_tasks: Iterable[tuple[Content, Mapping[str, Any]]],
    role: Literal["gold", "qualify"],
) -> int:
    """Add tasks with a known answer: mixed into the work (`gold`) or for the qualification round (`qualify`)."""
    pairs = list(known_tasks)
    for content, answer in pairs:
        campaigns.check_known_answer(campaign, content, answer)
    campaigns.add_task_rows(
        connection, campaign, role, [TaskRow.from_content(content, answer) for content, answer in pairs]
    )
    return len(pairs)


def keep_apart(connection: Connection, campaign: Campaign, pairs: Iterable[tuple[str, str]]) -> int:
    """Mark the tasks on both items of each pair as conflicting; return the number of pairs of tasks."""
    rows = mutually_exclusive_tasks.named_pairs(connection, campaign, pairs)
    mutually_exclusive_tasks.insert_conflicts(connection, rows)
    mutually_exclusive_tasks.mark_conflicted(connection, [campaign.id] if rows else [])
    return len(rows)
