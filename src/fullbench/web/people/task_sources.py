"""The tasks that a study could have: counted first, built only when somebody iterates over them."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from fullbench.errors import InputError
from fullbench.core.ballot import ballot
from fullbench.core.case import cases
from fullbench.core.digests import digest
from fullbench.core.item import Item
from fullbench.core.note import Note
from fullbench.core.response import Response
from fullbench.web.people.content import Content
from fullbench.web.people.kind import Kind
from fullbench.web.people.pair_sequences import PairSequence
from fullbench.web.people.sources import COMPARED, REFERENCE

Named = tuple[str, frozenset[str]]
"""An item and contestants: what a label names a task by."""


class Tasks(Protocol):
    """Tasks whose number is known before they are built."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Content]: ...


@dataclass(frozen=True)
class CountedTasks:
    """Tasks that a function builds one after another, with their number."""

    count: int
    build: Callable[[], Iterable[Content]]

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Content]:
        yield from self.build()


@dataclass(frozen=True)
class ComparedTasks:
    """Tasks in which responses are judged: for each item, which of its responses are shown together.

    `per_item` keeps that many of each item, drawn by the seed; 0 keeps all.
    """

    groups: list[tuple[Item, Sequence[tuple[Response, ...]]]]
    per_item: int = 0
    seed: int = 0

    def __len__(self) -> int:
        return sum(min(self.per_item or len(group), len(group)) for _, group in self.groups)

    def __iter__(self) -> Iterator[Content]:
        for item, group in self.groups:
            if 0 < self.per_item < len(group):
                # Places are drawn in place of pairs: the draw is the same, and only the drawn pairs are built.
                places = random.Random(digest([self.seed, item.id])).sample(range(len(group)), self.per_item)
                yield from (Content(item, group[place]) for place in places)
            else:
                yield from (Content(item, shown) for shown in group)


def tasks_of(
    kind: Kind, spec: str, items: Sequence[Item], responses: Iterable[Response], *, per_item: int = 0, seed: int = 0
) -> Tasks:
    """Return the tasks that a kind makes of items and responses.

    Args:
        kind: The kind of task.
        spec: The ballot.
        items: The items.
        responses: Responses to these items; others are ignored.
        per_item: Number of pairs or responses of each item, drawn by the seed; 0 for all.
        seed: Decides the draw.
    """
    if kind.name == "write":
        return CountedTasks(
            len(items), lambda: (Content(item, about={"family": item.tags.get("family", "")}) for item in items)
        )
    if kind.name == "verify":
        referenced = [(item, item.reference) for item in items if item.reference]
        return CountedTasks(
            len(referenced),
            lambda: (Content(item, (Response.say(item.id, REFERENCE, text),)) for item, text in referenced),
        )
    if kind.name not in COMPARED:
        raise InputError(
            f"a {kind.name} study is made of {'a queue' if kind.name == 'rewrite' else 'verdicts in a ledger'}"
        )
    by_item: dict[str, list[Response]] = {}
    for response in responses:
        by_item.setdefault(response.item, []).append(response)
    groups = [(item, _shown_together(kind, spec, item, by_item.get(item.id, []))) for item in items]
    return ComparedTasks(groups, per_item, seed)


def _shown_together(kind: Kind, spec: str, item: Item, responses: list[Response]) -> Sequence[tuple[Response, ...]]:
    """Return which responses to an item its tasks show."""
    form = ballot(spec)
    if kind.name == "pair":
        by_name: dict[str, list[Response]] = {}
        for response in responses:
            by_name.setdefault(response.contestant, []).append(response)
        pairs = PairSequence(by_name)
        if pairs:
            form.check(2)
        return pairs
    size = 1 if kind.name == "score" else None
    return [case.responses for case in cases([item], responses, form, size=size, orders="sorted")]


def tasks_named(tasks: Tasks, names: Collection[Named]) -> Iterator[Content]:
    """Return those of the tasks that are on these items and contestants, in their order."""
    wanted: dict[str, list[frozenset[str]]] = {}
    for item, contestants in names:
        wanted.setdefault(item, []).append(contestants)
    if not wanted:
        return
    if not isinstance(tasks, ComparedTasks) or tasks.per_item:
        yield from _matching(tasks, wanted)
        return
    for asked, group in tasks.groups:
        if isinstance(group, PairSequence):
            pairs = sorted({tuple(sorted(contestants)) for contestants in wanted.get(asked.id, ())})
            for one, other in (pair for pair in pairs if len(pair) == 2):
                yield from (Content(asked, shown) for shown in group.between(one, other))
        else:
            yield from _matching((Content(asked, shown) for shown in group), wanted)


def _matching(contents: Iterable[Content], wanted: dict[str, list[frozenset[str]]]) -> Iterator[Content]:
    for content in contents:
        if name_of(content)[1] in wanted.get(content.item.id, ()):
            yield content


def name_of(content: Content) -> Named:
    """Return what a label names this task by."""
    return content.item.id, frozenset(response.contestant for response in content.responses)


def refuse_too_many(count: int, limit: int) -> None:
    """Raise `InputError` if a study would have more tasks than the site allows."""
    if count > limit:
        raise InputError(
            Note(
                "web.wrong.too-many-tasks",
                "This study would have {count:,} tasks; the limit is {limit:,}. Set 'pairs or responses of each item' "
                "(--per-item) lower, send fewer responses, or raise --task-limit of the site.",
                count=count,
                limit=limit,
            )
        )
