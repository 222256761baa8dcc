"""Plan of a campaign's tasks before they are created: checked, and small enough to store.

Tasks share items and responses: 200,000 pairs may come from 633 responses. So a plan contains each item and response
once (`nouns`), and batches of tasks that refer to them by number.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fullbench.core.item import Item
from fullbench.core.media import Media
from fullbench.core.response import Response
from fullbench.web.campaigns import campaigns
from fullbench.web.campaigns.campaigns import Campaign
from fullbench.web.campaigns.create.task_rows import TaskRow
from fullbench.web.campaigns.tasks.task_content import Content, item_json, response_json

BATCH_ROWS = 1_000
"""Rows of tasks and slots per transaction: about 40 ms of CPU, so that others hardly wait."""
BATCH_BYTES = 4_000_000
"""Approximate bytes of contents per transaction; long responses make a batch shorter."""

KnownTasks = Iterable[tuple[str, Sequence[tuple[Content, Mapping[str, Any]]]]]


@dataclass
class Batch:
    """Tasks created in one transaction; `first` is the place of the first one among the tasks to work on."""

    role: str
    first: int
    entries: list[list[Any]] = field(default_factory=list)

    def json(self) -> dict[str, Any]:
        return {"role": self.role, "first": self.first, "entries": self.entries}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Batch:
        return cls(value["role"], value["first"], value["entries"])

    def rows(self, nouns: Sequence[Mapping[str, Any]]) -> list[TaskRow]:
        """Return the rows of the tasks, with items and responses filled in."""
        rows = []
        for item, responses, about, probability, known_answer, authors in self.entries:
            content = {"item": nouns[item], "responses": [nouns[place] for place in responses], "about": about or {}}
            rows.append(TaskRow(content, probability, known_answer, authors or ()))
        return rows


@dataclass
class TaskPlan:
    """Everything needed to create the tasks of a campaign, in batches."""

    nouns: list[dict[str, Any]] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    pictures: dict[str, Media] = field(default_factory=dict)
    """Pictures and other media that the tasks show, by digest."""
    items: dict[str, Item] = field(default_factory=dict)
    tasks_on: Counter[str] = field(default_factory=Counter)
    sizes: list[int] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.tasks_on.total()

    @classmethod
    def from_contents(cls, campaign: Campaign, known_tasks: KnownTasks, contents: Iterable[Content]) -> TaskPlan:
        """Check every task of a campaign and plan its creation; known answers come first.

        The campaign need not be stored yet.
        """
        plan, numbers = cls(), _Numbers()
        for role, pairs in known_tasks:
            for content, answer in pairs:
                campaigns.check_known_answer(campaign, content, answer)
                plan._append(numbers, role, content, campaign.votes, dict(answer))
        for content in contents:
            campaign.kind.check(campaign.rules, content)
            plan._append(numbers, "work", content, campaign.votes)
        return plan

    def _append(
        self, numbers: _Numbers, role: str, content: Content, votes: int, known_answer: dict[str, Any] | None = None
    ) -> None:
        item = numbers.number_of(content.item, self)
        responses = [numbers.number_of(response, self) for response in content.responses]
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
            [item, responses, dict(content.about) or None, content.probability, known_answer, content.authors or None]
        )
        self.tasks_on[content.item.id] += 1
        self.items.setdefault(content.item.id, content.item)
        for picture in content.besides:
            self.pictures.setdefault(picture.digest, picture)


@dataclass
class _Numbers:
    """Numbers of items and responses, tasks to work on, bytes of the last batch."""

    numbers: dict[int, int] = field(default_factory=dict)
    alive: list[Item | Response] = field(default_factory=list)
    """Keeps the objects alive: `numbers` has their `id()`, which Python would reuse."""
    work: int = 0
    bytes: int = 0

    def number_of(self, noun: Item | Response, plan: TaskPlan) -> int:
        number = self.numbers.get(id(noun))
        if number is None:
            number = self.numbers[id(noun)] = len(plan.nouns)
            self.alive.append(noun)
            value = item_json(noun) if isinstance(noun, Item) else response_json(noun)
            plan.nouns.append(value)
            plan.sizes.append(len(json.dumps(value)))
            for picture in noun.media:
                plan.pictures.setdefault(picture.digest, picture)
        return number
