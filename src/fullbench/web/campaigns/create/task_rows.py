"""Rows of tasks and their slots, written in the transaction of the caller."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, select

from fullbench.web.campaigns.campaign_tables import campaign_items, slots, task_authors, tasks
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.database import insert_here


@dataclass(frozen=True)
class TaskRow:
    """One task as the database stores it."""

    content: Mapping[str, Any]
    probability: float | None = None
    known: Mapping[str, Any] | None = None
    authors: Sequence[str] = ()

    @classmethod
    def from_content(cls, content: Content, known: Mapping[str, Any] | None = None) -> TaskRow:
        return cls(content.json(), content.probability, known, content.authors)


class Lots:
    """The lots of a study's slots, by the place of each task.

    They depend on the study and the place alone, so an interrupted creation gets the same lots as any other.
    """

    def __init__(self, seed: str, votes: int, *, ordered: bool) -> None:
        """Begin with the first task.

        Args:
            seed: Decides the draw.
            votes: Number of slots of each task.
            ordered: If true, the lot of a slot is the place of its task.
        """
        self._seed, self._votes, self._ordered = seed, votes, ordered
        self._random, self._drawn = random.Random(seed), 0

    def of_tasks(self, first: int, count: int) -> list[list[float]]:
        """Return the lots of `count` tasks from place `first` on."""
        if self._ordered:
            return [[float(place)] * self._votes for place in range(first, first + count)]
        if first * self._votes < self._drawn:
            self._random, self._drawn = random.Random(self._seed), 0
        while self._drawn < first * self._votes:
            self._random.random()
            self._drawn += 1
        self._drawn += count * self._votes
        return [[self._random.random() for _ in range(self._votes)] for _ in range(count)]


def insert_tasks(
    connection: Connection, study: str, role: str, rows: Sequence[TaskRow], lots: Sequence[Sequence[float]] = ()
) -> bool:
    """Insert tasks after those that the study has; return whether any of them has an author.

    Args:
        connection: The transaction.
        study: The id of the study.
        role: `work`, `gold` or `qualify`.
        rows: The tasks.
        lots: For tasks to work on: the lot of each slot, task by task.
    """
    if not rows:
        return False
    about = sorted({str(row.content["item"]["id"]) for row in rows})
    connection.execute(
        insert_here(connection, campaign_items).on_conflict_do_nothing(),
        [{"study": study, "item": item} for item in about],
    )
    last = connection.execute(select(func.max(tasks.c.place)).where(tasks.c.study == study)).scalar()
    start = 0 if last is None else last + 1
    wanted = len(lots[0]) if lots else 0
    values = [
        {
            "study": study, "place": start + at, "role": role, "content": row.content, "wanted": wanted,
            "probability": row.probability, **({} if row.known is None else {"known": dict(row.known)}),
        }
        for at, row in enumerate(rows)
    ]  # fmt: skip
    added = insert(tasks).returning(tasks.c.id, sort_by_parameter_order=True)
    task_ids = list(connection.execute(added, values).scalars())
    if lots:
        of_slots = [
            {"study": study, "task": task, "lot": lot}
            for task, task_lots in zip(task_ids, lots, strict=True)
            for lot in task_lots
        ]
        connection.execute(insert(slots), of_slots)
    authors = [
        {"task": task, "author": author}
        for task, row in zip(task_ids, rows, strict=True)
        for author in row.authors
    ]  # fmt: skip
    if authors:
        connection.execute(insert(task_authors), authors)
    return bool(authors)
