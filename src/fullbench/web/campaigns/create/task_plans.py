"""The tasks of a study before they are created: checked, and small enough to be stored until they are.

Tasks share items and responses: 200,000 pairs may be made of 633 responses. So a plan has each item and response once
(`nouns`), and batches of tasks that name them by number.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fullbench.core.item import Item
from fullbench.core.picture import Picture
from fullbench.core.response import Response
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaigns import Study
from fullbench.web.campaigns.create.task_rows import TaskRow
from fullbench.web.campaigns.tasks.task_content import Content, item_json, response_json

BATCH_ROWS = 1_000
"""Rows of tasks and slots that one transaction writes: about 40 ms of CPU, so that others hardly wait."""
BATCH_BYTES = 4_000_000
"""Bytes of contents that one transaction writes, about; long responses make a batch shorter."""

KnownTasks = Iterable[tuple[str, Sequence[tuple[Content, Mapping[str, Any]]]]]
"""Tasks with known answers, by role."""


@dataclass
class Batch:
    """Tasks that are created in one transaction; `first` is the place of the first among the tasks to work on."""

    role: str
    first: int
    entries: list[list[Any]] = field(default_factory=list)

    def json(self) -> dict[str, Any]:
        return {"role": self.role, "first": self.first, "entries": self.entries}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Batch:
        return cls(value["role"], value["first"], value["entries"])

    def rows(self, nouns: Sequence[Mapping[str, Any]]) -> list[TaskRow]:
        """Return the rows of the tasks, with the items and responses that they name."""
        rows = []
        for item, responses, about, probability, known, authors in self.entries:
            content = {"item": nouns[item], "responses": [nouns[place] for place in responses], "about": about or {}}
            rows.append(TaskRow(content, probability, known, authors or ()))
        return rows


@dataclass
class TaskPlan:
    """Everything that is needed to create the tasks of a study, in batches."""

    nouns: list[dict[str, Any]] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    pictures: dict[str, Picture] = field(default_factory=dict)
    """The pictures that the tasks show, by digest."""
    items: dict[str, Item] = field(default_factory=dict)
    tasks_on: Counter[str] = field(default_factory=Counter)
    """The number of tasks on each item."""
    sizes: list[int] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.tasks_on.total()

    @classmethod
    def from_contents(cls, study: Study, known: KnownTasks, contents: Iterable[Content]) -> TaskPlan:
        """Check every task of a study and plan its creation; known answers come first.

        Args:
            study: The study, which need not be stored yet.
            known: Tasks with known answers, by role.
            contents: Tasks to work on.
        """
        plan, numbers = cls(), _Numbers()
        for role, pairs in known:
            for content, answer in pairs:
                campaigns.check_known(study, content, answer)
                plan._append(numbers, role, content, study.votes, dict(answer))
        for content in contents:
            study.kind.check(study.rules, content)
            plan._append(numbers, "work", content, study.votes)
        return plan

    def _append(
        self, numbers: _Numbers, role: str, content: Content, votes: int, known: dict[str, Any] | None = None
    ) -> None:
        item = numbers.of(content.item, self)
        responses = [numbers.of(response, self) for response in content.responses]
        size = self.sizes[item] + sum(self.sizes[place] for place in responses)
        most = max(1, BATCH_ROWS // (1 + votes))
        last = self.batches[-1] if self.batches else None
        if last is None or last.role != role or len(last.entries) >= most or numbers.bytes + size > BATCH_BYTES:
            last = Batch(role, numbers.work)
            self.batches.append(last)
            numbers.bytes = 0
        numbers.bytes += size
        numbers.work += role == "work"
        last.entries.append(
            [item, responses, dict(content.about) or None, content.probability, known, content.authors or None]
        )
        self.tasks_on[content.item.id] += 1
        self.items.setdefault(content.item.id, content.item)
        for picture in content.besides:
            self.pictures.setdefault(picture.digest, picture)


@dataclass
class _Numbers:
    """Where a plan is while it is made: numbers of items and responses, tasks to work on, bytes of the last batch."""

    numbers: dict[int, int] = field(default_factory=dict)
    alive: list[Item | Response] = field(default_factory=list)
    """Keeps the objects, since `numbers` has their identities, which others would get."""
    work: int = 0
    bytes: int = 0

    def of(self, noun: Item | Response, plan: TaskPlan) -> int:
        number = self.numbers.get(id(noun))
        if number is None:
            number = self.numbers[id(noun)] = len(plan.nouns)
            self.alive.append(noun)
            value = item_json(noun) if isinstance(noun, Item) else response_json(noun)
            plan.nouns.append(value)
            plan.sizes.append(len(json.dumps(value)))
            for picture in noun.pictures:
                plan.pictures.setdefault(picture.digest, picture)
        return number
