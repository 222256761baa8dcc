"""The tasks that a study could have: counted first, built only when somebody iterates over them."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, overload

from fullbench.core.ballot import ballot
from fullbench.core.case import cases
from fullbench.core.digests import digest
from fullbench.core.item import Item
from fullbench.core.note import Note
from fullbench.core.response import Response
from fullbench.errors import InputError
from fullbench.web.campaigns.create.task_inputs import COMPARED, REFERENCE
from fullbench.web.campaigns.tasks.task_content import Content
from fullbench.web.campaigns.tasks.task_kind_base import Kind

# All pairs of responses to one item, as a sequence whose length is known without building the pairs.

Pair = tuple[Response, Response]


class PairSequence(Sequence[Pair]):
    """Pairs of responses of different contestants to one item, in the order of `core.case.cases`.

    A contestant with several samples meets the same sample of the others; one with a single sample meets every sample.

    >>> pairs = PairSequence({name: [Response.say("q", name, "text")] for name in "dcab"})
    >>> len(pairs), [response.contestant for response in pairs[3]]
    (6, ['b', 'c'])
    """

    def __init__(self, responses: Mapping[str, Sequence[Response]]) -> None:
        """Count the pairs.

        Args:
            responses: The responses to one item by contestant.
        """
        self._names = sorted(responses)
        self._places = {name: place for place, name in enumerate(self._names)}
        self._lists = [sorted(responses[name], key=lambda response: response.sample) for name in self._names]
        self._samples = [_by_sample(own) for own in self._lists]
        # Pairs that begin with each contestant, counted from the last one backwards: 3,000 contestants have
        # 4.5 million pairs, so nothing here may take a step for each of them.
        counts = []
        singles = samples_after = 0
        contestants_with: Counter[int] = Counter()
        for own, samples in zip(reversed(self._lists), reversed(self._samples), strict=True):
            if len(own) == 1:
                counts.append(singles + samples_after)
                singles += 1
            else:
                counts.append(len(samples) * singles + sum(contestants_with[sample] for sample in samples))
                samples_after += len(samples)
                contestants_with.update(samples.keys())
        self._ends = list(accumulate(reversed(counts)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> list[Pair]: ...
    def __getitem__(self, index: int | slice) -> Pair | list[Pair]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        index += len(self) if index < 0 else 0
        if not 0 <= index < len(self):
            raise IndexError(index)
        first = bisect_right(self._ends, index)
        left = index - (self._ends[first - 1] if first else 0)
        for second in range(first + 1, len(self._lists)):
            numbers = self._numbers(first, second)
            if left < len(numbers):
                return self._pair(first, second, numbers[left])
            left -= len(numbers)
        raise IndexError(index)

    def __iter__(self) -> Iterator[Pair]:
        for first in range(len(self._lists)):
            for second in range(first + 1, len(self._lists)):
                yield from self._of(first, second)

    def between(self, one: str, other: str) -> list[Pair]:
        """Return the pairs of two contestants; none if one of them did not respond."""
        if one == other or one not in self._places or other not in self._places:
            return []
        first, second = sorted((self._places[one], self._places[other]))
        return list(self._of(first, second))

    def _of(self, first: int, second: int) -> Iterator[Pair]:
        for number in self._numbers(first, second):
            yield self._pair(first, second, number)

    def _numbers(self, first: int, second: int) -> Sequence[int]:
        """Return the samples in which two contestants meet; for two single responses this is the first one's."""
        if len(self._lists[first]) == 1:
            return sorted(self._samples[first if len(self._lists[second]) == 1 else second])
        if len(self._lists[second]) == 1:
            return sorted(self._samples[first])
        return sorted(self._samples[first].keys() & self._samples[second].keys())

    def _pair(self, first: int, second: int, number: int) -> Pair:
        return self._response(first, number), self._response(second, number)

    def _response(self, place: int, number: int) -> Response:
        return self._lists[place][0] if len(self._lists[place]) == 1 else self._samples[place][number]


def _by_sample(responses: Sequence[Response]) -> dict[int, Response]:
    """Return the first response of each sample."""
    found: dict[int, Response] = {}
    for response in responses:
        found.setdefault(response.sample, response)
    return found


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
