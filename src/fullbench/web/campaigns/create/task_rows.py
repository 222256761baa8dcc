"""Rows of tasks and slots, written in the transaction of the caller."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, select

from fullbench.web.campaigns.campaign_tables import campaign_items, slots, task_authors, tasks
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.database import dialect_insert


@dataclass(frozen=True)
class TaskRow:
    """Task as the database stores it."""

    content: Mapping[str, Any]
    probability: float | None = None
    known_answer: Mapping[str, Any] | None = None
    authors: Sequence[str] = ()

    @classmethod
    def from_content(cls, content: Content, known_answer: Mapping[str, Any] | None = None) -> TaskRow:
        return cls(content.json(), content.probability, known_answer, content.authors)


class Lots:
    """Lots of a campaign's slots, by the place of each task.

    They depend only on the campaign and the place, so an interrupted creation gets the same lots.
    """

    def __init__(self, seed: str, votes: int, *, is_ordered: bool) -> None:
        """If `is_ordered`, the lot of a slot is the place of its task."""
        self._seed, self._votes, self._is_ordered = seed, votes, is_ordered
        self._random, self._drawn_count = random.Random(seed), 0

    def of_tasks(self, first: int, count: int) -> list[list[float]]:
        """Return the lots of `count` tasks from place `first` on."""
        if self._is_ordered:
            return [[float(place)] * self._votes for place in range(first, first + count)]
        if first * self._votes < self._drawn_count:
            self._random, self._drawn_count = random.Random(self._seed), 0
        # Discard the lots of earlier tasks: a resumed creation must get the same lots.
        while self._drawn_count < first * self._votes:
            self._random.random()
            self._drawn_count += 1
        self._drawn_count += count * self._votes
        return [[self._random.random() for _ in range(self._votes)] for _ in range(count)]


def insert_tasks(
    connection: Connection, campaign_id: str, role: str, rows: Sequence[TaskRow], lots: Sequence[Sequence[float]] = ()
) -> bool:
    """Insert tasks after the campaign's existing ones; return True if any of them has an author.

    `role` is `work`, `gold` or `qualify`. `lots` gives the lot of each slot, task by task, for the role `work`.
    """
    if not rows:
        return False
    about = sorted({str(row.content["item"]["id"]) for row in rows})
    connection.execute(
        dialect_insert(connection, campaign_items).on_conflict_do_nothing(),
        [{"study": campaign_id, "item": item} for item in about],
    )
    last = connection.execute(select(func.max(tasks.c.place)).where(tasks.c.study == campaign_id)).scalar()
    start = 0 if last is None else last + 1
    wanted_votes = len(lots[0]) if lots else 0
    values = [
        {
            "study": campaign_id, "place": start + at, "role": role, "content": row.content, "wanted": wanted_votes,
            "probability": row.probability, **({} if row.known_answer is None else {"known": dict(row.known_answer)}),
        }
        for at, row in enumerate(rows)
    ]  # fmt: skip
    insert_statement = insert(tasks).returning(tasks.c.id, sort_by_parameter_order=True)
    task_ids = list(connection.execute(insert_statement, values).scalars())
    if lots:
        of_slots = [
            {"study": campaign_id, "task": task, "lot": lot}
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
